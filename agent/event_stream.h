#pragma once
// Server-sent events, read from pieces of any size: a line, a character of several bytes or a line
// end may be torn anywhere.
//
// Source: WHATWG HTML, "Server-sent events". Differs: an event that the stream's end cuts off is
// handed on (its JSON shows whether it is whole), a bare line of JSON counts as data (Ollama), and
// a field `error` as an event of that name (older llama.cpp).

#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::agent {

struct StreamEvent {
  /// "" where the server names none.
  std::string name;
  std::string data;
};

class EventStream {
 public:
  /// A line longer than this is nobody's answer.
  static constexpr size_t kLongestLine = 1 << 20;

  /// The events that these bytes complete.
  std::vector<StreamEvent> add(std::string_view bytes);
  /// What the end of the stream completes.
  std::vector<StreamEvent> finish();
  /// A line was too long: nothing more will be read.
  bool overflowed() const { return overflowed_; }

 private:
  void end_line(std::vector<StreamEvent>& events);

  std::string line_;
  StreamEvent event_;
  bool has_data_ = false;
  bool after_return_ = false;
  bool is_first_line_ = true;
  bool overflowed_ = false;
};

}  // namespace windtunnel::agent
