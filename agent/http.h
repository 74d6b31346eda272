#pragma once
// One HTTP request with time-outs. The only file that uses libcurl is http.cpp.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::agent {

struct HttpRequest {
  std::string url;
  /// "Name: value".
  std::vector<std::string> headers = {};
  /// A request without one is a GET.
  std::string body = {};
  double connect_timeout_seconds = 5;
  /// From start to the last byte.
  double timeout_seconds = 60;
  /// Longest pause between two pieces of the reply, once it has begun; 0: no limit.
  double idle_timeout_seconds = 0;
  size_t max_reply_bytes = 16 << 20;
  /// Gets each piece of the body of a reply with status 200 as it comes; false ends the transfer,
  /// which then counts as complete.
  std::function<bool(std::string_view piece)> on_piece = {};
  /// Called several times a second while the reply is waited for.
  std::function<void()> on_wait = {};
};

struct HttpReply {
  enum class Failure {
    kNone,
    /// The server was not reached.
    kNoConnection,
    kTimedOut,
    /// Nothing came for idle_timeout_seconds.
    kStalled,
    /// The connection ended in the middle.
    kBroken,
    kTooLarge
  };
  Failure failure = Failure::kNone;
  /// One sentence about the failure.
  std::string message;
  /// 0 if the reply did not begin.
  int status = 0;
  /// Names in lower case; the last of several wins.
  std::map<std::string, std::string> headers;
  /// What came of it, also with a failure.
  std::string body;

  std::string header(const std::string& name) const;
};

/// POST or GET. Redirects are not followed, so that a key in the headers stays with its server; a
/// proxy from the environment is used, but never for an address of this machine.
///
/// Cost:    returns within a tenth of a second after its time-outs.
/// Errors:  Interrupted within a tenth of a second if a stop was asked for.
HttpReply http_send(const HttpRequest& request);

/// "" if `url` is an http or https address without user name and password, else the rule it breaks.
std::string url_problem(const std::string& url);

/// "https://host:port" of an address that has no problem.
std::string url_root(const std::string& url);

}  // namespace windtunnel::agent
