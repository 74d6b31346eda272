#include "agent/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/text.h"

namespace windtunnel::agent {
namespace {

/// How often a transfer looks at its time-outs.
constexpr int kGlanceMilliseconds = 50;

struct Transfer {
  const HttpRequest& request;
  CURL* curl = nullptr;
  HttpReply reply = {};
  /// When the last piece came; 0 before the first.
  double last_piece = 0;
  bool has_enough = false;
};

size_t on_body(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  HttpReply& reply = transfer.reply;
  const std::string_view piece(bytes, size * count);
  transfer.last_piece = base::monotonic_seconds();
  if (reply.body.size() + piece.size() > transfer.request.max_reply_bytes) {
    reply.failure = HttpReply::Failure::kTooLarge;
    return 0;
  }
  reply.body.append(piece);
  long status = 0;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200 && transfer.request.on_piece) {
    transfer.has_enough = !transfer.request.on_piece(piece);
    if (transfer.has_enough) return 0;
  }
  return piece.size();
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

struct UrlParts {
  std::string scheme, host, port, user, password, query, fragment;
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
  return {part(CURLUPART_SCHEME),  part(CURLUPART_HOST),     part(CURLUPART_PORT),
          part(CURLUPART_USER),    part(CURLUPART_PASSWORD), part(CURLUPART_QUERY),
          part(CURLUPART_FRAGMENT)};
}

bool is_this_machine(const std::string& url) {
  const std::string host = parse_url(url).host;
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

void initialise_curl() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (done != CURLE_OK) throw base::Error("libcurl cannot start");
}

/// curl has one code for both time-outs; a server that never accepted is down, not slow.
HttpReply::Failure failure_of(CURLcode code, bool was_connected) {
  if (!was_connected) return HttpReply::Failure::kNoConnection;
  if (code == CURLE_OPERATION_TIMEDOUT) return HttpReply::Failure::kTimedOut;
  return HttpReply::Failure::kBroken;
}

/// Runs the transfer to its end, or to the moment when it stalls.
/// Errors: Interrupted if a stop was asked for.
CURLcode perform(CURLM* loop, Transfer& transfer) {
  curl_multi_add_handle(loop, transfer.curl);
  // A handle must leave its loop before either is freed.
  const std::unique_ptr<CURL, std::function<void(CURL*)>> added(
      transfer.curl, [loop](CURL* curl) { curl_multi_remove_handle(loop, curl); });
  const double idle_limit = transfer.request.idle_timeout_seconds;
  for (int running = 1;;) {
    if (curl_multi_perform(loop, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    if (running == 0) break;
    base::stop_if_interrupted();
    if (transfer.request.on_wait) transfer.request.on_wait();
    const bool is_idle =
        transfer.last_piece > 0 && base::monotonic_seconds() - transfer.last_piece > idle_limit;
    if (idle_limit > 0 && is_idle) {
      transfer.reply.failure = HttpReply::Failure::kStalled;
      return CURLE_OPERATION_TIMEDOUT;
    }
    curl_multi_poll(loop, nullptr, 0, kGlanceMilliseconds, nullptr);
  }
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(loop, &left);
  return message ? message->data.result : CURLE_FAILED_INIT;
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

std::string url_root(const std::string& url) {
  const UrlParts parts = parse_url(url);
  return parts.scheme + "://" + parts.host + (parts.port.empty() ? "" : ":" + parts.port);
}

HttpReply http_send(const HttpRequest& request) {
  initialise_curl();
  const std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> loop(curl_multi_init(),
                                                                   curl_multi_cleanup);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   curl_easy_cleanup);
  if (!handle || !loop) throw base::Error("libcurl cannot start a request");
  curl_slist* list = nullptr;
  // Without this curl waits a second for "100 Continue" from servers that never send it.
  list = curl_slist_append(list, "Expect:");
  for (const std::string& header : request.headers) list = curl_slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list,
                                                                            curl_slist_free_all);
  Transfer transfer{.request = request, .curl = handle.get()};
  const auto milliseconds = [](double seconds) {
    return static_cast<long>(std::max(1.0, seconds * 1000));
  };
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  if (!request.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  }
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "windtunnel");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  // A name that is still being resolved must not outlast the deadline.
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connect_timeout_seconds));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds(request.timeout_seconds));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  if (is_this_machine(request.url)) curl_easy_setopt(curl, CURLOPT_PROXY, "");

  const CURLcode code = perform(loop.get(), transfer);
  HttpReply& reply = transfer.reply;
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  reply.status = static_cast<int>(status);
  if (reply.failure == HttpReply::Failure::kTooLarge) {
    reply.message =
        "the reply is larger than " + std::to_string(request.max_reply_bytes) + " bytes";
  } else if (reply.failure == HttpReply::Failure::kStalled) {
    reply.message = "nothing came for " + base::format_duration(request.idle_timeout_seconds);
  } else if (code != CURLE_OK && !transfer.has_enough) {
    curl_off_t connected_us = 0;
    curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connected_us);
    reply.failure = failure_of(code, connected_us > 0);
    reply.message = curl_easy_strerror(code);
  }
  return std::move(reply);
}

}  // namespace windtunnel::agent
