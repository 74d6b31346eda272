#pragma once
// Bits per byte: the one figure by which models are compared, whatever their tokenizer.

#include <functional>
#include <optional>
#include <vector>

#include "evaluation/scored_text.h"
#include "model/language_model.h"
#include "study/run_record.h"

namespace windtunnel::evaluation {

/// total_nats / ln 2 / bytes.
double bits_per_byte(double total_nats, int64_t bytes);

/// Standard error of bits per byte: documents are drawn whole and differ in length, so it is that
/// of a ratio of two sums, sqrt(n / (n - 1) sum_i (nats_i - R bytes_i)^2) / sum_i bytes_i with
/// R = nats / bytes, in bits. `nats` of every token of `text`, 0 for special ones. nullopt for
/// fewer than two documents.
///
/// Source:  Cochran 1977, Sampling Techniques, eq. (2.39), without the correction for a finite
///          population.
std::optional<double> standard_error(const ScoredText& text, const std::vector<float>& nats);

/// Scores the text, reads the router health over it and tries the model (probes.h). Fills in
/// everything but weights_sha256.
///
/// The nats are summed in double precision in the order of the text, so the sum does not depend on
/// how windows were put together. Special tokens are in neither sum. The source's figure takes the
/// same nats, without those of tokens that have no bytes by its count.
study::EvaluationResult evaluate(model::LanguageModel& model, const ScoredText& text, int64_t rows,
                                 const std::function<void(double)>& progress = {});

}  // namespace windtunnel::evaluation
