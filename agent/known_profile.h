#pragma once
// The profile of a model as a study keeps it.

#include "agent/model_profile.h"
#include "agent/proposer.h"

namespace windtunnel::agent {

/// Whether the model cannot be asked without a profile that works.
bool needs_profile(const ChatOptions& options);

/// What the study knows; where that is nothing and a profile is needed, what a probe finds. What
/// works is kept in the study, with an event; each question of the probe is in the record of calls.
ModelProfile profile_of(const ChatOptions& options, const ProposerServices& services);

/// A call as the journal keeps it.
study::LlmCall call_record(const std::string& purpose, const std::string& model,
                           const ChatReply& reply, const std::string& outcome,
                           const std::string& message);

}  // namespace windtunnel::agent
