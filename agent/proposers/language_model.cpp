// A language model behind an address (chat_client.h). Each turn is one question rebuilt from the
// record; an answer that cannot be used gets one repair turn that shows what is wrong with it.
// After that, and after any failure of the server, there is no proposal and the lineup turns to its
// rules.
//
// A model that failed is left alone for 1, 2, 4, at most 8 turns, so that a slow server does not
// cost its deadline each time. One that is overloaded, or limits our rate, is left alone for as
// long as it asks: the rules propose meanwhile, or the night waits (`on_overload`). One that is out
// of money, or rejects us, is not asked again.

#include <algorithm>
#include <chrono>
#include <thread>

#include "agent/answer.h"
#include "agent/chat_address.h"
#include "agent/chat_client.h"
#include "agent/http.h"
#include "agent/known_profile.h"
#include "agent/prompt.h"
#include "agent/proposer.h"
#include "agent/token_estimate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/secrets.h"
#include "base/text.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using study::Proposal;

// A busy server that does not say for how long.
constexpr double kLeastPauseSeconds = 30;
// Of the room for question and answers, what the question may take: the rest is for a repair turn.
constexpr double kQuestionShare = 0.75;

struct LanguageModelOptions {
  ChatAddress address;
  int64_t prompt_tokens = 16'000;
  std::string on_overload = "rules";
  double max_pause_seconds = 3600;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    ChatAddress::describe(self.address, visit);
    visit("prompt_tokens", self.prompt_tokens,
          {.help = "length of a question by an estimate that never falls short; less where the "
                   "model's context is smaller; what is worth least is left out first",
           .unit = "tokens",
           .minimum = 1000});
    visit("on_overload", self.on_overload,
          {.help = "while the server asks to be left alone: rules propose, or the night waits",
           .choices = {"rules", "wait"}});
    visit("max_pause_seconds", self.max_pause_seconds,
          {.help = "longest pause for an overloaded server in one turn",
           .unit = "seconds",
           .minimum = 0});
  }
};

bool is_busy(const std::string& outcome) {
  return outcome == chat_outcome::kOverloaded || outcome == chat_outcome::kRateLimited;
}

/// Nothing that a later turn could change.
bool is_final(const std::string& outcome) {
  return outcome == chat_outcome::kOutOfMoney || outcome == chat_outcome::kRejected ||
         outcome == chat_outcome::kNoBudget;
}

class LanguageModel : public Proposer {
 public:
  LanguageModel(const LanguageModelOptions& options, ProposerServices services)
      : options_(options), services_(std::move(services)) {
    if (const std::string variable = options_.address.missing(); !variable.empty()) {
      turn_off("the environment variable " + variable + " is not set");
      return;
    }
    chat_ = options_.address.resolved();
    read_key(chat_);
  }

  std::optional<Proposal> propose(const ProposalContext& context) override {
    if (is_off_ || base::monotonic_seconds() < paused_until_) return std::nullopt;
    if (turns_to_rest_ > 0) {
      --turns_to_rest_;
      return std::nullopt;
    }
    if (paused_until_ > 0) {
      services_.add_event("language_model_resumed", "the language model is asked again");
      paused_until_ = 0;
    }
    double pause_left = options_.max_pause_seconds;
    std::optional<Proposal> proposal;
    for (;;) {
      proposal = open() ? ask(context) : std::nullopt;
      if (proposal || !busy_seconds_ || !wait_out(pause_left)) break;
    }
    if (proposal) {
      failures_ = 0;
    } else if (paused_until_ == 0) {
      ++failures_;
      turns_to_rest_ = std::min(8, 1 << std::min(failures_ - 1, 3));
    }
    return proposal;
  }

 private:
  // --- The server -------------------------------------------------------------------------------

  /// Makes the client, at first with what is known about the model, or what a probe finds.
  bool open() {
    busy_seconds_.reset();
    if (client_) return true;
    const ModelProfile profile = profile_of(chat_, services_);
    if (needs_profile(chat_) && !profile.works()) {
      if (is_final(profile.outcome)) turn_off(profile.problem);
      if (is_busy(profile.outcome)) note_busy(profile.outcome, kLeastPauseSeconds);
      return false;
    }
    if (profile.context_tokens) limit_context(*profile.context_tokens);
    client_.emplace(chat_, profile, services_.chat);
    return true;
  }

  void limit_context(int64_t tokens) {
    context_tokens_ = std::min(context_tokens_.value_or(tokens), tokens);
    // At least half of the context is for the question.
    chat_.max_completion_tokens =
        std::max<int64_t>(16, std::min(chat_.max_completion_tokens, tokens / 2));
    if (client_) client_->limit_completion(chat_.max_completion_tokens);
  }

  int64_t most_prompt_tokens() const {
    if (!context_tokens_) return options_.prompt_tokens;
    const auto room = static_cast<double>(*context_tokens_ - chat_.max_completion_tokens);
    return std::min(options_.prompt_tokens, static_cast<int64_t>(kQuestionShare * room));
  }

  // --- Being left alone -------------------------------------------------------------------------

  void note_busy(const std::string& outcome, double asked_seconds) {
    busy_seconds_ =
        std::min(options_.max_pause_seconds, std::max(kLeastPauseSeconds, asked_seconds));
    const std::string length = base::format_duration(*busy_seconds_);
    const bool waits = options_.on_overload == "wait";
    services_.add_event("language_model_" + outcome,
                        waits ? "the night waits " + length + " for the language model"
                              : "the rules propose for " + length);
    if (!waits) paused_until_ = base::monotonic_seconds() + *busy_seconds_;
  }

  /// Waits as long as the server asked, if the night is to wait and may do so for that long.
  bool wait_out(double& pause_left) {
    if (options_.on_overload != "wait" || *busy_seconds_ > pause_left) return false;
    pause_left -= *busy_seconds_;
    const double start = base::monotonic_seconds();
    for (double passed = 0; passed < *busy_seconds_; passed = base::monotonic_seconds() - start) {
      base::stop_if_interrupted();
      services_.chat.on_wait({.what = "busy language model, the night waits",
                              .seconds_so_far = passed,
                              .limit_seconds = *busy_seconds_});
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::min(0.1, *busy_seconds_ - passed)));
    }
    return true;
  }

  // --- One turn ---------------------------------------------------------------------------------

  std::optional<Proposal> ask(const ProposalContext& context) {
    const std::string experiment = std::to_string(context.history.size() + 1);
    auto messages = proposal_prompt(context, most_prompt_tokens());
    if (!messages) return too_small();
    ChatReply reply = put(*messages, context, "proposal " + experiment);
    if (reply.outcome == chat_outcome::kTooLong) {
      // Once more, within what the server says, or half of what it refused.
      limit_context(reply.context_tokens.value_or(tokens_of(*messages) / 2));
      messages = proposal_prompt(context, most_prompt_tokens());
      if (!messages) return too_small();
      reply = put(*messages, context, "shorter proposal " + experiment);
    }
    if (!errors_) return take_proposal();
    add_repair_turn(*messages, reply.content, *errors_);
    put(*messages, context, "repair of proposal " + experiment);
    return take_proposal();
  }

  /// Puts one question; leaves a proposal, or the errors of an answer that may be repaired, or
  /// neither.
  ChatReply put(const std::vector<ChatMessage>& messages, const ProposalContext& context,
                const std::string& purpose) {
    proposal_.reset();
    const bool is_repair = errors_.has_value();
    errors_.reset();
    const ChatReply reply =
        client_->ask(messages, answer_schema(context.program, true, to_reflect_on(context)));
    if (!reply.has_answer()) {
      log(purpose, reply, reply.outcome, reply.message);
      if (is_busy(reply.outcome)) note_busy(reply.outcome, reply.retry_after_seconds.value_or(0));
      if (is_final(reply.outcome)) turn_off(reply.message);
      return reply;
    }
    if (reply.prompt_was_cut) note_cut(reply, messages);
    auto read = read_answer(reply.content, context);
    if (auto* found = std::get_if<Answer>(&read)) {
      log(purpose, reply, is_repair ? "repaired" : chat_outcome::kOk, "");
      proposal_ = std::move(found->proposal);
      const study::Experiment* last = to_reflect_on(context);
      if (last && found->reflection) services_.reflect(last->number, *found->reflection);
      return reply;
    }
    // An answer that was cut off may be complete all the same; its content has decided.
    auto errors = std::get<std::vector<std::string>>(read);
    if (!reply.ok()) errors.insert(errors.begin(), reply.message + "; answer more briefly");
    log(purpose, reply, reply.ok() ? "unusable" : reply.outcome, base::join(errors, "; "));
    if (!is_repair) errors_ = std::move(errors);
    return reply;
  }

  std::optional<Proposal> take_proposal() {
    errors_.reset();
    return std::exchange(proposal_, std::nullopt);
  }

  static int64_t tokens_of(const std::vector<ChatMessage>& messages) {
    int64_t tokens = 0;
    for (const ChatMessage& message : messages) tokens += most_tokens(message.content);
    return tokens;
  }

  std::nullopt_t too_small() {
    turn_off(
        "a question does not fit: it may have " + std::to_string(most_prompt_tokens()) +
        " tokens by prompt_tokens and the model's context; list fewer mutable paths, or take a "
        "model with a larger context");
    return std::nullopt;
  }

  /// Servers that cut a question without a word drop its beginning, the rules.
  void note_cut(const ChatReply& reply, const std::vector<ChatMessage>& messages) {
    if (std::exchange(noted_cut_, true)) return;
    services_.add_event("language_model_cut_the_question",
                        "the server read " + std::to_string(*reply.prompt_tokens) +
                            " tokens of a question of some " + std::to_string(tokens_of(messages)) +
                            "; questions are shorter from now on; raise the server's context");
    limit_context(*reply.prompt_tokens + chat_.max_completion_tokens);
  }

  void log(const std::string& purpose, const ChatReply& reply, const std::string& outcome,
           const std::string& message) const {
    services_.add_llm_call(call_record(purpose, chat_.model, reply, outcome, message));
  }

  void turn_off(const std::string& reason) {
    is_off_ = true;
    services_.add_event("language_model_off", reason);
  }

  LanguageModelOptions options_;
  ChatOptions chat_;
  ProposerServices services_;
  std::optional<ChatClient> client_;
  bool is_off_ = false;
  std::optional<int64_t> context_tokens_;
  bool noted_cut_ = false;
  int failures_ = 0;
  int turns_to_rest_ = 0;
  /// Monotonic; 0 while it is not left alone.
  double paused_until_ = 0;
  /// Of the last question: how long the server asks to be left alone.
  std::optional<double> busy_seconds_;
  /// What the last question brought.
  std::optional<Proposal> proposal_;
  std::optional<std::vector<std::string>> errors_;
};

const base::Registration<ProposerKind> registration{
    {.name = "language_model",
     .summary = "a language model behind an address, in any dialect, with one repair turn",
     .options = base::schema_of<LanguageModelOptions>(),
     .entry = {
         .make = [](const Json& options,
                    const ProposerServices& services) -> std::unique_ptr<Proposer> {
           return std::make_unique<LanguageModel>(
               base::from_json<LanguageModelOptions>(options, "language model"), services);
         },
         .problems =
             [](const Json& options) {
               return base::from_trusted_json<LanguageModelOptions>(options).address.problems();
             },
         .is_rule_based = false}}};

}  // namespace
}  // namespace windtunnel::agent
