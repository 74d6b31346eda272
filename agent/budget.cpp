#include "agent/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "agent/facts.h"
#include "base/text.h"

namespace windtunnel::agent {

using study::Reservation;

Budget::Budget(const BudgetLimits& limits, study::Journal& journal)
    : limits_(limits), journal_(journal) {
  for (const Reservation& open : journal_.open_reservations()) {
    if (open.resource == resource::kDollars) journal_.settle(open.id, open.amount);
  }
  if (const auto hours = journal_.fact(fact::kHours)) hours_ = hours->get<double>();
}

std::optional<std::string> Budget::lacks(const char* resource, double limit, double amount) const {
  if (limit <= 0) return std::nullopt;
  const double spent = journal_.spent(resource);
  if (spent + amount <= limit) return std::nullopt;
  return fmt::format("budget.{} = {}: {} are spent or set aside, {} more are needed", resource,
                     base::format_number(limit), base::format_number(spent, 4),
                     base::format_number(amount, 4));
}

std::optional<std::string> Budget::reserve_runs(int64_t experiment, int64_t runs,
                                                double seconds_each) {
  for (const Reservation& open : journal_.open_reservations()) {
    if (open.experiment == experiment && open.resource == resource::kRuns) return std::nullopt;
  }
  const double seconds = static_cast<double>(runs) * seconds_each;
  if (auto problem = lacks(resource::kDeviceSeconds, limits_.device_seconds, seconds))
    return problem;
  if (auto problem =
          lacks(resource::kRuns, static_cast<double>(limits_.runs), static_cast<double>(runs))) {
    return problem;
  }
  journal_.together([&] {
    journal_.reserve(experiment, resource::kDeviceSeconds, seconds);
    journal_.reserve(experiment, resource::kRuns, static_cast<double>(runs));
  });
  return std::nullopt;
}

void Budget::settle_runs(int64_t experiment) {
  const std::vector<Reservation> open = journal_.open_reservations();
  if (std::none_of(open.begin(), open.end(), [&](const Reservation& reservation) {
        return reservation.experiment == experiment;
      })) {
    return;
  }
  const study::Journal::RunCounts counts = journal_.run_counts();
  double settled_runs = journal_.spent(resource::kRuns);
  double settled_seconds = journal_.spent(resource::kDeviceSeconds);
  for (const Reservation& reservation : open) {
    if (reservation.resource == resource::kRuns) settled_runs -= reservation.amount;
    if (reservation.resource == resource::kDeviceSeconds) settled_seconds -= reservation.amount;
  }
  journal_.together([&] {
    for (const Reservation& reservation : open) {
      if (reservation.experiment != experiment) continue;
      if (reservation.resource == resource::kRuns) {
        journal_.settle(reservation.id,
                        std::max(0.0, static_cast<double>(counts.finished) - settled_runs));
      } else if (reservation.resource == resource::kDeviceSeconds) {
        journal_.settle(reservation.id, std::max(0.0, counts.wall_seconds - settled_seconds));
      }
    }
  });
}

std::optional<int64_t> Budget::reserve_dollars(std::optional<double> worst_case) {
  if (limits_.dollars > 0 &&
      (!worst_case || lacks(resource::kDollars, limits_.dollars, *worst_case))) {
    is_out_of_dollars_ = true;
    return std::nullopt;
  }
  return journal_.reserve(0, resource::kDollars, worst_case.value_or(0));
}

void Budget::settle_dollars(int64_t reservation, std::optional<double> used) {
  if (used) return journal_.settle(reservation, *used);
  for (const Reservation& open : journal_.open_reservations()) {
    if (open.id == reservation) journal_.settle(reservation, open.amount);
  }
}

void Budget::add_hours(double hours) {
  hours_ += hours;
  journal_.set_fact(fact::kHours, hours_);
}

std::optional<std::string> Budget::exhausted(int64_t runs, double seconds_each) const {
  if (limits_.hours > 0 && hours_ >= limits_.hours) return stop_reason::kHoursSpent;
  const auto count = static_cast<double>(runs);
  if (lacks(resource::kDeviceSeconds, limits_.device_seconds, count * seconds_each)) {
    return stop_reason::kDeviceSecondsSpent;
  }
  if (lacks(resource::kRuns, static_cast<double>(limits_.runs), count)) {
    return stop_reason::kRunsSpent;
  }
  return std::nullopt;
}

RemainingBudget Budget::remaining(int64_t experiments) const {
  const auto left = [&](const char* resource, double limit) -> std::optional<double> {
    if (limit <= 0) return std::nullopt;
    return std::max(0.0, limit - journal_.spent(resource));
  };
  RemainingBudget remaining{
      .experiments = experiments,
      .device_seconds = left(resource::kDeviceSeconds, limits_.device_seconds),
      .runs = {},
      .dollars = left(resource::kDollars, limits_.dollars),
      .hours = {}};
  if (const auto runs = left(resource::kRuns, static_cast<double>(limits_.runs))) {
    remaining.runs = static_cast<int64_t>(*runs);
  }
  if (limits_.hours > 0) remaining.hours = std::max(0.0, limits_.hours - hours_);
  return remaining;
}

ChatHooks chat_hooks(Budget& budget) {
  // One request is under way at a time.
  const auto call = std::make_shared<std::optional<int64_t>>();
  ChatHooks hooks;
  hooks.reserve = [&budget, call](const WorstCase& worst) {
    *call = budget.reserve_dollars(worst.dollars);
    return call->has_value();
  };
  hooks.settle = [&budget, call](const Settlement& used) {
    budget.settle_dollars(**call, used.dollars);
  };
  return hooks;
}

}  // namespace windtunnel::agent
