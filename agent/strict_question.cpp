#include "agent/strict_question.h"

#include "agent/fenced.h"
#include "agent/known_profile.h"
#include "agent/prompt.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;

namespace {

std::vector<std::string> read(const std::string& content,
                              const std::function<std::vector<std::string>(const Json&)>& take) {
  const auto object = object_in(content);
  if (const auto* problem = std::get_if<std::string>(&object)) return {*problem};
  return take(std::get<Json>(object));
}

}  // namespace

std::string StrictModel::open() {
  if (client_) return "";
  const ModelProfile profile = profile_of(options_, services_);
  if (needs_profile(options_) && !profile.works()) return profile.problem;
  client_.emplace(options_, profile, services_.chat);
  return "";
}

StrictAnswer StrictModel::ask(const std::string& purpose, std::vector<ChatMessage> messages,
                              const Json& schema,
                              const std::function<std::vector<std::string>(const Json&)>& take) {
  StrictAnswer answer;
  if (const std::string problem = open(); !problem.empty()) {
    return {.outcome = chat_outcome::kDown, .message = problem};
  }
  for (const bool is_repair : {false, true}) {
    const ChatReply reply = client_->ask(messages, schema);
    const std::string words = (is_repair ? "repair of " : "") + purpose;
    // An answer that was cut off may be complete all the same; its content decides.
    if (!reply.has_answer()) {
      log(words, reply, reply.outcome, reply.message);
      return {reply.outcome, reply.message};
    }
    std::vector<std::string> errors = read(reply.content, take);
    if (errors.empty()) {
      const std::string outcome = is_repair ? "repaired" : chat_outcome::kOk;
      log(words, reply, outcome, "");
      return {.outcome = outcome, .message = "", .is_taken = true};
    }
    if (!reply.ok()) errors.insert(errors.begin(), reply.message + "; answer more briefly");
    answer = {.outcome = "unusable", .message = base::join(errors, "; "), .is_unusable = true};
    log(words, reply, reply.ok() ? answer.outcome : reply.outcome, answer.message);
    add_repair_turn(messages, reply.content, errors);
  }
  return answer;
}

void StrictModel::log(const std::string& purpose, const ChatReply& reply,
                      const std::string& outcome, const std::string& message) const {
  services_.add_llm_call(call_record(purpose, options_.model, reply, outcome, message));
}

}  // namespace windtunnel::agent
