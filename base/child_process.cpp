#include "base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/processes.h"
#include "base/secrets.h"

extern char** environ;

namespace windtunnel::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatienceAfterKill(30);

/// Children of this process that are not orphans it adopted: a fact of the whole process, as the
/// kernel's own list is. Only the thread that starts children touches it.
std::set<pid_t>& own_children() {
  static std::set<pid_t> children;
  return children;
}

std::vector<std::string> child_environment(const ChildOptions& options) {
  std::vector<std::string> result;
  const std::vector<std::string> without = secret_variables();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (options.environment.count(name) > 0) continue;
    if (std::find(without.begin(), without.end(), name) != without.end()) continue;
    result.push_back(text);
  }
  for (const auto& [name, value] : options.environment) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const ChildOptions& options, char** argv, char** env, int error_pipe,
                         pid_t parent, int bounded_output, const FileRules* rules) {
  ::setsid();  // with its own group; no way back into ours, and no terminal
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before prctl took effect
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const char* file = options.output_file.empty() ? "/dev/null" : options.output_file.c_str();
  const int output =
      bounded_output >= 0 ? bounded_output : ::open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int input = ::open("/dev/null", O_RDONLY);
  bool ready = output >= 0 && input >= 0;
  if (ready) {
    ::dup2(input, 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    ready = options.working_folder.empty() || ::chdir(options.working_folder.c_str()) == 0;
  }
  if (ready && rules != nullptr) ready = rules->restrict_this_process();
  if (ready) ::execvpe(argv[0], argv, env);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(error_pipe, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

std::string ExitStatus::text() const {
  if (code) return "exit code " + std::to_string(*code);
  if (signal) return "signal " + std::to_string(*signal) + " (" + ::strsignal(*signal) + ")";
  return "no end, although it was killed";
}

ChildProcess::ChildProcess(const ChildOptions& options) {
  check(!options.command.empty(), "a child process needs a command");
  std::vector<std::string> command = options.command;
  std::vector<std::string> environment = child_environment(options);
  const std::vector<char*> argv = pointers(command);
  const std::vector<char*> env = pointers(environment);
  std::optional<FileRules> rules;
  if (options.file_access) rules.emplace(*options.file_access);
  if (options.max_output_bytes > 0 && !options.output_file.empty()) {
    output_ = std::make_unique<BoundedOutput>(options.output_file, options.max_output_bytes);
  }
  adopt_orphans();
  int error_pipe[2];
  if (::pipe2(error_pipe, O_CLOEXEC) != 0) {
    throw Error("cannot start " + command[0] + ": " + std::strerror(errno));
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become(options, const_cast<char**>(argv.data()), const_cast<char**>(env.data()), error_pipe[1],
           parent, output_ ? output_->write_end() : -1, rules ? &*rules : nullptr);
  }
  ::close(error_pipe[1]);
  if (output_) output_->close_write_end();
  int error = pid_ < 0 ? errno : 0;
  if (pid_ > 0) {
    ssize_t count;
    while ((count = ::read(error_pipe[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
    if (count > 0) ::waitpid(pid_, nullptr, 0);
  }
  ::close(error_pipe[0]);
  if (error != 0) {
    pid_ = -1;
    throw Error("cannot start " + command[0] + ": " + std::strerror(error));
  }
  own_children().insert(pid_);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(std::move(other.status_)),
      output_(std::move(other.output_)),
      orphans_ended_(other.orphans_ended_) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !status_) stop(milliseconds(0));
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (status_ || pid_ <= 0) return status_;
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended != pid_) return std::nullopt;
  ExitStatus result;
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  end_with(result);
  return status_;
}

void ChildProcess::end_with(const ExitStatus& status) {
  ::kill(-pid_, SIGKILL);  // those of its group that outlived it
  own_children().erase(pid_);
  orphans_ended_ = end_orphans(own_children());
  if (output_) output_->finish();
  status_ = status;
}

std::optional<ExitStatus> ChildProcess::wait_for(milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  milliseconds pause(1);
  for (;;) {
    if (auto status = poll()) return status;
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    std::this_thread::sleep_for(std::min(left, pause));
    pause = std::min(pause * 2, milliseconds(50));
  }
}

void ChildProcess::ask_to_stop() {
  if (!poll()) ::kill(-pid_, SIGTERM);
}

ExitStatus ChildProcess::stop(milliseconds grace) {
  if (!poll()) {
    if (grace.count() > 0) {
      ask_to_stop();
      wait_for(grace);
    }
    ::kill(-pid_, SIGKILL);
    if (!wait_for(kPatienceAfterKill)) end_with({});
    status_->was_stopped = true;
  }
  return *status_;
}

ExitStatus run_child(const ChildOptions& options, std::optional<milliseconds> deadline,
                     milliseconds grace, const std::function<bool()>& keep_going) {
  ChildProcess child(options);
  const auto start = steady_clock::now();
  for (;;) {
    if (auto status = child.wait_for(milliseconds(200))) return *status;
    const bool late = deadline && steady_clock::now() - start >= *deadline;
    if (late || (keep_going && !keep_going())) return child.stop(grace);
  }
}

}  // namespace windtunnel::base
