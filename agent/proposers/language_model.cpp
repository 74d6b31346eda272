// A language model through the OpenAI chat API. Each turn is one question rebuilt from the record;
// an answer that cannot be used gets one repair turn that shows what is wrong with it. After that,
// and after any failure of the server, there is no proposal and the lineup turns to its rules.
//
// A model that failed is left alone for 1, 2, 4, at most 8 turns, so that a slow server does not
// cost its deadline each time; one that is out of money or rejects us is not asked again.

#include <algorithm>
#include <cstdlib>

#include "agent/chat_client.h"
#include "agent/http.h"
#include "agent/prompt.h"
#include "agent/proposer.h"
#include "base/text.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using study::Proposal;

struct LanguageModelOptions {
  ChatOptions chat;
  std::string endpoint_variable;
  std::string model_variable;
  int64_t max_prompt_bytes = 48'000;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    ChatOptions::describe(self.chat, visit);
    visit("endpoint_variable", self.endpoint_variable,
          {.help = "environment variable that replaces the endpoint; with neither set, the "
                   "proposer is off"});
    visit("model_variable", self.model_variable,
          {.help = "environment variable that replaces the model"});
    visit("max_prompt_bytes", self.max_prompt_bytes,
          {.help = "length of a question; old experiments are left out first",
           .unit = "bytes",
           .minimum = 4000});
  }
};

std::vector<base::Problem> option_problems(const Json& options) {
  std::vector<base::Problem> problems;
  const std::string endpoint = options.at("endpoint");
  if (endpoint.empty()) {
    if (options.at("endpoint_variable") == "") {
      problems.push_back({"endpoint", "\"\"", "must be given, or endpoint_variable"});
    }
  } else if (const std::string rule = url_problem(endpoint); !rule.empty()) {
    problems.push_back({"endpoint", Json(endpoint).dump(), rule});
  }
  if (options.at("model") == "" && options.at("model_variable") == "") {
    problems.push_back({"model", "\"\"", "must be given, or model_variable"});
  }
  return problems;
}

std::string from_environment(const std::string& variable, const std::string& otherwise) {
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value && *value ? value : otherwise;
}

class LanguageModel : public Proposer {
 public:
  LanguageModel(const LanguageModelOptions& options, ProposerServices services)
      : options_(options), services_(std::move(services)) {
    ChatOptions& chat = options_.chat;
    chat.endpoint = from_environment(options_.endpoint_variable, chat.endpoint);
    chat.model = from_environment(options_.model_variable, chat.model);
    if (chat.endpoint.empty() || chat.model.empty()) {
      const bool no_endpoint = chat.endpoint.empty();
      turn_off("the environment variable " +
               (no_endpoint ? options_.endpoint_variable : options_.model_variable) +
               " is not set");
      return;
    }
    client_.emplace(chat);
  }

  std::optional<Proposal> propose(const ProposalContext& context) override {
    if (!client_) return std::nullopt;
    if (turns_to_rest_ > 0) {
      --turns_to_rest_;
      return std::nullopt;
    }
    std::optional<Proposal> proposal = ask(context);
    failures_ = proposal ? 0 : failures_ + 1;
    turns_to_rest_ = proposal ? 0 : std::min(8, 1 << std::min(failures_ - 1, 3));
    return proposal;
  }

 private:
  std::optional<Proposal> ask(const ProposalContext& context) {
    const Json schema = answer_schema(context.program);
    std::vector<ChatMessage> messages =
        proposal_prompt(context, static_cast<size_t>(options_.max_prompt_bytes));
    const std::string experiment = std::to_string(context.history.size() + 1);
    for (const bool is_repair : {false, true}) {
      const ChatReply reply = client_->ask(messages, schema);
      const std::string purpose = (is_repair ? "repair of proposal " : "proposal ") + experiment;
      // An answer that was cut off may be complete all the same; its content decides.
      const bool has_answer = reply.ok() || reply.outcome == chat_outcome::kTruncated;
      if (!has_answer) {
        log(purpose, reply, reply.outcome, reply.message);
        const bool is_final =
            reply.outcome == chat_outcome::kOutOfMoney || reply.outcome == chat_outcome::kRejected;
        if (is_final) turn_off(reply.message);
        return std::nullopt;
      }
      auto read = read_answer(reply.content, context);
      if (auto* proposal = std::get_if<Proposal>(&read)) {
        log(purpose, reply, is_repair ? "repaired" : chat_outcome::kOk, "");
        return std::move(*proposal);
      }
      auto errors = std::get<std::vector<std::string>>(read);
      if (!reply.ok()) errors.insert(errors.begin(), reply.message + "; answer more briefly");
      log(purpose, reply, reply.ok() ? "unusable" : reply.outcome, base::join(errors, "; "));
      messages.push_back(
          {"assistant", reply.content.empty() ? "(no text)" : base::shorten(reply.content, 4000)});
      messages.push_back({"user", repair_prompt(errors)});
    }
    return std::nullopt;
  }

  void log(const std::string& purpose, const ChatReply& reply, const std::string& outcome,
           const std::string& message) const {
    services_.add_llm_call({.purpose = purpose,
                            .model = options_.chat.model,
                            .outcome = outcome,
                            .message = client_->redact(base::shorten(message, 1000)),
                            .prompt_tokens = reply.prompt_tokens,
                            .completion_tokens = reply.completion_tokens,
                            .seconds = reply.seconds,
                            .request = reply.request,
                            .reply = reply.reply});
  }

  void turn_off(const std::string& reason) {
    client_.reset();
    services_.add_event("language_model_off", reason);
  }

  LanguageModelOptions options_;
  ProposerServices services_;
  std::optional<ChatClient> client_;
  int failures_ = 0;
  int turns_to_rest_ = 0;
};

const base::Registration<ProposerKind> registration{
    {.name = "language_model",
     .summary = "a language model behind an OpenAI-compatible address, with one repair turn",
     .options = base::schema_of<LanguageModelOptions>(),
     .entry = {.make = [](const Json& options,
                          const ProposerServices& services) -> std::unique_ptr<Proposer> {
                 return std::make_unique<LanguageModel>(
                     base::from_json<LanguageModelOptions>(options, "language model"), services);
               },
               .problems = option_problems,
               .is_rule_based = false}}};

}  // namespace
}  // namespace windtunnel::agent
