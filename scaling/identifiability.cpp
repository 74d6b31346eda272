#include "scaling/identifiability.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace windtunnel::scaling {
namespace {

using base::format_number;

int rank_of(const std::string& verdict) {
  if (verdict == identified::kRefused) return 2;
  return verdict == identified::kWeak ? 1 : 0;
}

/// `cure`: what would lift it; empty adds none.
void lower(ParameterVerdict& verdict, const char* to, const std::string& reason,
           const std::string& cure = "") {
  if (rank_of(to) > rank_of(verdict.verdict)) verdict.verdict = to;
  verdict.reasons.push_back(reason);
  if (cure.empty()) return;
  const auto& known = verdict.cures;
  if (std::find(known.begin(), known.end(), cure) == known.end()) verdict.cures.push_back(cure);
}

/// The values of one variable in the rows.
struct Range {
  double low = INFINITY;
  double high = 0;
};

Range range_of(const Target& target, Variable variable) {
  Range range;
  for (const Row& row : target.rows) {
    range.low = std::min(range.low, value_of(row.point, variable));
    range.high = std::max(range.high, value_of(row.point, variable));
  }
  return range;
}

std::string further(const Target& target) {
  const Variable first = target.law->variables.front();
  const Range range = range_of(target, first);
  const double span = std::max(10 * range.high, range.low * std::pow(10, kDecadesForAnOffset));
  return "train on to " + variable_name(first) + " = " + format_number(span, 2) + ", at " +
         std::to_string(kBudgetsForAnOffset) + " values or more in all";
}

ParameterVerdict offset_verdict(const Target& target, const Minimum& best, const Noise& noise,
                                size_t k, const Interval& interval,
                                const Diagnostics& diagnostics) {
  const std::string& name = target.law->coefficients[k].name;
  const std::string percent = format_number(100 * noise.confidence) + " %";
  const std::string cure = further(target);
  ParameterVerdict result;
  if (best.coefficients[k] == 0) {
    lower(result, identified::kRefused, "the fit puts it at 0", cure);
  }
  if (interval.low == 0.0) {
    lower(result, identified::kRefused,
          "its " + percent + " interval reaches 0: the law without it fits no worse", cure);
  }
  if (!interval.high) {
    lower(result, identified::kRefused, "its " + percent + " interval has no upper end", cure);
  }
  const std::string first = variable_name(target.law->variables.front());
  std::vector<std::string> names;
  for (const Variable variable : target.law->variables) names.push_back(variable_name(variable));
  if (diagnostics.distinct_points < kBudgetsForAnOffset) {
    lower(result, identified::kWeak,
          std::to_string(diagnostics.distinct_points) + " values of " + base::join(names, ", ") +
              ", " + std::to_string(kBudgetsForAnOffset) + " are needed: use " + name +
              " only as an interval",
          cure);
  }
  // Along C; a law of size and tokens covers two decades of C with one of each.
  const double decades =
      target.law->variables.size() > 1 ? 2 * diagnostics.decades : diagnostics.decades;
  if (decades < kDecadesForAnOffset) {
    lower(result, identified::kWeak,
          format_number(diagnostics.decades, 3) + " decades of " + first + ", " +
              format_number(kDecadesForAnOffset * diagnostics.decades / decades) +
              " are needed: use " + name + " only as an interval",
          cure);
  }
  double smallest_loss = INFINITY;
  for (const Row& row : target.rows) smallest_loss = std::min(smallest_loss, row.loss);
  if (best.coefficients[k] >= smallest_loss) {
    lower(result, identified::kWeak, "it is not below the smallest loss", cure);
  }
  return result;
}

ParameterVerdict other_verdict(const Target& target, const std::string& name, double value,
                               bool is_exponent, const Interval& interval, const Minimum& best) {
  const std::string cure = further(target);
  ParameterVerdict result;
  for (const std::string& bound : best.bounds_hit) {
    if (bound.rfind(name + " at ", 0) == 0) lower(result, identified::kRefused, bound, cure);
  }
  if (!interval.low && !interval.high) {
    lower(result, identified::kRefused, "its interval is open on both sides", cure);
  } else if (!interval.low || !interval.high) {
    lower(result, identified::kWeak, "its interval is open on one side", cure);
  }
  if (is_exponent && value > 1) {
    lower(result, identified::kWeak, "an exponent above 1 is suspect", cure);
  }
  return result;
}

/// Whether a term, at exponents a little off, moves with size but not with tokens, or the reverse.
bool moves_with(const Target& target, const Minimum& best, size_t k, Variable variable) {
  std::array<double, Law::kMaximumTerms> here, there;
  std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> unused;
  Point point = target.rows.front().point;
  target.law->log_terms(point, best.exponents.data(), here.data(), unused.data());
  (variable == Variable::kParameters ? point.parameters : point.tokens) *= 2;
  target.law->log_terms(point, best.exponents.data(), there.data(), unused.data());
  return here[k] != there[k];
}

/// Rules about the design of a law of size and tokens.
void judge_design(const Target& target, const Minimum& best, const Diagnostics& diagnostics,
                  Verdict& verdict) {
  if (!diagnostics.sizes) return;
  const Law& law = *target.law;
  const Range sizes = range_of(target, Variable::kParameters);
  const Range tokens = range_of(target, Variable::kTokens);
  const auto exponent_of_term = [&](size_t k) {
    std::array<double, Law::kMaximumTerms> unused;
    std::array<double, Law::kMaximumTerms * Law::kMaximumExponents> slopes;
    law.log_terms(target.rows.front().point, best.exponents.data(), unused.data(), slopes.data());
    std::vector<std::string> names;
    for (size_t j = 0; j < law.exponents.size(); ++j) {
      if (slopes[k * law.exponents.size() + j] != 0) names.push_back(law.exponents[j].name);
    }
    return names;
  };
  const auto judge_terms = [&](Variable variable, const char* to, const std::string& reason,
                               const std::string& cure) {
    for (size_t k = 0; k < law.coefficients.size(); ++k) {
      if (!moves_with(target, best, k, variable)) continue;
      lower(verdict.parameters.at(law.coefficients[k].name), to, reason, cure);
      // An exponent that other terms share is known from those.
      if (law.exponents.size() + 1 < law.coefficients.size()) continue;
      for (const std::string& name : exponent_of_term(k)) {
        lower(verdict.parameters.at(name), to, reason, cure);
      }
    }
  };
  const bool few_sizes = *diagnostics.sizes < kSizes;
  if (few_sizes || *diagnostics.size_range < kRangeOfSizes) {
    judge_terms(Variable::kParameters, identified::kRefused,
                few_sizes ? std::to_string(*diagnostics.sizes) + " sizes N, " +
                                std::to_string(kSizes) + " are needed"
                          : "the sizes N lie within a factor of " +
                                format_number(*diagnostics.size_range, 3) + ", 2 is needed",
                "train sizes around N = " + format_number(sizes.low / 4, 2) + " and " +
                    format_number(sizes.high * 4, 2));
  }
  if (tokens.high / tokens.low < kRangeOfSizes) {
    judge_terms(Variable::kTokens, identified::kRefused,
                "the tokens D lie within a factor of " +
                    format_number(tokens.high / tokens.low, 3) + ", 2 is needed",
                "train on " + format_number(tokens.low / 4, 2) + " and " +
                    format_number(tokens.high * 4, 2) + " tokens");
  }
  const double low = *diagnostics.tokens_per_parameter_low;
  const double high = *diagnostics.tokens_per_parameter_high;
  if (high / low < kRangeOfSizes) {
    const std::string reason = "tokens per parameter only go from " + format_number(low, 3) +
                               " to " + format_number(high, 3) +
                               ": size and tokens move together, and only their sum is known";
    const std::string cure = "train the next rungs at " + format_number(low / 2, 2) + " and " +
                             format_number(2 * high, 2) + " tokens per parameter in turn";
    for (const Variable variable : {Variable::kParameters, Variable::kTokens}) {
      judge_terms(variable, identified::kWeak, reason, cure);
    }
  }
}

/// Directions in which the rows say nothing: then every parameter that shares in them is unknown.
void judge_condition(const Diagnostics& diagnostics, Verdict& verdict) {
  const double condition = diagnostics.condition.value_or(INFINITY);
  if (condition <= kWarnCondition) return;
  const bool refuse = condition > kRefuseCondition;
  const std::string number =
      diagnostics.condition ? format_number(condition, 2) : "no full rank, its";
  for (auto& [name, parameter] : verdict.parameters) {
    lower(parameter, refuse ? identified::kRefused : identified::kWeak,
          diagnostics.condition ? "the Jacobian has condition " + number + ", above " +
                                      format_number(refuse ? kRefuseCondition : kWarnCondition)
                                : std::string("the Jacobian has no full rank"),
          "vary what moves together in the rows: sizes at one budget, tokens at one size");
  }
}

}  // namespace

Verdict identifiability(const Target& target, const Minimum& best, const Noise& noise,
                        const std::map<std::string, Interval>& profile,
                        const Diagnostics& diagnostics) {
  const Law& law = *target.law;
  Verdict result;
  std::vector<std::string> unidentified_offsets;
  for (size_t k = 0; k < law.coefficients.size(); ++k) {
    const Coefficient& coefficient = law.coefficients[k];
    const Interval& interval = profile.at(coefficient.name);
    auto& verdict = result.parameters[coefficient.name];
    verdict = coefficient.may_vanish ? offset_verdict(target, best, noise, k, interval, diagnostics)
                                     : other_verdict(target, coefficient.name, best.coefficients[k],
                                                     false, interval, best);
    if (coefficient.may_vanish && verdict.verdict == identified::kRefused) {
      unidentified_offsets.push_back(coefficient.name);
    }
  }
  for (size_t j = 0; j < law.exponents.size(); ++j) {
    const std::string& name = law.exponents[j].name;
    result.parameters[name] = other_verdict(target, name, best.exponents[j],
                                            !law.exponents[j].is_scale, profile.at(name), best);
  }
  judge_design(target, best, diagnostics, result);
  judge_condition(diagnostics, result);
  for (auto& [name, verdict] : result.parameters) {
    for (const std::string& offset : unidentified_offsets) {
      if (name != offset) lower(verdict, identified::kWeak, "it moves with " + offset);
    }
    if (rank_of(verdict.verdict) > rank_of(result.overall)) result.overall = verdict.verdict;
  }
  return result;
}

}  // namespace windtunnel::scaling
