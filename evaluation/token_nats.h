#pragma once
// Log-probabilities of a text, computed by us from the logits.

#include <functional>
#include <vector>

#include "evaluation/scored_text.h"
#include "model/language_model.h"

namespace windtunnel::evaluation {

/// `length` inputs from text.tokens[first]; the targets are the tokens after each.
struct Window {
  int64_t first = 0;
  int64_t length = 0;
};

/// The windows of a text, which cover every token that is predicted exactly once; the longest
/// first.
std::vector<Window> windows_of(const ScoredText& text, int64_t context);

/// Negative log-probability of every token of `text` given the tokens of its document before it, in
/// the order of text.tokens; 0 for the begin-of-document tokens, which are never predicted.
///
/// Each document is cut into windows of the model's context, which cover every token exactly once:
/// a window sees nothing of the one before. Windows of like lengths are scored together, at most
/// `rows` times the context in tokens. A shorter one is filled up with its own tokens again: the
/// model is causal, so what follows changes nothing, and routers go on seeing the same kind of
/// text.
///
/// Units:   nats.
/// State:   the model's router health is reset first and then covers the text.
/// `progress` gets the fraction done, a few times a second or less.
std::vector<float> token_nats(model::LanguageModel& model, const ScoredText& text, int64_t rows,
                              const std::function<void(double)>& progress = {});

}  // namespace windtunnel::evaluation
