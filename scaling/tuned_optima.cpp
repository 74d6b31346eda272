#include "scaling/tuned_optima.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "scaling/rate_search.h"

namespace windtunnel::scaling {
namespace {

/// The lowest loss at each value, ascending.
std::vector<RateTrial> trials_of(const std::vector<const Observation*>& group, Variable quantity) {
  std::map<double, double> lowest;
  for (const Observation* row : group) {
    const auto [at, is_new] = lowest.emplace(value_of(point_of(*row), quantity), row->loss);
    at->second = std::min(at->second, row->loss);
  }
  std::vector<RateTrial> trials;
  for (const auto& [value, loss] : lowest) {
    trials.push_back({.rate = value, .state = RateTrial::State::kMeasured, .loss = loss});
  }
  return trials;
}

Observation optimum_row(const Observation& like, Variable quantity, double value) {
  Observation row = like;
  row.loss = value;
  row.loss_unit = quantity == Variable::kLearningRate ? "learning rate" : "tokens per step";
  row.loss_standard_error.reset();
  row.seed.reset();
  (quantity == Variable::kLearningRate ? row.learning_rate : row.batch_tokens) = value;
  return row;
}

/// Adds the group's optimum to the rows, or why it has none.
void add_optimum(const std::vector<const Observation*>& group, Variable quantity,
                 Observations& result) {
  const Observation& first = *group.front();
  const std::vector<RateTrial> trials = trials_of(group, quantity);
  if (trials.size() == 1) {
    if (first.learning_rate_tuned == false) {
      result.left_out.push_back({first.name, "the only " + variable_name(quantity) +
                                                 " tried at its size, and not tuned"});
    } else {
      result.rows.push_back(optimum_row(first, quantity, trials.front().rate));
    }
    return;
  }
  // The grid as it is: nothing extends it.
  const RateGridConfig as_tried{.points = static_cast<int>(trials.size()), .extensions = 0};
  const RateChoice choice = choose_rate(trials, trials.front().rate, as_tried);
  if (choice.status != rate_status::kTuned) {
    const bool at_top = *choice.best + 1 == trials.size();
    result.left_out.push_back(
        {first.name, "the best " + variable_name(quantity) + " of its size, " +
                         base::format_number(trials[*choice.best].rate, 4) + ", is the " +
                         (at_top ? "highest" : "lowest") + " of " + std::to_string(trials.size())});
    return;
  }
  result.rows.push_back(optimum_row(first, quantity, choice.optimum));
}

/// N, or C where N is not known.
double size_of(const Point& point) { return point.parameters > 0 ? point.parameters : point.flops; }

}  // namespace

Observations tuned_optima(const Observations& observations, Variable quantity) {
  Observations result;
  result.left_out = observations.left_out;
  std::vector<std::pair<double, const Observation*>> sizes;
  for (const Observation& row : observations.rows) {
    const Point point = point_of(row);
    if (!(value_of(point, quantity) > 0)) {
      result.left_out.push_back({row.name, "has no " + variable_name(quantity)});
      continue;
    }
    sizes.emplace_back(size_of(point), &row);
  }
  // By size first: a group only has neighbours in it to look at.
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::vector<const Observation*>> groups;
  size_t nearest = 0;
  for (const auto& item : sizes) {
    const double size = item.first;
    const Observation* row = item.second;
    const Point point = point_of(*row);
    while (nearest < groups.size() && !same(size_of(point_of(*groups[nearest].front())), size)) {
      ++nearest;
    }
    const auto belongs = [&](const std::vector<const Observation*>& group) {
      const Point at = point_of(*group.front());
      return same(at.parameters, point.parameters) && same(at.tokens, point.tokens) &&
             same(at.flops, point.flops) && group.front()->arm == row->arm;
    };
    const auto found =
        std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(nearest), groups.end(), belongs);
    if (found == groups.end()) {
      groups.push_back({row});
    } else {
      found->push_back(row);
    }
  }
  for (const auto& group : groups) add_optimum(group, quantity, result);
  return result;
}

}  // namespace windtunnel::scaling
