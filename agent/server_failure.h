#pragma once
// What it means when a server does not answer the question: by status, headers and the words of its
// error, whether that came as a status or inside a reply that began with 200.

#include <optional>
#include <string>

#include "agent/http.h"
#include "base/json.h"

namespace windtunnel::agent {

struct ServerFailure {
  /// One of chat_outcome.
  std::string outcome;
  /// One sentence, without line ends and keys.
  std::string message;
  /// Asking again may help; how soon is another matter.
  bool may_retry = false;
  /// The model's context, where the error tells it.
  std::optional<int64_t> context_tokens;
};

/// The transport failed.
ServerFailure failure_of_transport(const HttpReply& http);

/// A status other than 200, or an error inside a 200. `body` is the parsed reply, discarded or null
/// if it is no JSON.
ServerFailure failure_of_reply(const HttpReply& http, const base::Json& body);

/// The server's words about an error, in any of the forms in use: {"error": {"message"}},
/// {"error": "text"}, {"message"}, {"detail"}, plain text.
std::string complaint_of(const base::Json& body, const std::string& text);

}  // namespace windtunnel::agent
