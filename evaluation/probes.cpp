#include "evaluation/probes.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/fingerprint.h"
#include "base/random.h"
#include "evaluation/token_nats.h"

namespace windtunnel::evaluation {
namespace {

using torch::Tensor;

constexpr size_t kRows = 8;
constexpr int64_t kCuts = 8;
/// Rows are drawn from the longest windows, where a model has most to see.
constexpr size_t kLongest = 64;
/// Far above the rounding of float32 logits, far below what a model gains by seeing a token.
constexpr double kMoveToleranceNats = 1e-3;
/// Positions whose probabilities are in memory at once, in double precision.
constexpr int64_t kPositions = 64;

/// [positions, V] in double precision.
Tensor log_probabilities(const Tensor& logits_TV) {
  const Tensor result = at::log_softmax(logits_TV.to(at::kDouble), -1);
  if (!at::isfinite(result).all().item<bool>()) {
    throw base::Error("the model's outputs are not all finite: it cannot be scored");
  }
  return result;
}

std::vector<Window> draw_windows(const ScoredText& text, int64_t context,
                                 base::RandomStream& random) {
  std::vector<Window> windows = windows_of(text, context);  // the longest first
  windows.resize(std::min(windows.size(), kLongest));
  std::erase_if(windows, [](const Window& window) { return window.length < 2; });
  for (size_t i = 0; i < std::min(windows.size(), kRows); ++i) {
    std::swap(windows[i], windows[i + random.below(windows.size() - i)]);
  }
  windows.resize(std::min(windows.size(), kRows));
  return windows;
}

/// The window, then a copy for each cut with other tokens from the cut on.
Tensor with_other_futures(const ScoredText& text, const Window& window,
                          const std::vector<int64_t>& cuts, int64_t vocabulary,
                          base::RandomStream& random) {
  const auto rows = static_cast<int64_t>(cuts.size()) + 1;
  const Tensor tokens = at::empty({rows, window.length}, at::kLong);
  auto token = tokens.accessor<int64_t, 2>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t t = 0; t < window.length; ++t) {
      const int64_t real = text.tokens[static_cast<size_t>(window.first + t)];
      const bool is_future = row > 0 && t >= cuts[static_cast<size_t>(row - 1)];
      const auto step =
          1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(vocabulary - 1)));
      token[row][t] = is_future ? (real + step) % vocabulary : real;
    }
  }
  return tokens;
}

/// How far log-probabilities at positions [0, cut) are apart.
double largest_move(const Tensor& real_TV, const Tensor& changed_TV, int64_t cut) {
  double largest = 0;
  for (int64_t first = 0; first < cut; first += kPositions) {
    const int64_t count = std::min(kPositions, cut - first);
    const Tensor move = log_probabilities(real_TV.narrow(0, first, count)) -
                        log_probabilities(changed_TV.narrow(0, first, count));
    largest = std::max(largest, move.abs().max().item<double>());
  }
  return largest;
}

void check_scores(const Tensor& logits_TV, const ScoredText& text, std::span<const float> nats,
                  const Window& window, study::ProbeResult& result) {
  for (int64_t first = 0; first < window.length; first += kPositions) {
    const int64_t count = std::min(kPositions, window.length - first);
    const Tensor logs = log_probabilities(logits_TV.narrow(0, first, count));
    const double off = (logs.exp().sum(-1) - 1).abs().max().item<double>();
    result.largest_sum_error = std::max(result.largest_sum_error, off);
    const auto log = logs.accessor<double, 2>();
    for (int64_t i = 0; i < count; ++i) {
      const auto target = static_cast<size_t>(window.first + first + i + 1);
      const double error = std::abs(-log[i][text.tokens[target]] - nats[target]);
      // A score that is no number is no small error.
      if (!(error <= result.largest_score_error_nats)) result.largest_score_error_nats = error;
    }
  }
}

}  // namespace

study::ProbeResult probe(const Predictor& predict, const ScoredText& text,
                         std::span<const float> nats, int64_t context, int64_t vocabulary) {
  const std::string_view bytes(reinterpret_cast<const char*>(nats.data()), nats.size_bytes());
  base::RandomStream random(std::stoull(base::sha256(bytes).substr(0, 16), nullptr, 16), "probes");
  study::ProbeResult result;
  for (const Window& window : draw_windows(text, context, random)) {
    std::vector<int64_t> cuts(static_cast<size_t>(std::min(kCuts, window.length - 1)));
    for (int64_t& cut : cuts) {
      cut = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(window.length - 1)));
    }
    const Tensor logits_BTV = predict(with_other_futures(text, window, cuts, vocabulary, random));
    check_scores(logits_BTV[0], text, nats, window, result);
    double largest = 0;
    for (size_t i = 0; i < cuts.size(); ++i) {
      largest = std::max(
          largest, largest_move(logits_BTV[0], logits_BTV[static_cast<int64_t>(i) + 1], cuts[i]));
    }
    result.rows += 1;
    result.cuts = std::max(result.cuts, static_cast<int64_t>(cuts.size()));
    result.rows_moved += largest > kMoveToleranceNats ? 1 : 0;
    result.largest_move_nats = std::max(result.largest_move_nats, largest);
  }
  return result;
}

}  // namespace windtunnel::evaluation
