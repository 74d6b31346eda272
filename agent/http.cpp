#include "agent/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/text.h"

namespace windtunnel::agent {
namespace {

struct Transfer {
  HttpReply reply;
  size_t limit = 0;
  bool interrupted = false;
};

size_t on_body(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.reply.body.size() + size * count > transfer.limit) {
    transfer.reply.failure = HttpReply::Failure::kTooLarge;
    return 0;
  }
  transfer.reply.body.append(bytes, size * count);
  return size * count;
}

size_t on_header(char* bytes, size_t size, size_t count, void* user) {
  const std::string_view line(bytes, size * count);
  const size_t colon = line.find(':');
  auto& headers = static_cast<Transfer*>(user)->reply.headers;
  if (line.starts_with("HTTP/")) headers.clear();  // an interim reply's, e.g. 100
  if (colon != std::string_view::npos && headers.size() < 200) {
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    headers[name] = std::string(base::trim(line.substr(colon + 1)));
  }
  return size * count;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.interrupted = base::interrupt_requested();
  return transfer.interrupted ? 1 : 0;
}

struct UrlParts {
  std::string scheme, host, user, password, query, fragment;
};

/// Errors: Error if it is no address.
UrlParts parse_url(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> handle(curl_url(), curl_url_cleanup);
  if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) !=
      CURLUE_OK) {
    throw base::Error("not an address");
  }
  const auto part = [&](CURLUPart what) {
    char* text = nullptr;
    if (curl_url_get(handle.get(), what, &text, 0) != CURLUE_OK) return std::string();
    std::string result = text;
    curl_free(text);
    return result;
  };
  return {part(CURLUPART_SCHEME),   part(CURLUPART_HOST),  part(CURLUPART_USER),
          part(CURLUPART_PASSWORD), part(CURLUPART_QUERY), part(CURLUPART_FRAGMENT)};
}

bool is_this_machine(const std::string& url) {
  const std::string host = parse_url(url).host;
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

void initialise_curl() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (done != CURLE_OK) throw base::Error("libcurl cannot start");
}

}  // namespace

std::string HttpReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string url_problem(const std::string& url) {
  const std::string rule = "must be an address like http://127.0.0.1:8080/v1";
  if (!url.starts_with("http://") && !url.starts_with("https://")) return rule;
  try {
    const UrlParts parts = parse_url(url);
    if (parts.host.empty()) return rule;
    if (!parts.user.empty() || !parts.password.empty()) {
      return "must not hold a user name or password; put the key into an environment variable";
    }
    if (!parts.query.empty() || !parts.fragment.empty()) return rule + ", without ? and #";
  } catch (const base::Error&) {
    return rule;
  }
  return "";
}

HttpReply http_post(const HttpRequest& request) {
  initialise_curl();
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   curl_easy_cleanup);
  if (!handle) throw base::Error("libcurl cannot start a request");
  curl_slist* list = nullptr;
  // Without this curl waits a second for "100 Continue" from servers that never send it.
  list = curl_slist_append(list, "Expect:");
  for (const std::string& header : request.headers) list = curl_slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list,
                                                                            curl_slist_free_all);
  Transfer transfer;
  transfer.limit = request.max_reply_bytes;
  const auto milliseconds = [](double seconds) {
    return static_cast<long>(std::max(1.0, seconds * 1000));
  };
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "windtunnel");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connect_timeout_seconds));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds(request.timeout_seconds));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  if (is_this_machine(request.url)) curl_easy_setopt(curl, CURLOPT_PROXY, "");

  const CURLcode code = curl_easy_perform(curl);
  if (transfer.interrupted) throw base::Interrupted();
  HttpReply& reply = transfer.reply;
  if (reply.failure == HttpReply::Failure::kTooLarge) {
    reply.message =
        "the reply is larger than " + std::to_string(request.max_reply_bytes) + " bytes";
    return std::move(reply);
  }
  if (code != CURLE_OK) {
    curl_off_t connected_us = 0;
    curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connected_us);
    // curl has one code for both time-outs; a server that never accepted is down, not slow.
    const bool is_slow = code == CURLE_OPERATION_TIMEDOUT && connected_us > 0;
    reply.failure = is_slow ? HttpReply::Failure::kTimedOut : HttpReply::Failure::kNoConnection;
    reply.message = curl_easy_strerror(code);
    return std::move(reply);
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  reply.status = static_cast<int>(status);
  return std::move(reply);
}

}  // namespace windtunnel::agent
