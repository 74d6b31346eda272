#pragma once
// What a language model's answer has to be, and how it is read: strictly, whatever held it to the
// form.

#include <string>
#include <variant>
#include <vector>

#include "agent/proposer.h"

namespace windtunnel::agent {

/// JSON Schema of an answer: a proposal (study/experiment.h) without what the harness sets, all
/// fields required, whose patch holds only mutable paths inside their ranges. Without `words` the
/// descriptions are left out.
base::Json answer_schema(const Program& program, bool words = true);

/// The proposal in an answer, or everything that is wrong with it. Accepts one JSON object, bare or
/// in a fenced block, with or without a <think> part before it; nothing else is guessed.
std::variant<study::Proposal, std::vector<std::string>> read_answer(const std::string& answer,
                                                                    const ProposalContext& context);

}  // namespace windtunnel::agent
