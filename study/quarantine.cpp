#include "study/quarantine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "corpus/gzip.h"

namespace windtunnel::study {
namespace {

constexpr double kShareOfDeflate = 0.25;
constexpr double kComputeExponent = 0.05;
constexpr double kImplausibleComputeFactor = 1e6;

/// Of double precision sums.
constexpr double kArithmeticTolerance = 1e-9;
/// Scores are float32 logarithms of sums of up to 2^20 terms.
constexpr double kScoreToleranceNats = 1e-3;
constexpr double kSumTolerance = 1e-6;
/// Rounding can tip a router that is undecided between two experts, in one row out of thousands.
constexpr int64_t kRowsThatMayMove = 1;

std::string number(double value) { return base::format_number(value, 4); }

std::string problem_of_probes(const std::optional<ProbeResult>& probes) {
  if (!probes || probes->rows < 1 || probes->cuts < 1) {
    return "the evaluation did not try whether it scores a causal model";
  }
  if (probes->rows_moved > std::min(kRowsThatMayMove, probes->rows - 1)) {
    return "the model sees the future: changed later tokens moved earlier log-probabilities by up "
           "to " +
           number(probes->largest_move_nats) + " nats in " + std::to_string(probes->rows_moved) +
           " of " + std::to_string(probes->rows) + " rows";
  }
  if (!(probes->largest_sum_error <= kSumTolerance)) {
    return "probabilities of one position do not sum to 1: off by " +
           number(probes->largest_sum_error);
  }
  if (!(probes->largest_score_error_nats <= kScoreToleranceNats)) {
    return "scores are not log-probabilities: off by " + number(probes->largest_score_error_nats) +
           " nats";
  }
  return {};
}

}  // namespace

double lowest_plausible_bits_per_byte(const std::filesystem::path& corpus) {
  return kShareOfDeflate * corpus::deflated_bits_per_byte(corpus / "validation.text");
}

void SeenScores::add(const RunRecord& record) {
  if (const auto bits = record.bits_per_byte()) {
    scores_.push_back({record.id, record.data_fingerprint, *bits, record.train.flops_exact});
  }
}

std::optional<SeenScores::Limit> SeenScores::limit(const RunRecord& record, double trained) const {
  std::optional<Limit> best;
  for (const Score& score : scores_) {
    if (score.data != record.data_fingerprint || score.bits_per_byte >= trained) continue;
    const auto& flops = record.train.flops_exact;
    const double more =
        flops && score.flops && *score.flops > 0 ? std::max(1.0, *flops / *score.flops) : 1.0;
    const double lowest =
        score.bits_per_byte * std::pow(kImplausibleComputeFactor * more, -kComputeExponent);
    if (!best || lowest < best->bits_per_byte) best = {lowest, score.run};
  }
  return best;
}

std::string reason_to_quarantine(const RunRecord& record, const corpus::CorpusManifest& manifest,
                                 double floor, const SeenScores& seen) {
  const EvaluationResult& evaluation = *record.evaluation;
  if (evaluation.weights_sha256 != record.train.weights_sha256) {
    return "the evaluation read other weights than the trainer saved";
  }
  if (evaluation.validation_text_sha256 != manifest.validation_text_sha256 ||
      evaluation.bytes != manifest.validation.bytes) {
    return "the evaluation scored another text than the corpus's validation split";
  }
  const double bits = evaluation.bits_per_byte;
  const double recomputed =
      evaluation.total_nats / std::numbers::ln2 / static_cast<double>(evaluation.bytes);
  if (!(std::abs(bits - recomputed) <= kArithmeticTolerance * std::abs(bits))) {
    return number(bits) + " bits per byte are not the evaluation's " +
           number(evaluation.total_nats) + " nats over " + std::to_string(evaluation.bytes) +
           " bytes";
  }
  if (const std::string problem = problem_of_probes(evaluation.probes); !problem.empty()) {
    return problem;
  }
  if (bits < floor) {
    return number(bits) + " bits per byte are implausible: below " + number(floor) +
           ", a quarter of what deflate needs for the same text";
  }
  if (const auto limit = seen.limit(record, floor / kShareOfDeflate);
      limit && bits < limit->bits_per_byte) {
    return number(bits) + " bits per byte are implausible: below " + number(limit->bits_per_byte) +
           ", more than a millionfold compute would gain on run " + limit->run +
           "; if that run was broken, start a study without it";
  }
  return {};
}

}  // namespace windtunnel::study
