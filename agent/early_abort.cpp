#include "agent/early_abort.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"

namespace windtunnel::agent {

using study::CurvePoint;

namespace {

/// The loss of a curve at a step, between its points; nullopt outside of them.
std::optional<double> loss_at(const std::vector<CurvePoint>& curve, int64_t step) {
  const auto after = std::find_if(curve.begin(), curve.end(),
                                  [&](const CurvePoint& point) { return point.step >= step; });
  if (after == curve.end() || !after->loss_nats_per_token) return std::nullopt;
  if (after->step == step) return after->loss_nats_per_token;
  if (after == curve.begin() || !std::prev(after)->loss_nats_per_token) return std::nullopt;
  const CurvePoint& before = *std::prev(after);
  const double share =
      static_cast<double>(step - before.step) / static_cast<double>(after->step - before.step);
  return *before.loss_nats_per_token +
         share * (*after->loss_nats_per_token - *before.loss_nats_per_token);
}

}  // namespace

std::optional<std::string> gives_up(const AbortRule& rule, const std::vector<CurvePoint>& candidate,
                                    const std::vector<CurvePoint>& reference) {
  if (rule.progress <= 0 || candidate.empty()) return std::nullopt;
  const CurvePoint& last = candidate.back();
  if (last.progress < rule.progress || !last.loss_nats_per_token) return std::nullopt;
  const auto other = loss_at(reference, last.step);
  if (!other || *last.loss_nats_per_token <= *other * (1 + rule.worse_by)) return std::nullopt;
  return fmt::format(
      "at step {} ({:.0f} % of its budget) its training loss is {:.4f} nats per token, {:.1f} % "
      "above "
      "the {:.4f} of its pair at that step; the program gives up beyond {:.1f} %",
      last.step, 100 * last.progress, *last.loss_nats_per_token,
      100 * (*last.loss_nats_per_token / *other - 1), *other, 100 * rule.worse_by);
}

std::optional<std::string> would_have_given_up(const AbortRule& rule,
                                               const std::vector<CurvePoint>& candidate,
                                               const std::vector<CurvePoint>& reference) {
  std::vector<CurvePoint> seen;
  for (const CurvePoint& point : candidate) {
    seen.assign(1, point);
    if (auto reason = gives_up(rule, seen, reference)) return reason;
  }
  return std::nullopt;
}

bool is_audited(const AbortRule& rule, int64_t night_seed, int64_t experiment) {
  base::RandomStream stream(static_cast<uint64_t>(night_seed),
                            "abort-audit/" + std::to_string(experiment));
  return stream.uniform() < rule.audit_share;
}

}  // namespace windtunnel::agent
