#pragma once
// What a language model is asked, rebuilt from the record each turn.

#include <optional>
#include <string>
#include <vector>

#include "agent/chat.h"
#include "agent/proposer.h"

namespace windtunnel::agent {

/// System and user message of at most `most_tokens` tokens, by the estimate that never falls short
/// (token_estimate.h): the program's prose, the rules with the noise and what is left, what may
/// change, the incumbent, the record of experiments with predictions beside outcomes, the form of
/// the answer. Everything that came out of runs or earlier answers is JSON, bounded, inside fences
/// that it cannot close.
///
/// What does not fit is left out from the least valuable on, and the question says so: the
/// incumbent's full configuration (what may change shows its values), the meaning of the paths, the
/// prose; of the record, first the experiments of long ago that were not kept.
///
/// nullopt if not even the form of the answer and the newest experiment fit.
std::optional<std::vector<ChatMessage>> proposal_prompt(const ProposalContext& context,
                                                        int64_t most_tokens);

/// What to say after an answer that could not be used.
std::string repair_prompt(const std::vector<std::string>& errors);

/// Adds the answer, shortened, and what is wrong with it, for one more try.
void add_repair_turn(std::vector<ChatMessage>& messages, const std::string& answer,
                     const std::vector<std::string>& errors);

}  // namespace windtunnel::agent
