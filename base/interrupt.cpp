#include "base/interrupt.h"

#include <signal.h>

#include <atomic>

#include "base/error.h"

namespace windtunnel::base {
namespace {

std::atomic<bool> requested{false};

void handle(int number) {
  if (requested.exchange(true)) {
    ::signal(number, SIG_DFL);
    ::raise(number);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = handle;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

bool interrupt_requested() { return requested; }

void stop_if_interrupted() {
  if (interrupt_requested()) throw Interrupted();
}

}  // namespace windtunnel::base
