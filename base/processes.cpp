#include "base/processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace windtunnel::base {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kPatience(5);
constexpr std::chrono::milliseconds kPause(5);

struct Stat {
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  int64_t start_ticks = 0;
};

/// nullopt if there is no such process.
std::optional<Stat> stat_of(pid_t pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  // The name before the last ')' may hold anything.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  Stat stat;
  int64_t skipped = 0;
  fields >> stat.state >> stat.parent >> skipped >> stat.session;
  for (int field = 7; field < 22; ++field) fields >> skipped;
  fields >> stat.start_ticks;
  return fields ? std::optional(stat) : std::nullopt;
}

bool has_ended(const std::optional<Stat>& stat) {
  return !stat || stat->state == 'Z' || stat->state == 'X';
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> result;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      result.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return result;
}

std::string boot_id() {
  std::ifstream stream("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(stream, id);
  return id;
}

}  // namespace

ProcessName this_process() {
  const auto stat = stat_of(::getpid());
  check(stat.has_value(), "/proc does not show this process");
  return {.pid = ::getpid(), .start_ticks = stat->start_ticks, .boot = boot_id()};
}

bool is_alive(const ProcessName& process) {
  if (process.boot != boot_id()) return false;
  const auto stat = stat_of(static_cast<pid_t>(process.pid));
  return !has_ended(stat) && stat->start_ticks == process.start_ticks;
}

std::vector<pid_t> processes_with(const std::string& variable, const std::string& value) {
  const std::string wanted = variable + "=" + value;
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    if (pid == ::getpid() || has_ended(stat_of(pid))) continue;
    std::ifstream stream("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
    for (std::string entry; std::getline(stream, entry, '\0');) {
      if (entry == wanted) {
        found.push_back(pid);
        break;
      }
    }
  }
  return found;
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

int end_processes(const std::vector<pid_t>& processes) {
  int ended = 0;
  for (const pid_t pid : processes) ended += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (const pid_t pid : processes) {
    while (!has_ended(stat_of(pid)) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kPause);
    }
  }
  return ended;
}

int end_orphans(const std::set<pid_t>& own) {
  const pid_t self = ::getpid();
  const pid_t session = ::getsid(0);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::set<pid_t> ended;
  for (;;) {
    bool found = false;
    for (const pid_t pid : all_processes()) {
      const auto stat = stat_of(pid);
      if (!stat || stat->parent != self || stat->session == session || own.contains(pid)) continue;
      found = true;
      if (!has_ended(stat)) {
        ended.insert(pid);
        ::kill(pid, SIGKILL);
      }
      ::waitpid(pid, nullptr, WNOHANG);
    }
    // One that is ended gives its own children to us: look again until a look finds none.
    if (!found || std::chrono::steady_clock::now() > end) return static_cast<int>(ended.size());
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace windtunnel::base
