#pragma once
// Bits per byte: the one figure by which models are compared, whatever their tokenizer.

#include <functional>

#include "evaluation/scored_text.h"
#include "model/language_model.h"
#include "study/run_record.h"

namespace windtunnel::evaluation {

/// total_nats / ln 2 / bytes.
double bits_per_byte(double total_nats, int64_t bytes);

/// Scores the text, reads the router health over it and tries the model (probes.h). Fills in
/// everything but weights_sha256.
///
/// The nats are summed in double precision in the order of the text, so the sum does not depend on
/// how windows were put together. Special tokens are in neither sum. The source's figure takes the
/// same nats, without those of tokens that have no bytes by its count.
study::EvaluationResult evaluate(model::LanguageModel& model, const ScoredText& text, int64_t rows,
                                 const std::function<void(double)>& progress = {});

}  // namespace windtunnel::evaluation
