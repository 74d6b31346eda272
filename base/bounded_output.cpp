#include "base/bounded_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace windtunnel::base {
namespace {

constexpr double kSecondsBetweenUpdates = 1;

void write_at(int fd, std::string_view content, off_t place) {
  while (!content.empty()) {
    const ssize_t count = ::pwrite(fd, content.data(), content.size(), place);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    content.remove_prefix(static_cast<size_t>(count));
    place += count;
  }
}

}  // namespace

struct BoundedOutput::Parts {
  int file = -1;
  int pipe[2] = {-1, -1};
  int stop = -1;
  size_t half = 0;
  std::thread thread;

  off_t end = 0;  // of what is in the file for good
  size_t head = 0;
  std::string tail;
  int64_t dropped = 0;
  bool is_stale = false;
  double updated = 0;

  void take(std::string_view text) {
    if (head < half) {
      const std::string_view first = text.substr(0, half - head);
      write_at(file, first, end);
      end += static_cast<off_t>(first.size());
      head += first.size();
      text.remove_prefix(first.size());
    }
    if (text.empty()) return;
    tail += text;
    if (tail.size() > 2 * half) drop(tail.size() - half);
    is_stale = true;
  }

  void drop(size_t count) {
    dropped += static_cast<int64_t>(count);
    tail.erase(0, count);
  }

  /// Puts the last half behind the first.
  void update() {
    if (!is_stale) return;
    if (tail.size() > half) drop(tail.size() - half);
    const std::string gap =
        dropped == 0 ? "" : "\n[" + std::to_string(dropped) + " bytes of output are left out]\n";
    write_at(file, gap + tail, end);
    [[maybe_unused]] const int cut =
        ::ftruncate(file, end + static_cast<off_t>(gap.size() + tail.size()));
    is_stale = false;
    updated = monotonic_seconds();
  }

  void update_if_due() {
    if (monotonic_seconds() - updated >= kSecondsBetweenUpdates) update();
  }

  /// Takes a bounded part of what is there. False at the end of the pipe.
  bool read_some() {
    char block[1 << 16];
    for (int i = 0; i < 64; ++i) {
      const ssize_t count = ::read(pipe[0], block, sizeof block);
      if (count > 0) {
        take({block, static_cast<size_t>(count)});
      } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
        return false;
      } else if (errno == EAGAIN) {
        return true;
      }
    }
    return true;
  }

  void run() {
    for (bool is_open = true;;) {
      pollfd waits[2] = {{stop, POLLIN, 0}, {pipe[0], POLLIN, 0}};
      ::poll(waits, is_open ? 2 : 1, is_stale ? 1000 : -1);
      // What is in the pipe when the stop is asked for is still taken.
      if (is_open) is_open = read_some();
      if ((waits[0].revents & POLLIN) != 0) break;
      update_if_due();
    }
    update();
  }
};

BoundedOutput::BoundedOutput(const std::filesystem::path& file, int64_t max_bytes)
    : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  parts.half = static_cast<size_t>(std::max<int64_t>(1, max_bytes / 2));
  parts.file = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const int error = errno;
  if (parts.file < 0) throw Error("cannot write " + file.string() + ": " + std::strerror(error));
  parts.end = ::lseek(parts.file, 0, SEEK_END);
  parts.stop = ::eventfd(0, EFD_CLOEXEC);
  if (parts.stop < 0 || ::pipe2(parts.pipe, O_CLOEXEC) != 0) {
    throw Error("cannot make a pipe for " + file.string() + ": " + std::strerror(errno));
  }
  // Only this end: the child finds its output as blocking as always.
  ::fcntl(parts.pipe[0], F_SETFL, O_NONBLOCK);
  parts.thread = std::thread([&parts] { parts.run(); });
}

BoundedOutput::~BoundedOutput() {
  finish();
  for (const int fd : {parts_->file, parts_->pipe[0], parts_->pipe[1], parts_->stop}) {
    if (fd >= 0) ::close(fd);
  }
}

int BoundedOutput::write_end() const { return parts_->pipe[1]; }

void BoundedOutput::close_write_end() {
  if (parts_->pipe[1] >= 0) ::close(parts_->pipe[1]);
  parts_->pipe[1] = -1;
}

void BoundedOutput::finish() {
  if (!parts_->thread.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(parts_->stop, &one, sizeof one);
  parts_->thread.join();
}

}  // namespace windtunnel::base
