#pragma once
// An OpenAI-compatible server that follows a script, one step per request; the last step repeats.

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/json.h"

namespace windtunnel::agent::testing {

class ScriptedServer {
 public:
  using Step = std::function<void(const httplib::Request&, httplib::Response&)>;

  explicit ScriptedServer(std::vector<Step> steps) : steps_(std::move(steps)) {
    server_.Post("/v1/chat/completions",
                 [this](const httplib::Request& request, httplib::Response& response) {
                   size_t number = 0;
                   {
                     const std::lock_guard lock(mutex_);
                     number = requests_.size();
                     requests_.push_back(base::Json::parse(request.body));
                     authorization_ = request.get_header_value("Authorization");
                   }
                   steps_[std::min(number, steps_.size() - 1)](request, response);
                 });
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
  std::string authorization() {
    const std::lock_guard lock(mutex_);
    return authorization_;
  }

 private:
  std::vector<Step> steps_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<base::Json> requests_;
  std::string authorization_;
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
