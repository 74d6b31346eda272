#include "agent/model_profile.h"

#include <algorithm>

#include "agent/chat_client.h"
#include "agent/foreign_json.h"
#include "agent/http.h"
#include "base/clock.h"
#include "base/config.h"

namespace windtunnel::agent {

using base::Json;

namespace {

constexpr const char* kQuestion = "Count from 1 to 500 in digits, separated by blanks.";
/// Short enough that a server which ignores the limit is seen to.
constexpr int64_t kShortAnswerTokens = 16;
/// Room for a model that thinks first.
constexpr int64_t kStructuredAnswerTokens = 1024;
/// A look at what a server says of itself.
constexpr double kLookSeconds = 5;

/// A question whose natural answer is not of this form, so that an answer of this form was held to
/// it.
const Json& probe_schema() {
  static const Json schema = {
      {"type", "object"},
      {"properties", {{"colour", {{"type", "string"}, {"enum", {"teal"}}}}}},
      {"required", {"colour"}},
      {"additionalProperties", false}};
  return schema;
}
constexpr const char* kWeather = "Describe a rainy day in one short English sentence.";
/// The word JSON is a condition of OpenAI's.
constexpr const char* kWeatherAsJson =
    "Describe a rainy day in one short sentence. Answer in JSON.";

bool keeps(const std::string& form, const std::string& content) {
  const Json json = parse_foreign(content);
  if (!json.is_object()) return false;
  return form == structured::kObject || base::schema_problems(json, probe_schema()).empty();
}

class Probe {
 public:
  Probe(const ChatOptions& options, const ChatHooks& hooks, const ProbeListener& listener)
      : options_(options), hooks_(hooks), listener_(listener) {
    options_.max_attempts = std::min<int64_t>(options_.max_attempts, 2);
    profile_.endpoint = options.endpoint;
    profile_.model = options.model;
    profile_.probed_at = base::utc_now();
  }

  ModelProfile run() {
    find_api();
    if (!profile_.works()) return profile_;
    look_at_server();
    find_streaming();
    find_structured();
    return profile_;
  }

 private:
  ChatOptions with(const std::string& api, int64_t max_tokens) const {
    ChatOptions options = options_;
    options.api = api;
    options.streaming = "off";
    options.structured = structured::kNone;
    options.max_completion_tokens = max_tokens;
    return options;
  }

  ChatReply ask(ChatClient& client, const std::string& what, const std::string& question,
                const Json& schema = nullptr) {
    ChatReply reply = client.ask({{"user", question}}, schema);
    if (listener_) listener_(what, reply);
    return reply;
  }

  std::vector<std::string> candidates() const {
    if (options_.api != "auto") return {options_.api};
    std::vector<std::string> names = Dialects::instance().names();
    // Anthropic serves chat completions too, less completely than its own.
    const std::string first =
        options_.endpoint.find("anthropic") != std::string::npos ? "messages" : "chat_completions";
    std::stable_partition(names.begin(), names.end(),
                          [&](const std::string& name) { return name == first; });
    return names;
  }

  void find_api() {
    for (const std::string& api : candidates()) {
      ChatClient client(with(api, kShortAnswerTokens), {}, hooks_);
      const ChatReply reply = ask(client, api, kQuestion);
      // A model that thinks has no text after so few tokens.
      if (reply.has_answer() || reply.outcome == chat_outcome::kEmpty) {
        profile_.api = api;
        profile_.outcome = reply.outcome;
        profile_.problem.clear();
        profile_.reports_usage = reply.completion_tokens.has_value();
        if (is_short(reply)) profile_.token_limit = client.token_limit();
        return;
      }
      if (profile_.problem.empty()) {
        profile_.outcome = reply.outcome;
        profile_.problem = reply.message;
      }
      const bool is_another_form =
          reply.outcome == chat_outcome::kRejected || reply.outcome == chat_outcome::kHtml ||
          reply.outcome == chat_outcome::kMalformed || reply.outcome == chat_outcome::kServerError;
      if (!is_another_form) return;
    }
  }

  static bool is_short(const ChatReply& reply) {
    constexpr size_t kMostBytesPerToken = 12;
    if (reply.completion_tokens) return *reply.completion_tokens <= 2 * kShortAnswerTokens;
    return reply.content.size() <= kMostBytesPerToken * kShortAnswerTokens;
  }

  void find_streaming() {
    ChatOptions options = with(profile_.api, kShortAnswerTokens);
    options.streaming = "on";
    ChatClient client(options, {}, hooks_);
    const ChatReply reply = ask(client, "streaming", kQuestion);
    profile_.streaming = reply.streamed && reply.has_answer();
    profile_.reports_usage_in_streams = profile_.streaming && reply.completion_tokens.has_value();
  }

  void find_structured() {
    for (const std::string& form : Dialects::instance().get(profile_.api, "api").entry.structured) {
      ChatOptions options = with(profile_.api, kStructuredAnswerTokens);
      options.structured = form;
      ChatClient client(options, {}, hooks_);
      const ChatReply reply = ask(
          client, form, form == structured::kObject ? kWeatherAsJson : kWeather, probe_schema());
      if (!reply.ok() || client.structured_form() != form || !keeps(form, reply.content)) continue;
      profile_.structured = form;
      return;
    }
  }

  // --- What the server says of itself -----------------------------------------------------------

  HttpReply look(const std::string& url) const {
    const Dialect& dialect = Dialects::instance().get(profile_.api, "api").entry;
    return http_send({.url = url,
                      .headers = dialect.headers(read_key(options_)),
                      .connect_timeout_seconds = std::min(kLookSeconds, options_.timeout_seconds),
                      .timeout_seconds = std::min(kLookSeconds, options_.timeout_seconds)});
  }

  static Json parsed(const HttpReply& http) {
    return http.status == 200 ? parse_foreign(http.body) : Json();
  }

  void look_at_server() {
    std::string endpoint = options_.endpoint;
    while (endpoint.ends_with('/')) endpoint.pop_back();
    const std::string root = url_root(endpoint);
    const HttpReply models = look(endpoint + "/models");
    const Json entry = model_entry(value_at(parsed(models), "data"));
    profile_.server = server_of(models, entry);
    for (const char* key : {"max_model_len", "context_length", "context_window",
                            "max_context_length", "max_input_tokens"}) {
      if (!profile_.context_tokens) profile_.context_tokens = count_at(entry, key);
    }
    // What a local server was started with counts, not what the model was trained for.
    const Json props = parsed(look(root + "/props"));
    if (const auto told = count_at(props, "default_generation_settings.n_ctx")) {
      profile_.server = "llama.cpp";
      profile_.context_tokens = told;
    }
    const Json loaded = value_at(parsed(look(root + "/api/ps")), "models");
    if (loaded.is_array()) {
      profile_.server = "Ollama";
      profile_.context_tokens.reset();
      for (const Json& model : loaded) {
        if (text_at(model, "name") != options_.model && text_at(model, "model") != options_.model) {
          continue;
        }
        profile_.context_tokens = count_at(model, "context_length");
      }
    }
  }

  Json model_entry(const Json& list) const {
    if (!list.is_array()) return nullptr;
    for (const Json& entry : list) {
      if (text_at(entry, "id") == options_.model) return entry;
    }
    // A local server of one model answers to any name.
    return list.size() == 1 ? list.front() : Json();
  }

  std::string server_of(const HttpReply& http, const Json& entry) const {
    const std::string owner = text_at(entry, "owned_by");
    const std::string header = http.header("server");
    if (owner == "llamacpp" || header.find("llama.cpp") != std::string::npos) return "llama.cpp";
    if (owner == "vllm") return "vLLM";
    if (options_.endpoint.find("openai.com") != std::string::npos) return "OpenAI";
    if (options_.endpoint.find("anthropic.com") != std::string::npos) return "Anthropic";
    return "unknown";
  }

  ChatOptions options_;
  ChatHooks hooks_;
  ProbeListener listener_;
  ModelProfile profile_;
};

}  // namespace

std::string profile_key(const ChatOptions& options) {
  return options.model + " at " + options.endpoint + " by " + options.api;
}

ModelProfile probe_model(const ChatOptions& options, const ChatHooks& hooks,
                         const ProbeListener& listener) {
  return Probe(options, hooks, listener).run();
}

}  // namespace windtunnel::agent
