#include "agent/event_stream.h"

#include <utility>

namespace windtunnel::agent {

std::vector<StreamEvent> EventStream::add(std::string_view bytes) {
  std::vector<StreamEvent> events;
  for (const char byte : bytes) {
    if (overflowed_) break;
    const bool completes_return = after_return_ && byte == '\n';
    after_return_ = byte == '\r';
    if (completes_return) continue;
    if (byte == '\n' || byte == '\r') {
      end_line(events);
    } else {
      line_ += byte;
      overflowed_ = line_.size() + event_.data.size() > kLongestLine;
    }
  }
  return events;
}

std::vector<StreamEvent> EventStream::finish() {
  std::vector<StreamEvent> events;
  if (overflowed_) return events;
  if (!line_.empty()) end_line(events);
  end_line(events);
  return events;
}

void EventStream::end_line(std::vector<StreamEvent>& events) {
  std::string line = std::exchange(line_, {});
  if (std::exchange(is_first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  if (line.empty()) {
    if (has_data_) events.push_back(std::move(event_));
    event_ = {};
    has_data_ = false;
    return;
  }
  if (line.starts_with(':')) return;
  if (line.starts_with('{')) line.insert(0, "data: ");
  const size_t colon = line.find(':');
  const std::string field = line.substr(0, colon);
  std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.erase(0, 1);
  if (field == "event") {
    event_.name = value;
  } else if (field == "data" || field == "error") {
    if (field == "error") event_.name = "error";
    event_.data += (has_data_ ? "\n" : "") + value;
    has_data_ = true;
  }
}

}  // namespace windtunnel::agent
