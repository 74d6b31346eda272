#pragma once
// One HTTP request with time-outs. The only file that uses libcurl is http.cpp.

#include <map>
#include <string>
#include <vector>

namespace windtunnel::agent {

struct HttpRequest {
  std::string url;
  /// "Name: value".
  std::vector<std::string> headers = {};
  std::string body = {};
  double connect_timeout_seconds = 5;
  /// From start to the last byte.
  double timeout_seconds = 60;
  size_t max_reply_bytes = 16 << 20;
};

struct HttpReply {
  enum class Failure { kNone, kNoConnection, kTimedOut, kTooLarge };
  Failure failure = Failure::kNone;
  /// One sentence about the failure.
  std::string message;
  /// Valid without a failure.
  int status = 0;
  /// Names in lower case; the last of several wins.
  std::map<std::string, std::string> headers;
  std::string body;

  std::string header(const std::string& name) const;
};

/// POST. Redirects are not followed, so that a key in the headers stays with its server; a proxy
/// from the environment is used, but never for an address of this machine.
/// Errors: Interrupted within a second if a stop was asked for.
HttpReply http_post(const HttpRequest& request);

/// "" if `url` is an http or https address without user name and password, else the rule it breaks.
std::string url_problem(const std::string& url);

}  // namespace windtunnel::agent
