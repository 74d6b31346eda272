#include "scaling/ladder_design.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace windtunnel::scaling {
namespace {

using base::Json;
using base::Problem;

constexpr int kFittedRungs = 5;
/// A parabola over sizes needs three, a slope over budgets or ratios two.
constexpr int kSizesPerBudget = 3;
constexpr int kFittedBudgets = 2;

bool is_under(const std::string& path, const std::string& prefix) {
  return path == prefix || path.rfind(prefix + ".", 0) == 0;
}

std::string at(const char* list, size_t index) {
  return std::string("ladder.") + list + "." + std::to_string(index);
}

std::string count_of(int64_t count, const char* what) { return std::to_string(count) + " " + what; }

class Checks {
 public:
  explicit Checks(const LadderConfig& ladder) : ladder_(ladder) {}

  std::vector<Problem> run() {
    check_rungs();
    check_variants();
    if (ladder_.learning_rates.points % 2 == 0) {
      add("ladder.learning_rates.points", std::to_string(ladder_.learning_rates.points),
          "must be odd, so that one rate is in the middle");
    }
    if (!ladder_.ratios.empty() && !ladder_.budgets.empty()) {
      add("ladder.budgets", count_of(static_cast<int64_t>(ladder_.budgets.size()), "budgets"),
          "and ladder.ratios are two designs; keep one");
    } else if (!ladder_.budgets.empty()) {
      check_budgets();
    } else if (!ladder_.ratios.empty()) {
      check_ratios();
    } else {
      check_sizes();
    }
    return std::move(problems_);
  }

 private:
  void add(std::string path, std::string value, std::string rule) {
    problems_.push_back({std::move(path), std::move(value), std::move(rule)});
  }

  int64_t fitted() const {
    return std::count_if(ladder_.rungs.begin(), ladder_.rungs.end(),
                         [](const RungConfig& rung) { return !rung.held_out; });
  }

  void check_name(const std::string& path, const std::string& name, std::set<std::string>& names,
                  const char* earlier) {
    const bool legal =
        !name.empty() && name.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
                             std::string::npos;
    if (!legal) {
      add(path, "'" + name + "'", "must be letters, digits, '.', '_' or '-'; it names a folder");
    } else if (!names.insert(name).second) {
      add(path, name, std::string("is the name of an earlier ") + earlier);
    }
  }

  void check_patch(const std::string& path, const Json& patch) {
    for (const auto& [target, value] : patch.items()) {
      for (const char* owned : {"train.budget", "train.seed", "data", "evaluation"}) {
        if (is_under(target, owned) || is_under(owned, target)) {
          add(path + "." + target, base::shorten(value.dump(), 60),
              "is set by the ladder and equal for all rungs; remove it");
        }
      }
    }
  }

  void check_known(const std::string& path, const std::vector<std::string>& rungs) {
    for (const std::string& name : rungs) {
      if (rung_names_.count(name) > 0) continue;
      const std::string near = base::nearest_word(
          name, std::vector<std::string>(rung_names_.begin(), rung_names_.end()));
      add(path, name, "is no rung of this ladder" + (near.empty() ? "" : "; " + near + " is one"));
    }
  }

  void check_rungs() {
    for (size_t i = 0; i < ladder_.rungs.size(); ++i) {
      const RungConfig& rung = ladder_.rungs[i];
      check_name(at("rungs", i) + ".name", rung.name, rung_names_, "rung");
      check_patch(at("rungs", i) + ".patch", rung.patch);
      if (rung.tokens && rung.tokens_per_parameter) {
        add(at("rungs", i) + ".tokens", base::format_number(*rung.tokens),
            "contradicts its tokens_per_parameter; keep one");
      }
    }
  }

  void check_variants() {
    std::set<std::string> names = {ladder_.curve};
    for (size_t i = 0; i < ladder_.variants.size(); ++i) {
      const VariantConfig& variant = ladder_.variants[i];
      check_name(at("variants", i) + ".name", variant.name, names, "curve");
      check_patch(at("variants", i) + ".patch", variant.patch);
      check_known(at("variants", i) + ".rungs", variant.rungs);
    }
  }

  void check_sizes() {
    if (fitted() < kFittedRungs) {
      add("ladder.rungs", count_of(fitted(), "fitted"),
          "must hold at least " + std::to_string(kFittedRungs) +
              " rungs without held_out; fewer show no curve");
    }
    require_held_out();
  }

  void check_ratios() {
    if (ladder_.ratios.size() < static_cast<size_t>(kFittedBudgets)) {
      add("ladder.ratios", base::format_number(ladder_.ratios.front()),
          "is one ratio; give it as ladder.tokens_per_parameter, or add another");
    }
    std::set<double> seen;
    for (const double ratio : ladder_.ratios) {
      if (!(ratio > 0)) add("ladder.ratios", base::format_number(ratio), "must be > 0");
      if (!seen.insert(ratio).second) {
        add("ladder.ratios", base::format_number(ratio), "is there twice; keep one");
      }
    }
    if (fitted() < kSizesPerBudget) {
      add("ladder.rungs", count_of(fitted(), "fitted"),
          "must hold at least " + std::to_string(kSizesPerBudget) +
              " rungs without held_out; fewer do not tell size from tokens");
    }
    for (size_t i = 0; i < ladder_.rungs.size(); ++i) {
      const RungConfig& rung = ladder_.rungs[i];
      if ((rung.tokens_per_parameter && !rung.held_out) || rung.tokens || rung.steps) {
        add(at("rungs", i), rung.name,
            "sets its own tokens, but is trained at every one of ladder.ratios; only a held-out "
            "rung may have one tokens_per_parameter instead of them");
      }
    }
    require_held_out();
  }

  void check_budgets() {
    double largest = 0;
    int64_t fitted_budgets = 0;
    std::set<double> seen;
    for (const FlopBudget& budget : ladder_.budgets) {
      if (budget.held_out) continue;
      ++fitted_budgets;
      largest = std::max(largest, budget.flops);
    }
    for (size_t i = 0; i < ladder_.budgets.size(); ++i) {
      const FlopBudget& budget = ladder_.budgets[i];
      const std::string flops = base::format_number(budget.flops);
      check_known(at("budgets", i) + ".rungs", budget.rungs);
      const size_t sizes = budget.rungs.empty() ? ladder_.rungs.size() : budget.rungs.size();
      if (!seen.insert(budget.flops).second) {
        add(at("budgets", i) + ".flops", flops, "is an earlier budget; keep one");
      }
      if (!budget.held_out && sizes < static_cast<size_t>(kSizesPerBudget)) {
        add(at("budgets", i), count_of(static_cast<int64_t>(sizes), "sizes"),
            "must have at least " + std::to_string(kSizesPerBudget) +
                "; fewer show no minimum at this budget");
      }
      if (budget.held_out && budget.flops <= largest) {
        add(at("budgets", i) + ".flops", flops,
            "is held out and must be larger than every fitted budget, which end at " +
                base::format_number(largest));
      }
    }
    if (fitted_budgets < kFittedBudgets) {
      add("ladder.budgets", count_of(fitted_budgets, "fitted"),
          "must hold at least " + std::to_string(kFittedBudgets) +
              " budgets without held_out; fewer show no trend");
    }
    if (fitted_budgets == static_cast<int64_t>(ladder_.budgets.size())) {
      add("ladder.budgets", "none held out",
          "must hold one larger budget with held_out: true to test the forecast");
    }
    for (size_t i = 0; i < ladder_.rungs.size(); ++i) {
      const RungConfig& rung = ladder_.rungs[i];
      if (rung.held_out || rung.tokens_per_parameter || rung.tokens || rung.steps) {
        add(at("rungs", i), rung.name,
            "sets held_out or its own tokens, but ladder.budgets decides both; remove them");
      }
    }
  }

  void require_held_out() {
    if (fitted() < static_cast<int64_t>(ladder_.rungs.size())) return;
    add("ladder.rungs", "none held out",
        "must hold one larger rung with held_out: true to test the forecast");
  }

  const LadderConfig& ladder_;
  std::set<std::string> rung_names_;
  std::vector<Problem> problems_;
};

bool lists(const std::vector<std::string>& rungs, const std::string& name) {
  return rungs.empty() || std::find(rungs.begin(), rungs.end(), name) != rungs.end();
}

/// "1e15": without the '+', which run ids do not have.
std::string flops_label(double flops) {
  std::string text = base::format_number(flops, 4);
  text.erase(std::remove(text.begin(), text.end(), '+'), text.end());
  return text;
}

void add_points(const LadderConfig& ladder, const RungConfig& rung, const VariantConfig* variant,
                std::vector<LadderPoint>& points) {
  const std::string name = rung.name + (variant != nullptr ? "-" + variant->name : "");
  LadderPoint point{.name = name, .rung = &rung, .variant = variant, .held_out = rung.held_out};
  if (!ladder.budgets.empty()) {
    for (const FlopBudget& budget : ladder.budgets) {
      if (!lists(budget.rungs, rung.name)) continue;
      point.name = name + "-c" + flops_label(budget.flops);
      point.held_out = budget.held_out;
      point.flops = budget.flops;
      points.push_back(point);
    }
  } else if (!ladder.ratios.empty() && !rung.tokens_per_parameter) {
    for (const double ratio : ladder.ratios) {
      point.name = name + "-" + base::format_number(ratio, 4) + "x";
      point.tokens_per_parameter = ratio;
      points.push_back(point);
    }
  } else {
    point.steps = rung.steps;
    point.tokens = rung.tokens;
    if (!rung.tokens) {
      point.tokens_per_parameter = rung.tokens_per_parameter.value_or(ladder.tokens_per_parameter);
    }
    points.push_back(point);
  }
}

}  // namespace

std::vector<LadderPoint> ladder_points(const LadderConfig& ladder) {
  std::vector<Problem> problems = Checks(ladder).run();
  if (!problems.empty()) throw base::ConfigError("ladder", std::move(problems));
  std::vector<LadderPoint> points;
  for (const RungConfig& rung : ladder.rungs) add_points(ladder, rung, nullptr, points);
  for (const VariantConfig& variant : ladder.variants) {
    for (const RungConfig& rung : ladder.rungs) {
      if (lists(variant.rungs, rung.name)) add_points(ladder, rung, &variant, points);
    }
  }
  std::map<std::string, std::string> names;
  for (const LadderPoint& point : points) {
    const auto [found, is_new] = names.emplace(point.name, point.rung->name);
    if (!is_new) {
      problems.push_back({"ladder.rungs", point.name,
                          "would name runs of rung " + found->second + " and of rung " +
                              point.rung->name + "; rename one"});
    }
  }
  if (!problems.empty()) throw base::ConfigError("ladder", std::move(problems));
  return points;
}

}  // namespace windtunnel::scaling
