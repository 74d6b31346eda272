#include "scaling/identifiability.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace windtunnel::scaling {
namespace {

using base::format_number;

int rank_of(const std::string& verdict) {
  if (verdict == identified::kNotIdentified) return 2;
  return verdict == identified::kWeak ? 1 : 0;
}

void lower(ParameterVerdict& verdict, const char* to, const std::string& reason) {
  if (rank_of(to) > rank_of(verdict.verdict)) verdict.verdict = to;
  verdict.reasons.push_back(reason);
}

ParameterVerdict offset_verdict(const Target& target, const Minimum& best, const Noise& noise,
                                size_t k, const Interval& interval,
                                const Diagnostics& diagnostics) {
  const std::string& name = target.law->coefficients[k].name;
  const std::string percent = format_number(100 * noise.confidence) + " %";
  ParameterVerdict result;
  if (best.coefficients[k] == 0) {
    lower(result, identified::kNotIdentified, "the fit puts it at 0");
  }
  if (interval.low == 0.0) {
    lower(result, identified::kNotIdentified,
          "its " + percent + " interval reaches 0: the law without it fits no worse");
  }
  if (!interval.high) {
    lower(result, identified::kNotIdentified, "its " + percent + " interval has no upper end");
  }
  const std::string first = variable_name(target.law->variables.front());
  if (diagnostics.distinct_points < kBudgetsForAnOffset) {
    lower(result, identified::kWeak,
          std::to_string(diagnostics.distinct_points) + " values of " + first + ", " +
              std::to_string(kBudgetsForAnOffset) + " are needed: use " + name +
              " only as an interval");
  }
  if (diagnostics.decades < kDecadesForAnOffset) {
    lower(result, identified::kWeak,
          format_number(diagnostics.decades, 3) + " decades of " + first + ", " +
              format_number(kDecadesForAnOffset) + " are needed: use " + name +
              " only as an interval");
  }
  double smallest_loss = INFINITY;
  for (const Row& row : target.rows) smallest_loss = std::min(smallest_loss, row.loss);
  if (best.coefficients[k] >= smallest_loss) {
    lower(result, identified::kWeak, "it is not below the smallest loss");
  }
  return result;
}

ParameterVerdict other_verdict(const std::string& name, double value, bool is_exponent,
                               const Interval& interval, const Minimum& best) {
  ParameterVerdict result;
  for (const std::string& bound : best.bounds_hit) {
    if (bound.rfind(name + " at ", 0) == 0) lower(result, identified::kNotIdentified, bound);
  }
  if (!interval.low && !interval.high) {
    lower(result, identified::kNotIdentified, "its interval is open on both sides");
  } else if (!interval.low || !interval.high) {
    lower(result, identified::kWeak, "its interval is open on one side");
  }
  if (is_exponent && value > 1) lower(result, identified::kWeak, "an exponent above 1 is suspect");
  return result;
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
    verdict = coefficient.may_vanish
                  ? offset_verdict(target, best, noise, k, interval, diagnostics)
                  : other_verdict(coefficient.name, best.coefficients[k], false, interval, best);
    if (coefficient.may_vanish && verdict.verdict == identified::kNotIdentified) {
      unidentified_offsets.push_back(coefficient.name);
    }
  }
  for (size_t j = 0; j < law.exponents.size(); ++j) {
    const std::string& name = law.exponents[j].name;
    result.parameters[name] = other_verdict(name, best.exponents[j], true, profile.at(name), best);
  }
  for (auto& [name, verdict] : result.parameters) {
    for (const std::string& offset : unidentified_offsets) {
      if (name != offset) lower(verdict, identified::kWeak, "it moves with " + offset);
    }
    if (rank_of(verdict.verdict) > rank_of(result.overall)) result.overall = verdict.verdict;
  }
  return result;
}

}  // namespace windtunnel::scaling
