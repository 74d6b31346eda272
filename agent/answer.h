#pragma once
// What a language model's answer has to be, and how it is read: strictly, whatever held it to the
// form.

#include <string>
#include <variant>
#include <vector>

#include "agent/proposer.h"

namespace windtunnel::agent {

/// What an answer says: the next proposal and, if it was asked for, a word about the last one.
struct Answer {
  study::Proposal proposal;
  std::optional<study::Reflection> reflection;
};

/// The experiment that the next answer is asked to reflect on: the last decided one of the model
/// that is asked (context.author), if it said nothing about it yet; else nullptr.
const study::Experiment* to_reflect_on(const ProposalContext& context);

/// JSON Schema of an answer: a proposal (study/experiment.h) without what the harness sets, all
/// fields required, whose patch holds only mutable paths inside their ranges. Without `words` the
/// descriptions are left out; `with_reflection` adds the word about the last experiment.
base::Json answer_schema(const Program& program, bool words = true, bool with_reflection = false);

/// The answer, or everything that is wrong with it. Accepts one JSON object, bare or
/// in a fenced block, with or without a <think> part before it; nothing else is guessed.
std::variant<Answer, std::vector<std::string>> read_answer(const std::string& answer,
                                                           const ProposalContext& context);

}  // namespace windtunnel::agent
