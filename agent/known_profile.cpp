#include "agent/known_profile.h"

#include "base/secrets.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;

namespace {

ModelProfile known_profile(const ChatOptions& options, const ProposerServices& services) {
  const Json known = services.fact(kProfilesFact);
  if (!known.is_object()) return {};
  const auto found = known.find(profile_key(options));
  return found == known.end() ? ModelProfile{} : base::from_trusted_json<ModelProfile>(*found);
}

ModelProfile probe_and_keep(const ChatOptions& options, const ProposerServices& services) {
  const ModelProfile profile =
      probe_model(options, services.chat, [&](const std::string& what, const ChatReply& reply) {
        services.add_llm_call(
            call_record("probe: " + what, options.model, reply, reply.outcome, reply.message));
      });
  if (!profile.works()) return profile;
  services.add_event(
      "language_model_probed",
      profile.server + " by " + profile.api + ", streaming " + (profile.streaming ? "yes" : "no") +
          ", structured output " + profile.structured + ", context " +
          (profile.context_tokens ? std::to_string(*profile.context_tokens) + " tokens"
                                  : "not told"));
  Json known = services.fact(kProfilesFact);
  if (!known.is_object()) known = Json::object();
  known[profile_key(options)] = base::to_json(profile);
  services.set_fact(kProfilesFact, known);
  return profile;
}

}  // namespace

bool needs_profile(const ChatOptions& options) { return options.api == "auto"; }

ModelProfile profile_of(const ChatOptions& options, const ProposerServices& services) {
  const ModelProfile known = known_profile(options, services);
  return known.works() || !needs_profile(options) ? known : probe_and_keep(options, services);
}

study::LlmCall call_record(const std::string& purpose, const std::string& model,
                           const ChatReply& reply, const std::string& outcome,
                           const std::string& message) {
  std::vector<std::string> words = reply.failed_attempts;
  if (!message.empty()) words.push_back(message);
  return {.purpose = purpose,
          .model = model,
          .outcome = outcome,
          .message = base::redact(base::shorten(base::join(words, "; then "), 1000)),
          .prompt_tokens = reply.prompt_tokens,
          .completion_tokens = reply.completion_tokens,
          .seconds = reply.seconds,
          .request = reply.request,
          .reply = reply.reply,
          .dollars = reply.dollars};
}

}  // namespace windtunnel::agent
