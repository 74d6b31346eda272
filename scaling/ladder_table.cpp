// A ladder for people: its plan, and what became of it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "scaling/ladder_state.h"
#include "scaling/rate_search.h"

namespace windtunnel::scaling {
namespace {

/// Passes over a text up to which repeated tokens are worth about what new ones are.
/// Source: Muennighoff et al. 2023, arXiv:2305.16264.
constexpr double kHarmlessEpochs = 4;

std::string count(double value) { return base::format_count(value); }

/// "1.519G": as many digits as published ladders state.
std::string precise(double value) {
  const double scale = value >= 999'999'500 ? 1e9 : value >= 999'999.5 ? 1e6 : 1e3;
  return fmt::format("{:.3f}{}", value / scale, scale == 1e9 ? "G" : scale == 1e6 ? "M" : "k");
}

std::string role(const PlannedRung& rung) {
  std::vector<std::string> words;
  if (rung.held_out) words.emplace_back("held out");
  if (rung.rate_status == rate_status::kTuned) words.emplace_back("rate by grid");
  if (rung.rate_status == rate_status::kGiven) words.emplace_back("rate given");
  return base::join(words, ", ");
}

/// How often the largest rung reads its text; "" while the corpus is not there.
std::string epochs_line(const LadderPlan& plan) {
  const PlannedRung* most = nullptr;
  for (const PlannedRung& rung : plan.rungs) {
    if (rung.epochs && (most == nullptr || *rung.epochs > *most->epochs)) most = &rung;
  }
  if (most == nullptr) return "epochs: unknown until the corpus is built\n";
  if (*most->epochs <= 1) return "epochs: no run reads any of its text twice\n";
  std::string line = fmt::format("epochs: rung {} reads its text {} times", most->name,
                                 base::format_number(*most->epochs, 3));
  if (*most->epochs > kHarmlessEpochs) {
    line += fmt::format(
        "; beyond {} passes tokens are worth less than new ones, and no law of "
        "tokens alone holds: take a larger corpus",
        base::format_number(kHarmlessEpochs));
  }
  return line + "\n";
}

std::string rates_line(const LadderPlan& plan) {
  const RateGridConfig& grid = plan.ladder.learning_rates;
  if (grid.tune == "none") return "";
  return fmt::format(
      "rates: {} for each {}size, neighbours {} times apart on {} * {}^k, and up to {} more while "
      "the best is at an edge\n",
      grid.points, grid.tune == "fitted" ? "fitted " : "", base::format_number(grid.factor),
      base::format_number(plan.base_learning_rate), base::format_number(grid.factor),
      grid.extensions);
}

}  // namespace

std::string ladder_table(const LadderPlan& plan) {
  std::vector<std::vector<std::string>> cells = {{"rung", "N active", "N total", "target", "tokens",
                                                  "steps", "rate", "C = 6ND", "C exact", "memory",
                                                  "epochs", "runs", "each", ""}};
  int64_t runs = 0;
  for (const PlannedRung& rung : plan.rungs) {
    runs += rung.runs;
    cells.push_back(
        {rung.name, count(static_cast<double>(rung.parameters_active)),
         count(static_cast<double>(rung.parameters_total)), precise(rung.target_tokens),
         precise(static_cast<double>(rung.tokens)), std::to_string(rung.steps),
         base::format_number(rung.learning_rate, 3), base::format_number(rung.flops_six_nd, 3),
         base::format_number(rung.flops_exact, 3), count(rung.peak_memory_bytes) + "B",
         rung.epochs ? base::format_number(*rung.epochs, 3) : "-", std::to_string(rung.runs),
         rung.expected_seconds ? base::format_duration(*rung.expected_seconds) : "-", role(rung)});
  }
  std::string text = base::format_table(cells) + std::to_string(runs) + " runs, ";
  if (!plan.ladder.budgets.empty()) {
    text += std::to_string(plan.ladder.budgets.size()) + " compute budgets";
  } else if (!plan.ladder.ratios.empty()) {
    text += std::to_string(plan.ladder.ratios.size()) + " ratios of tokens per active parameter";
  } else {
    text += base::format_number(plan.ladder.tokens_per_parameter) + " tokens per active parameter";
  }
  if (plan.expected_seconds) {
    text += ", about " + base::format_duration(*plan.expected_seconds) + " with " +
            std::to_string(plan.slots) + (plan.slots == 1 ? " run at a time" : " runs at once");
  }
  text += "\n" + left_out_text(plan.left_out) + rates_line(plan) + epochs_line(plan);
  if (plan.speed) {
    text += fmt::format("speed: {} FLOP/s of one run, {} {}\n",
                        base::format_number(plan.speed->flops_per_second, 3),
                        plan.speed->is_measured ? "measured on" : "assumed", plan.speed->source);
  }
  return text;
}

std::string outcome_table(const std::vector<RungOutcome>& rungs,
                          const std::vector<PairedDifference>& pairs) {
  std::vector<std::vector<std::string>> cells = {
      {"rung", "state", "bits per byte", "epochs", "rate", "", "why"}};
  for (const RungOutcome& rung : rungs) {
    cells.push_back({rung.name, rung.state,
                     rung.bits_per_byte ? fmt::format("{:.4f}", *rung.bits_per_byte) : "-",
                     rung.epochs ? base::format_number(*rung.epochs, 3) : "-",
                     rung.learning_rate ? base::format_number(*rung.learning_rate, 4) : "-",
                     rung.rate_status, rung.rate_note});
  }
  std::string text = base::format_table(cells);
  for (const PairedDifference& pair : pairs) {
    text += fmt::format("{} against {}: {:+.4f} bits per byte, {:+.2f} %", pair.rung,
                        pair.base_rung, pair.difference, 100 * pair.relative);
    text += pair.standard_deviation
                ? fmt::format(", sd {:.4f} over {} seeds\n", *pair.standard_deviation, pair.pairs)
                : std::string(", one seed\n");
  }
  return text;
}

}  // namespace windtunnel::scaling
