#pragma once
// Are the scores of an evaluation what they claim to be? Tried on the very model and text that are
// scored, in the process that scores them, after the scoring.
//
//   causality       a log-probability may depend on earlier tokens only. In rows of the text, all
//                   tokens after a cut are replaced by others: no log-probability before the cut
//                   may move, by more than rounding, for any token of the vocabulary.
//   normalisation   the probabilities of a position sum to 1, and the score of a token is its
//                   negative log-probability: both by a softmax in double precision over the raw
//                   outputs, against the scores that were summed.
//
// Rows and cuts are drawn from the scores, so nobody knows them before the model is trained, and
// the same model is always tried in the same places.

#include <functional>
#include <span>

#include "evaluation/scored_text.h"
#include "model/language_model.h"
#include "study/probe_result.h"

namespace windtunnel::evaluation {

/// Raw outputs for some rows of tokens, on the CPU. Shapes: tokens_BT int64 -> logits_BTV.
using Predictor = std::function<torch::Tensor(const torch::Tensor& tokens_BT)>;

/// `nats` are the scores of the text as token_nats gives them for a model of that context.
///
/// Cost:   at most 8 rows, each with 8 changed copies: as 72 rows more of text.
/// Errors: Error if an output is not finite.
study::ProbeResult probe(const Predictor& predict, const ScoredText& text,
                         std::span<const float> nats, int64_t context, int64_t vocabulary);

}  // namespace windtunnel::evaluation
