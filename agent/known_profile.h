#pragma once
// The profile of a model as a study keeps it.

#include "agent/model_profile.h"
#include "agent/proposer.h"

namespace windtunnel::agent {

/// What the study knows; a profile that does not work if it knows nothing.
ModelProfile known_profile(const ChatOptions& options, const ProposerServices& services);

/// Probes the model; what works is kept in the study, with an event. Each question of the probe is
/// in the record of calls.
ModelProfile probe_and_keep(const ChatOptions& options, const ProposerServices& services);

/// A call as the journal keeps it.
study::LlmCall call_record(const std::string& purpose, const std::string& model,
                           const ChatReply& reply, const std::string& outcome,
                           const std::string& message);

}  // namespace windtunnel::agent
