#pragma once
// A folder with a corpus, a program and a language model in which the real `windtunnel` studies.

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "tests/study_night/scripted_model.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::tests {

struct Finished {
  base::ExitStatus status;
  /// What it printed, both streams.
  std::string output;
};

class Workplace {
 public:
  /// Builds the corpus and writes the program, which learns the key from the variable kKeyVariable.
  Workplace();

  static constexpr const char* kKeyVariable = "WINDTUNNEL_TEST_KEY";
  /// Must be found nowhere.
  static constexpr const char* kKey = "canary/4f1d+7be09a=";
  /// And neither must these: percent-encoded, and what base64 makes of it wherever it stands.
  static constexpr std::array kKeyForms = {"canary%2F4f1d%2B7be09a%3D", "Y2FuYXJ5LzRmMWQrN2JlMDlhP",
                                           "NhbmFyeS80ZjFkKzdiZTA5YT", "jYW5hcnkvNGYxZCs3YmUwOWE9"};

  ScriptedModel model;

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path study(const std::string& name) const { return folder_ / name; }

  /// Replaces text in the program.
  void edit_program(const std::string& old_text, const std::string& new_text) const;

  /// Starts `windtunnel JOB PROGRAM --study STUDY more...`. What it prints goes to output().
  base::ChildProcess start(const std::string& job, const std::string& study,
                           const std::vector<std::string>& more = {});
  /// As start, to its end.
  Finished run(const std::string& job, const std::string& study,
               const std::vector<std::string>& more = {});
  /// What the last command printed so far.
  std::string output() const;

  /// Starts the job and kills its process group as soon as `moment` has come. Fails the test if the
  /// job ends before, or leaves a process behind.
  void kill_at(const std::function<bool()>& moment, const std::string& job,
               const std::string& study);

  /// Files below the folder that hold the text.
  std::vector<std::string> files_holding(const std::string& text) const;

 private:
  std::filesystem::path output_file() const;

  TemporaryFolder folder_;
  int commands_ = 0;
};

/// Waits for something that must come while `child` lives; false if the child ended before.
bool wait_for(const std::function<bool()>& moment, base::ChildProcess& child);

}  // namespace windtunnel::tests
