#pragma once
// A server of language models that breaks in one chosen way, down to the bytes on its socket: what
// an orderly HTTP server cannot be made to do.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/json.h"

namespace windtunnel::agent::testing {

/// One connection, one request.
class Exchange {
 public:
  Exchange(int socket, std::string asked_path, bool asked_stream, int number)
      : path(std::move(asked_path)), stream(asked_stream), attempt(number), socket_(socket) {}

  /// "/v1/chat/completions".
  const std::string path;
  /// The client asked for a stream.
  const bool stream;
  /// From 1, since the fault was set.
  const int attempt;

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  /// False as soon as the client is gone.
  bool pause(int milliseconds) const {
    pollfd waiting{.fd = socket_, .events = POLLIN | POLLRDHUP, .revents = 0};
    return ::poll(&waiting, 1, milliseconds) == 0;
  }
  /// A whole reply, after which the connection is closed.
  void reply(int status, const std::string& body, const std::string& headers = "",
             const std::string& type = "application/json") const {
    send("HTTP/1.1 " + std::to_string(status) + " X\r\nConnection: close\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
  }
  /// The head of a stream without an announced end.
  void begin_stream() const {
    send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n");
  }
  void chunk(const std::string& bytes) const {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    send(size + bytes + "\r\n");
  }

 private:
  int socket_;
};

class FaultyServer {
 public:
  using Fault = std::function<void(const Exchange&)>;

  FaultyServer() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::getsockname(listener_, any, &size) != 0 ||
        ::listen(listener_, 64) != 0) {
      throw std::runtime_error("the faulty server has no port to listen on");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FaultyServer() {
    stopped_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  void set(Fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
    attempts_ = 0;
  }

 private:
  void serve() {
    while (!stopped_) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) continue;
      answer(socket);
      ::close(socket);
    }
  }

  void answer(int socket) {
    std::string request;
    char bytes[65536];
    size_t expected = std::string::npos;
    while (request.size() < expected) {
      const ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
      if (count <= 0) return;
      request.append(bytes, static_cast<size_t>(count));
      const size_t end = request.find("\r\n\r\n");
      if (end == std::string::npos || expected != std::string::npos) continue;
      const size_t length = request.find("Content-Length: ");
      expected = end + 4 + (length < end ? std::stoul(request.substr(length + 16)) : 0);
    }
    Fault fault;
    int attempt = 0;
    {
      const std::lock_guard lock(mutex_);
      fault = fault_;
      attempt = ++attempts_;
    }
    const size_t path = request.find(' ') + 1;
    fault(Exchange(socket, request.substr(path, request.find(' ', path) - path),
                   request.find("\"stream\":true") != std::string::npos, attempt));
  }

  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  Fault fault_ = [](const Exchange&) {};
  int attempts_ = 0;
};

}  // namespace windtunnel::agent::testing
