#pragma once
// One study under a program, from its corpus to its report; the jobs `demo`, `research` and
// `ladder` are made of these steps. Every step finds out from the journal what is left to do, so a
// session that was killed anywhere continues when the same command is given again.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "agent/program.h"
#include "base/files.h"
#include "base/progress.h"
#include "scaling/ladder_jobs.h"
#include "study/journal.h"
#include "study/runner.h"

namespace windtunnel::cli {

struct SessionOptions {
  /// Name or file.
  std::string program;
  /// Folder or name under logs/; the program's name if empty.
  std::string study;
  /// Fields of the program to change, "night.experiments=4".
  std::vector<std::string> overrides;
  /// Your own text instead of the program's corpus: glob patterns.
  std::vector<std::string> files;
  /// Remove what the study left and start over.
  bool fresh = false;
};

/// The program with overrides and files applied.
agent::Program load_program(const SessionOptions& options);

/// What the session would do and cost, without doing it.
std::string plan_text(const SessionOptions& options, bool with_night, bool with_ladder);
base::Json plan_json(const SessionOptions& options, bool with_night, bool with_ladder);

class StudySession {
 public:
  /// Locks the study's folder. Errors: Error naming the process that owns it.
  explicit StudySession(const SessionOptions& options);
  ~StudySession();

  /// How many steps will be shown as "[k/n]".
  void expect_steps(int steps) { steps_ = steps; }

  void corpus();
  void night();
  /// Trains the best configuration so far at the program's sizes, fits the law on all but the
  /// held-out one, and scores the forecast.
  /// Errors: Error while jobs that were written out have not ended.
  void ladder();
  /// Instead of running the ladder's runs, writes them out for a scheduler.
  scaling::JobsWritten write_jobs(const std::filesystem::path& folder);
  void report();

  /// The closing lines for people, and the same as data.
  std::string summary_text() const;
  base::Json summary_json() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void phase(const std::string& name);
  study::Runner& runner();

  agent::Program program_;
  std::filesystem::path folder_;
  std::unique_ptr<base::FolderLock> lock_;
  std::unique_ptr<study::Journal> journal_;
  std::unique_ptr<study::Runner> runner_;
  base::Progress progress_;
  int steps_ = 0;
  int step_ = 0;
};

}  // namespace windtunnel::cli
