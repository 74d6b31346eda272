#pragma once
// What a person sees while something takes longer than two seconds: on a terminal one line that
// updates itself, otherwise plain lines, a few a minute.

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

namespace windtunnel::base {

class Progress {
 public:
  /// Writes to `stream` (not owned). `every` is the pause between plain lines when it is no
  /// terminal.
  explicit Progress(std::FILE* stream = stderr,
                    std::chrono::milliseconds every = std::chrono::seconds(10));
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts a phase, e.g. phase("night", 3, 5) prints "[3/5] night". Estimates restart.
  void phase(const std::string& name, int number = 0, int of = 0);

  /// `fraction` of the phase in [0, 1] if known, gives the time left; `detail` is one short line.
  /// Cheap to call often: it draws at most ten times a second.
  void update(std::optional<double> fraction, const std::string& detail);

  /// As update, with the time left known better by the caller.
  void update_with_left(double fraction, double seconds_left, const std::string& detail);

  /// A line that stays, e.g. a decision.
  void line(const std::string& text);

  /// Removes the updating line.
  void clear();

 private:
  void draw(std::optional<double> fraction, std::optional<double> seconds_left,
            const std::string& detail);

  std::FILE* stream_;
  bool is_terminal_;
  std::chrono::milliseconds every_;
  std::string label_;
  std::chrono::steady_clock::time_point phase_start_;
  std::chrono::steady_clock::time_point last_drawn_;
  bool drawn_in_phase_ = false;
  bool line_open_ = false;
};

}  // namespace windtunnel::base
