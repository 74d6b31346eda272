// A night whose process is killed at random instants, by a signal that nothing can catch, arrives
// at the journal of the uninterrupted one.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/agent/small_night.h"

namespace windtunnel::agent {
namespace {

/// Everything the loop knows: a veto, a keep with all its controls, a repair, discards.
Program full_program() {
  Program program = small_program();
  program.night.baseline_replicates = 2;
  program.night.experiments = 6;
  program.decision.incumbent_runs = 2;
  program.mutable_paths.push_back({.path = "model.width", .choices = {Json(32), Json(48)}});
  program.base["train"]["budget"] = {{"kind", "seconds"}, {"amount", 10}};
  program.scale.patch = {{"model.context_tokens", 16}};
  program.budget = {.device_seconds = 100000, .runs = 1000};
  program.queue = {idea({{"train.seed", 3}}),
                   idea({{"train.optimizer.learning_rate", 0.08}, {"model.width", 48}}),
                   idea(learning_rate(0.4))};
  return program;
}

void full(const RunRequest& request, RunRecord& record) {
  valley(request, record);
  record.train.steps = 1000;
  record.train.tokens_per_second = request.config.model.width == 48 ? 1500 : 1000;
  record.parameters_active = 1000 * request.config.model.context_tokens;
  if (request.config.train.optimizer.learning_rate != 0.4) return;
  record.train.outcome = study::outcome::kDiverged;
  record.evaluation.reset();
}

/// Runs the night in a process group of its own.
pid_t start_night(const std::filesystem::path& folder, const Program& program) {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  try {
    LinesOnly view;
    Journal journal(folder / "journal.db");
    ScriptedRunner runner(folder, 2, full);
    run_night(program, journal, runner, folder, view);
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

TEST(Kill, AtRandomInstantsNothingIsLostDoubledOrDecidedOtherwise) {
  const int kills_wanted = std::getenv("WINDTUNNEL_LONG") ? 1000 : 100;
  const Program program = full_program();
  tests::TemporaryFolder whole(tests::memory_folder());
  int status = 0;
  const auto begun = std::chrono::steady_clock::now();
  const pid_t uninterrupted = start_night(whole.path(), program);
  ASSERT_EQ(waitpid(uninterrupted, &status, 0), uninterrupted);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const std::chrono::duration<double> takes = std::chrono::steady_clock::now() - begun;
  const Json expected = content(Journal(whole / "journal.db", true));
  // All kinds of experiments and outcomes are in it.
  for (const char* kind : {"idea", "repair", "matched_steps", "factor", "scale"}) {
    ASSERT_NE(expected.dump().find("\"kind\":\"" + std::string(kind) + "\""), std::string::npos)
        << kind;
  }
  for (const char* verdict : {"keep", "discard", "failed", "vetoed", "control"}) {
    ASSERT_NE(expected.dump().find("\"verdict\":\"" + std::string(verdict) + "\""),
              std::string::npos)
        << verdict;
  }

  base::RandomStream random(1, "instants");
  int kills = 0, nights = 0;
  while (kills < kills_wanted) {
    tests::TemporaryFolder folder(tests::memory_folder());
    bool has_ended = false;
    for (int sessions = 0; !has_ended; ++sessions) {
      ASSERT_LT(sessions, 10000) << "no progress";
      const pid_t child = start_night(folder.path(), program);
      setpgid(child, child);
      std::this_thread::sleep_for(std::chrono::duration<double>(takes * random.uniform() / 4));
      kill(-child, SIGKILL);
      ASSERT_EQ(waitpid(child, &status, 0), child);
      if (WIFSIGNALED(status)) {
        ++kills;
      } else {
        ASSERT_EQ(WEXITSTATUS(status), 0);
        has_ended = true;
      }
    }
    ++nights;
    ASSERT_EQ(content(Journal(folder / "journal.db", true)), expected) << "night " << nights;
  }
  std::cout << kills << " kills over " << nights << " nights: every journal equals that of the "
            << "uninterrupted one\n";
}

}  // namespace
}  // namespace windtunnel::agent
