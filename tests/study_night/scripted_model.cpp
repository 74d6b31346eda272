#include "tests/study_night/scripted_model.h"

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "base/text.h"

namespace windtunnel::tests {
namespace {

using base::Json;

/// One more than the newest experiment among the rows of the record.
int64_t experiment_asked_for(const std::string& question) {
  int64_t newest = 0;
  for (const std::string& line : base::split(question, '\n')) {
    if (!line.starts_with("{")) continue;
    const Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (row.is_object()) newest = std::max(newest, row.value("experiment", int64_t{0}));
  }
  return newest + 1;
}

std::string proposal(const Json& patch, double change) {
  return Json{{"patch", patch},
              {"hypothesis", "The model is far from converged and learns faster this way."},
              {"prediction",
               {{"delta_bits_per_byte", change},
                {"interval_low", change - 0.2},
                {"interval_high", change + 0.2},
                {"probability_kept", 0.4}}},
              {"diagnostic", "Training loss over the last tenth."}}
      .dump();
}

/// The key as it came, as an address and as base64 have it.
std::string quotes_of(const std::string& authorization) {
  const std::string key = authorization.substr(authorization.find(' ') + 1);
  return "You came with " + authorization + ", " + httplib::detail::encode_query_param(key) +
         " or " + httplib::make_basic_authentication_header("user", key).second;
}

std::string answer_for(int64_t experiment, bool is_repair, const std::string& authorization) {
  switch (experiment) {
    case 2:
      return proposal({{"train.optimizer.learning_rate", 0.03}}, -0.2);
    case 3:
      if (!is_repair) return quotes_of(authorization) + "; I would try another optimizer.";
      return proposal({{"train.optimizer.matrices", "adamw"}}, 0.1);
    case 4:
      if (!is_repair) return proposal({{"train.optimizer.learning_rate", 0.03}}, -0.1);
      return proposal({{"model.layers.E.num_experts", 8}}, 0.0);
    default:
      return "```json\n" + proposal({{"train.optimizer.weight_decay", 0.3}}, 0.0) + "\n```\n";
  }
}

}  // namespace

ScriptedModel::ScriptedModel() {
  server_.Post("/v1/chat/completions",
               [this](const httplib::Request& request, httplib::Response& response) {
                 answer(request, response);
               });
  port_ = server_.bind_to_any_port("127.0.0.1");
  thread_ = std::thread([this] { server_.listen_after_bind(); });
  while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

ScriptedModel::~ScriptedModel() {
  release();
  server_.stop();
  thread_.join();
}

std::string ScriptedModel::endpoint() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/v1";
}

void ScriptedModel::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void ScriptedModel::release() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  released_.notify_all();
}

bool ScriptedModel::is_asked() {
  const std::lock_guard lock(mutex_);
  return open_questions_ > 0;
}

std::string ScriptedModel::authorization() {
  const std::lock_guard lock(mutex_);
  return authorization_;
}

void ScriptedModel::answer(const httplib::Request& request, httplib::Response& response) {
  const std::string authorization = request.get_header_value("Authorization");
  {
    std::unique_lock lock(mutex_);
    authorization_ = authorization;
    ++open_questions_;
    released_.wait(lock, [this] { return !held_; });
    --open_questions_;
  }
  // System, question; after an unusable answer also that answer and what was wrong with it.
  const Json messages = Json::parse(request.body).at("messages");
  const int64_t experiment = experiment_asked_for(messages.at(1).at("content"));
  const std::string text = answer_for(experiment, messages.size() > 2, authorization);
  const Json message = {{"role", "assistant"}, {"content", text}};
  const Json reply = {
      {"choices", {{{"message", message}, {"finish_reason", "stop"}}}},
      {"usage", {{"prompt_tokens", request.body.size() / 4}, {"completion_tokens", 90}}}};
  response.set_content(reply.dump(), "application/json");
}

}  // namespace windtunnel::tests
