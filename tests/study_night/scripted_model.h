#pragma once
// A language model behind an OpenAI-compatible address whose answers depend on nothing but the
// number of the experiment that is asked for and whether the question is a repair. So a study that
// was interrupted gets the answers it would have got.
//
//   experiment 1   belongs to the program's queue
//              2   a larger learning rate
//              3   prose that quotes the key in several forms, then another optimizer
//              4   what is the incumbent's already, then more experts
//              5   more weight decay, in a fenced block

#include <httplib.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace windtunnel::tests {

class ScriptedModel {
 public:
  ScriptedModel();
  ~ScriptedModel();

  /// "http://127.0.0.1:PORT/v1".
  std::string endpoint() const;

  /// From now on questions stay open until release().
  void hold();
  void release();
  /// Whether somebody waits for an answer.
  bool is_asked();

  /// The Authorization header of the last question.
  std::string authorization();

 private:
  void answer(const httplib::Request& request, httplib::Response& response);

  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable released_;
  bool held_ = false;
  int open_questions_ = 0;
  std::string authorization_;
};

}  // namespace windtunnel::tests
