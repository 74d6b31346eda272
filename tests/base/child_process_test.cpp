#include "base/child_process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using tests::TemporaryFolder;

ChildOptions shell(const std::string& script, const std::filesystem::path& output = {}) {
  return {.command = {"sh", "-c", script}, .output_file = output};
}

/// A zombie that nobody has reaped yet is dead.
bool is_alive(pid_t pid) {
  try {
    const std::string status = read_file("/proc/" + std::to_string(pid) + "/stat");
    return status[status.rfind(')') + 2] != 'Z';
  } catch (const Error&) {
    return false;
  }
}

TEST(ChildProcess, ExitCodesAndSignalsAreTold) {
  EXPECT_EQ(run_child(shell("exit 3")).code, 3);
  const ExitStatus killed = run_child(shell("kill -SEGV $$"));
  EXPECT_EQ(killed.signal, SIGSEGV);
  EXPECT_THAT(killed.text(), HasSubstr("signal 11"));
}

TEST(ChildProcess, OutputOfBothStreamsGoesToTheFile) {
  const TemporaryFolder folder;
  run_child(shell("echo out; echo err >&2", folder / "log"));
  run_child(shell("echo more", folder / "log"));
  EXPECT_EQ(read_file(folder / "log"), "out\nerr\nmore\n");
}

TEST(ChildProcess, AMissingProgramIsNamed) {
  try {
    run_child({.command = {"/no/such/program"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot start /no/such/program: No such file"));
  }
}

TEST(ChildProcess, ADeadlineEndsAProcessThatIgnoresTerm) {
  const auto start = steady_clock::now();
  const ExitStatus status = run_child(shell("trap '' TERM; while :; do sleep 1; done"),
                                      milliseconds(300), milliseconds(300));
  EXPECT_TRUE(status.was_stopped);
  EXPECT_EQ(status.signal, SIGKILL);
  EXPECT_LT(steady_clock::now() - start, seconds(5));
}

TEST(ChildProcess, TheWholeGroupEndsWithTheChild) {
  const TemporaryFolder folder;
  run_child(shell("sleep 100 & echo $!; exit 0", folder / "log"));
  const pid_t grandchild = std::stoi(read_file(folder / "log"));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(is_alive(grandchild));
}

TEST(ChildProcess, TheChildDiesWithItsParent) {
  const TemporaryFolder folder;
  const pid_t parent = ::fork();
  if (parent == 0) {
    ChildProcess child(shell("echo $$; exec sleep 100", folder / "log"));
    std::this_thread::sleep_for(milliseconds(300));
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(parent, nullptr, 0);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_FALSE(is_alive(std::stoi(read_file(folder / "log"))));
}

TEST(ChildProcess, AVariableThatHoldsASecretIsKeptFromTheChild) {
  const TemporaryFolder folder;
  ::setenv("WINDTUNNEL_TEST_SECRET", "canary", 1);
  ChildOptions options = shell("echo ${WINDTUNNEL_TEST_SECRET:-absent} $EXTRA", folder / "log");
  EXPECT_EQ(secret_from_environment("WINDTUNNEL_TEST_SECRET"), "canary");
  options.environment = {{"EXTRA", "given"}};
  run_child(options);
  EXPECT_EQ(read_file(folder / "log"), "absent given\n");
}

TEST(ChildProcess, AFloodOfOutputDoesNotBlockTheChild) {
  const TemporaryFolder folder;
  EXPECT_TRUE(run_child(shell("head -c 5000000 /dev/zero", folder / "log"), seconds(20)).ok());
  EXPECT_EQ(std::filesystem::file_size(folder / "log"), 5'000'000u);
}

}  // namespace
}  // namespace windtunnel::base
