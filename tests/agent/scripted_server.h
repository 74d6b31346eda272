#pragma once
// A server of language models that follows a script, one step per question whatever the dialect;
// the last step repeats. What it says of itself ("/v1/models", "/props", "/api/ps") is given by
// `facts`.

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/json.h"

namespace windtunnel::agent::testing {

class ScriptedServer {
 public:
  using Step = std::function<void(const httplib::Request&, httplib::Response&)>;

  explicit ScriptedServer(std::vector<Step> steps,
                          const std::map<std::string, base::Json>& facts = {})
      : steps_(std::move(steps)) {
    for (const char* path : {"/v1/chat/completions", "/v1/responses", "/v1/messages"}) {
      server_.Post(path, [this](const httplib::Request& request, httplib::Response& response) {
        size_t number = 0;
        {
          const std::lock_guard lock(mutex_);
          number = requests_.size();
          requests_.push_back(base::Json::parse(request.body));
          paths_.push_back(request.path);
          headers_ = request.headers;
        }
        steps_[std::min(number, steps_.size() - 1)](request, response);
      });
    }
    for (const auto& [path, fact] : facts) {
      server_.Get(path, [fact = fact.dump()](const httplib::Request&, httplib::Response& response) {
        response.set_content(fact, "application/json");
      });
    }
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~ScriptedServer() {
    server_.stop();
    thread_.join();
  }

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  std::vector<base::Json> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::vector<std::string> paths() {
    const std::lock_guard lock(mutex_);
    return paths_;
  }
  /// Of the last question.
  std::string header(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = headers_.find(name);
    return found == headers_.end() ? "" : found->second;
  }
  std::string authorization() { return header("Authorization"); }

 private:
  std::vector<Step> steps_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<base::Json> requests_;
  std::vector<std::string> paths_;
  httplib::Headers headers_;
};

inline ScriptedServer::Step answer(const std::string& content,
                                   const std::string& finish_reason = "stop") {
  return [=](const httplib::Request&, httplib::Response& response) {
    const base::Json reply = {
        {"choices",
         {{{"index", 0},
           {"finish_reason", finish_reason},
           {"message", {{"role", "assistant"}, {"content", content}}}}}},
        {"usage", {{"prompt_tokens", 120}, {"completion_tokens", 40}, {"total_tokens", 160}}}};
    response.set_content(reply.dump(), "application/json");
  };
}

inline ScriptedServer::Step raw(const std::string& body,
                                const std::string& type = "application/json") {
  return [=](const httplib::Request&, httplib::Response& response) {
    response.set_content(body, type);
  };
}

/// A stream of server-sent events that holds exactly these bytes.
inline ScriptedServer::Step stream(const std::string& bytes) {
  return raw(bytes, "text/event-stream");
}

inline ScriptedServer::Step status(int code, const std::string& body,
                                   const httplib::Headers& headers = {}) {
  return [=](const httplib::Request&, httplib::Response& response) {
    response.status = code;
    response.set_content(body, "application/json");
    for (const auto& [name, value] : headers) response.set_header(name, value);
  };
}

inline ScriptedServer::Step slow(std::chrono::milliseconds delay) {
  return [=](const httplib::Request& request, httplib::Response& response) {
    std::this_thread::sleep_for(delay);
    answer("late")(request, response);
  };
}

}  // namespace windtunnel::agent::testing
