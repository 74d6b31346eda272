#pragma once
// What a language model is asked, rebuilt from the record each turn, and how its answer is read.

#include <string>
#include <variant>
#include <vector>

#include "agent/chat_client.h"
#include "agent/proposer.h"

namespace windtunnel::agent {

/// JSON Schema of an answer: a proposal whose patch holds only mutable paths inside their ranges.
base::Json answer_schema(const Program& program);

/// System and user message: the program's prose, what may change, the rules, the incumbent, the
/// record of experiments with predictions beside outcomes, the form of the answer. Everything that
/// came out of runs or earlier answers is JSON inside fences that it cannot close. The record is
/// cut at its old end so that the whole stays below `max_bytes`.
std::vector<ChatMessage> proposal_prompt(const ProposalContext& context, size_t max_bytes);

/// What to say after an answer that could not be used.
std::string repair_prompt(const std::vector<std::string>& errors);

/// The proposal in an answer, or everything that is wrong with it. Accepts one JSON object, bare or
/// in a fenced block, with or without a <think> part before it; nothing else is guessed.
std::variant<study::Proposal, std::vector<std::string>> read_answer(const std::string& answer,
                                                                    const ProposalContext& context);

}  // namespace windtunnel::agent
