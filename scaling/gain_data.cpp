// From rows to the arms of gain.h, size by size.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "scaling/gain.h"

namespace windtunnel::scaling {
namespace {

using base::Error;

/// The runs of one arm at one size, by learning rate; a rate that is not recorded is 0.
using Rates = std::map<double, std::vector<const Observation*>>;

struct SizeCell {
  std::string name;
  Point point;
  Rates baseline;
  Rates changed;
};

double mean_loss(const std::vector<const Observation*>& runs) {
  double sum = 0;
  for (const Observation* run : runs) sum += run->loss;
  return sum / static_cast<double>(runs.size());
}

/// Of the rates with the most runs, the one of lowest mean loss.
Rates::const_iterator best_rate(const Rates& rates) {
  auto best = rates.begin();
  for (auto rate = rates.begin(); rate != rates.end(); ++rate) {
    const size_t runs = rate->second.size(), most = best->second.size();
    const bool lower = mean_loss(rate->second) < mean_loss(best->second);
    if (runs > most || (runs == most && lower)) best = rate;
  }
  return best;
}

ArmAtSize arm_of(const Rates& rates) {
  const auto best = best_rate(rates);
  ArmAtSize arm{.loss = mean_loss(best->second),
                .runs = static_cast<int64_t>(best->second.size()),
                .flops = best->second.front()->flops.value_or(0)};
  if (best->first > 0) arm.learning_rate = best->first;
  const bool grid = rates.size() >= 2;
  const bool at_edge = grid && (best == rates.begin() || best == std::prev(rates.end()));
  // What is recorded knows more than the rows: a rate beyond may have diverged and left no loss.
  std::optional<bool> tuned;
  for (const Observation* run : best->second) {
    if (run->learning_rate_tuned) tuned = tuned.value_or(true) && *run->learning_rate_tuned;
  }
  if (tuned == true || (!tuned && grid && !at_edge)) {
    arm.rate_state = arm_rate::kTuned;
  } else if (at_edge) {
    arm.rate_state = arm_rate::kEdge;
  } else if (tuned == false) {
    arm.rate_state = arm_rate::kUntuned;
  }
  return arm;
}

/// Gains of the seeds both have; of the means where seeds are not recorded.
std::vector<double> pair_gains(const std::vector<const Observation*>& baseline,
                               const std::vector<const Observation*>& changed) {
  std::map<int64_t, double> by_seed;
  for (const Observation* run : baseline) {
    if (run->seed) by_seed[*run->seed] = run->loss;
  }
  std::vector<double> gains;
  for (const Observation* run : changed) {
    const auto found = run->seed ? by_seed.find(*run->seed) : by_seed.end();
    if (found != by_seed.end()) gains.push_back(std::log(found->second / run->loss));
  }
  if (gains.empty()) gains.push_back(std::log(mean_loss(baseline) / mean_loss(changed)));
  return gains;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Both arms at a rate that both tried; nullopt otherwise.
std::optional<double> gain_at(const SizeCell& cell, const std::optional<double>& rate) {
  if (!rate) return std::nullopt;
  const auto at = [&](const Rates& rates) {
    return std::find_if(rates.begin(), rates.end(),
                        [&](const auto& item) { return same(item.first, *rate); });
  };
  const auto of_baseline = at(cell.baseline), of_changed = at(cell.changed);
  if (of_baseline == cell.baseline.end() || of_changed == cell.changed.end()) return std::nullopt;
  return mean_of(pair_gains(of_baseline->second, of_changed->second));
}

SizeGain gain_of(const SizeCell& cell) {
  SizeGain size{.size = cell.name,
                .point = cell.point,
                .baseline = arm_of(cell.baseline),
                .changed = arm_of(cell.changed)};
  const std::vector<double> gains =
      pair_gains(best_rate(cell.baseline)->second, best_rate(cell.changed)->second);
  size.gain = mean_of(gains);
  size.pairs = static_cast<int64_t>(gains.size());
  if (gains.size() > 1) {
    double squares = 0;
    for (const double gain : gains) squares += (gain - size.gain) * (gain - size.gain);
    size.standard_deviation = std::sqrt(squares / static_cast<double>(gains.size() - 1));
  }
  size.gain_at_baseline_rate = gain_at(cell, size.baseline.learning_rate);
  size.gain_at_changed_rate = gain_at(cell, size.changed.learning_rate);
  return size;
}

void require_same_tokens(const SizeCell& cell) {
  for (const Rates* rates : {&cell.baseline, &cell.changed}) {
    for (const auto& [rate, runs] : *rates) {
      for (const Observation* run : runs) {
        const double tokens = run->tokens.value_or(cell.point.tokens);
        if (same(tokens, cell.point.tokens)) continue;
        throw Error("size " + cell.name + ": " + run->name + " was trained on " +
                    base::format_count(tokens) + " tokens, other runs of it on " +
                    base::format_count(cell.point.tokens) +
                    "; arms are compared at the same tokens");
      }
    }
  }
}

/// Two runs of one seed at one rate cannot be told apart: pairs would be made up.
void require_seeds_once(const SizeCell& cell) {
  for (const Rates* rates : {&cell.baseline, &cell.changed}) {
    for (const auto& [rate, runs] : *rates) {
      std::map<int64_t, const Observation*> seen;
      for (const Observation* run : runs) {
        if (!run->seed) continue;
        const auto [first, is_new] = seen.emplace(*run->seed, run);
        if (is_new) continue;
        throw Error("size " + cell.name + ": " + first->second->name + " and " + run->name +
                    " of arm '" + run->arm + "' have seed " + std::to_string(*run->seed) +
                    (rate > 0 ? " and one learning rate" : "") +
                    "; map lr=COLUMN if their rates differ, or keep one of them");
      }
    }
  }
}

/// Runs of either arm that have no partner of their seed at the best rates.
int64_t unpaired(const SizeCell& cell) {
  const auto seeds = [](const Rates& rates) {
    const auto& runs = best_rate(rates)->second;
    return std::count_if(runs.begin(), runs.end(),
                         [](const Observation* run) { return run->seed.has_value(); });
  };
  const int64_t baseline = seeds(cell.baseline), changed = seeds(cell.changed);
  if (baseline == 0 || changed == 0) return 0;
  std::set<int64_t> shared;
  for (const Observation* run : best_rate(cell.baseline)->second) {
    for (const Observation* other : best_rate(cell.changed)->second) {
      if (run->seed && run->seed == other->seed) shared.insert(*run->seed);
    }
  }
  return baseline + changed - 2 * static_cast<int64_t>(shared.size());
}

bool belongs(const SizeCell& cell, const Observation& row, bool by_name) {
  if (by_name) return cell.name == row.size;
  const Point point = point_of(row);
  return same(point.parameters, cell.point.parameters) && same(point.tokens, cell.point.tokens) &&
         (point.parameters > 0 || same(point.flops, cell.point.flops));
}

std::string name_of(const Observation& row, bool by_name) {
  if (by_name) return row.size;
  if (!row.parameters_active) return "C = " + base::format_number(row.flops.value_or(0), 3);
  return base::format_count(*row.parameters_active) +
         (row.tokens ? " on " + base::format_count(*row.tokens) : "");
}

std::vector<SizeCell> cells_of(const std::vector<Observation>& rows, const std::string& baseline,
                               const std::string& changed) {
  std::vector<const Observation*> of_arms;
  bool by_name = false;
  for (const Observation& row : rows) {
    if (row.arm != baseline && row.arm != changed) continue;
    of_arms.push_back(&row);
    by_name |= !row.size.empty();
  }
  std::vector<SizeCell> cells;
  for (const Observation* row : of_arms) {
    if (by_name && row->size.empty()) {
      throw Error(row->name + " has no size while other rows have one; name it or leave it out");
    }
    if (!row->flops || !(*row->flops > 0) || !(row->loss > 0)) {
      throw Error(row->name + " needs a positive loss and C (or N and D); correct or remove it");
    }
    auto cell = std::find_if(cells.begin(), cells.end(),
                             [&](const SizeCell& known) { return belongs(known, *row, by_name); });
    if (cell == cells.end()) {
      cells.push_back({.name = name_of(*row, by_name), .point = point_of(*row)});
      cell = std::prev(cells.end());
    }
    // The place of a size is the baseline's, whichever arm comes first.
    if (row->arm == baseline) cell->point = point_of(*row);
    (row->arm == baseline ? cell->baseline : cell->changed)[row->learning_rate.value_or(0)]
        .push_back(row);
  }
  return cells;
}

}  // namespace

std::vector<std::string> sizes_of_one_arm(const std::vector<Observation>& rows,
                                          const std::string& baseline, const std::string& changed) {
  std::vector<std::string> names;
  for (const SizeCell& cell : cells_of(rows, baseline, changed)) {
    if (cell.baseline.empty() || cell.changed.empty()) names.push_back(cell.name);
  }
  return names;
}

std::vector<std::string> arms_of(const std::vector<Observation>& rows) {
  std::vector<std::string> arms;
  for (const Observation& row : rows) {
    if (std::find(arms.begin(), arms.end(), row.arm) == arms.end()) arms.push_back(row.arm);
  }
  return arms;
}

std::vector<SizeGain> gains_by_size(const std::vector<Observation>& rows,
                                    const std::string& baseline, const std::string& changed) {
  require_comparable(rows);
  const std::vector<std::string> arms = arms_of(rows);
  for (const std::string& arm : {baseline, changed}) {
    if (std::find(arms.begin(), arms.end(), arm) != arms.end()) continue;
    throw base::UsageError("no row is of arm '" + arm + "'; there are " + base::join(arms, ", "));
  }
  if (baseline == changed) {
    throw base::UsageError("arm '" + baseline + "' cannot be compared with itself; there are " +
                           base::join(arms, ", "));
  }
  std::vector<SizeGain> sizes;
  for (const SizeCell& cell : cells_of(rows, baseline, changed)) {
    if (cell.baseline.empty() || cell.changed.empty()) continue;
    require_same_tokens(cell);
    require_seeds_once(cell);
    sizes.push_back(gain_of(cell));
    sizes.back().unpaired = unpaired(cell);
  }
  if (sizes.empty()) {
    throw Error("arms '" + baseline + "' and '" + changed +
                "' share no size: none of their N and D agree to 1 %; where sizes have names, map "
                "them with size=COLUMN");
  }
  std::stable_sort(sizes.begin(), sizes.end(), [](const SizeGain& a, const SizeGain& b) {
    return a.point.flops < b.point.flops;
  });
  return sizes;
}

}  // namespace windtunnel::scaling
