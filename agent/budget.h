#pragma once
// What a night may use up: device time, runs, money, hours. Device time, runs and money are set
// aside in the journal before they are used and settled after, so that neither a crash nor a lost
// reply makes them free.

#include <optional>
#include <string>

#include "agent/chat_hooks.h"
#include "agent/program_sections.h"
#include "study/journal.h"

namespace windtunnel::agent {

/// Names of resources in the journal.
namespace resource {
inline constexpr const char* kDeviceSeconds = "device_seconds";
inline constexpr const char* kRuns = "runs";
inline constexpr const char* kDollars = "dollars";
}  // namespace resource

/// What is left; nullopt where there is no limit.
struct RemainingBudget {
  /// Experiments still to be decided, the one proposed now included.
  int64_t experiments = 0;
  std::optional<double> device_seconds;
  std::optional<int64_t> runs;
  std::optional<double> dollars;
  std::optional<double> hours;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("experiments", self.experiments, {.help = "still to be decided"});
    visit("device_seconds", self.device_seconds, {.help = "null: no limit", .unit = "seconds"});
    visit("runs", self.runs, {.help = "null: no limit"});
    visit("dollars", self.dollars, {.help = "null: no limit", .unit = "dollars"});
    visit("hours", self.hours, {.help = "of work; null: no limit", .unit = "hours"});
  }
};

class Budget {
 public:
  /// Charges in full whatever an earlier session set aside for a language model and did not
  /// settle: nobody knows what became of it.
  Budget(const BudgetLimits& limits, study::Journal& journal);

  /// Sets `runs` of `seconds_each` aside, or says why there is not enough. What is open for the
  /// experiment already is not set aside again.
  std::optional<std::string> reserve_runs(int64_t experiment, int64_t runs, double seconds_each);
  /// Settles what is open for an experiment by what its runs took: all that the journal's runs
  /// took, less what was settled before.
  void settle_runs(int64_t experiment);

  /// Sets the worst case of a call aside; nullopt: there is not enough. A call whose worst case is
  /// not known is refused where there is a limit.
  std::optional<int64_t> reserve_dollars(std::optional<double> worst_case);
  /// A call was refused for want of money.
  bool is_out_of_dollars() const { return is_out_of_dollars_; }
  /// Without a usage the whole reservation is charged.
  void settle_dollars(int64_t reservation, std::optional<double> used);

  /// Adds wall-clock time at work. Durable at once.
  void add_hours(double hours);
  double hours() const { return hours_; }

  /// A stop reason, if not even `runs` of `seconds_each` can be had any more.
  std::optional<std::string> exhausted(int64_t runs, double seconds_each) const;
  RemainingBudget remaining(int64_t experiments) const;

 private:
  std::optional<std::string> lacks(const char* resource, double limit, double amount) const;

  BudgetLimits limits_;
  study::Journal& journal_;
  double hours_ = 0;
  bool is_out_of_dollars_ = false;
};

/// Sets the worst case of each request aside and settles it. `budget` must outlive the hooks.
ChatHooks chat_hooks(Budget& budget);

}  // namespace windtunnel::agent
