#include "scaling/event_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/files.h"

namespace windtunnel::scaling {
namespace {

namespace fs = std::filesystem;

template <class Number>
Number read_number(std::string_view bytes, size_t at) {
  Number value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

/// A field of a protocol buffer: its number, and a number or bytes by its wire type.
struct Field {
  uint64_t number = 0;
  uint64_t wire = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

/// Goes through the fields of one message; ends at its end or where it makes no sense.
class Fields {
 public:
  explicit Fields(std::string_view message) : message_(message) {}

  std::optional<Field> next() {
    uint64_t key = 0;
    if (at_ >= message_.size() || !varint(key)) return std::nullopt;
    Field field{.number = key >> 3, .wire = key & 7};
    switch (field.wire) {
      case 0:
        if (!varint(field.value)) return std::nullopt;
        return field;
      case 1:
        return fixed(field, 8);
      case 2: {
        uint64_t length = 0;
        if (!varint(length) || length > message_.size() - at_) return std::nullopt;
        field.bytes = message_.substr(at_, length);
        at_ += length;
        return field;
      }
      case 5:
        return fixed(field, 4);
      default:
        return std::nullopt;
    }
  }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && at_ < message_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  std::optional<Field> fixed(Field field, size_t length) {
    if (length > message_.size() - at_) return std::nullopt;
    field.bytes = message_.substr(at_, length);
    at_ += length;
    return field;
  }

  std::string_view message_;
  size_t at_ = 0;
};

/// A scalar stored as a tensor: float_val, double_val, or raw bytes.
std::optional<double> tensor_value(std::string_view message) {
  constexpr uint64_t kFloat = 1, kDouble = 2;
  uint64_t type = kFloat;
  std::optional<double> value;
  Fields fields(message);
  while (const auto field = fields.next()) {
    if (field->number == 1 && field->wire == 0) type = field->value;
    const bool raw = field->number == 4, single = field->number == 5, twice = field->number == 6;
    if (!(raw || single || twice)) continue;
    const size_t size = field->bytes.size();
    if ((twice || (raw && type == kDouble)) && size == 8) {
      value = read_number<double>(field->bytes, 0);
    } else if ((single || (raw && type == kFloat)) && size == 4) {
      value = static_cast<double>(read_number<float>(field->bytes, 0));
    }
  }
  return value;
}

void read_event(std::string_view event, EventRun& run, std::map<std::string, int64_t>& step_of) {
  int64_t step = 0;
  std::vector<std::string_view> summaries;
  Fields fields(event);
  while (const auto field = fields.next()) {
    if (field->number == 2 && field->wire == 0) step = static_cast<int64_t>(field->value);
    if (field->number == 5 && field->wire == 2) summaries.push_back(field->bytes);
  }
  for (const std::string_view summary : summaries) {
    Fields values(summary);
    while (const auto value = values.next()) {
      if (value->number != 1 || value->wire != 2) continue;
      std::string tag;
      std::optional<double> number;
      Fields parts(value->bytes);
      while (const auto part = parts.next()) {
        if (part->number == 1 && part->wire == 2) tag = part->bytes;
        if (part->number == 2 && part->wire == 5) {
          number = static_cast<double>(read_number<float>(part->bytes, 0));
        }
        if (part->number == 8 && part->wire == 2) number = tensor_value(part->bytes);
      }
      if (!number || tag.empty()) continue;
      const auto known = step_of.find(tag);
      if (known != step_of.end() && known->second > step) continue;
      step_of[tag] = step;
      run.last[tag] = *number;
      run.last_step = std::max(run.last_step, step);
    }
  }
}

void read_event_file(const fs::path& file, EventRun& run, std::map<std::string, int64_t>& steps) {
  static_assert(std::endian::native == std::endian::little, "records are little-endian");
  const std::string content = base::read_file(file);
  const std::string_view bytes = content;
  for (size_t at = 0; at + 12 <= bytes.size();) {
    const auto length = read_number<uint64_t>(bytes, at);
    const bool length_holds =
        masked_crc32c(bytes.substr(at, 8)) == read_number<uint32_t>(bytes, at + 8);
    if (length_holds && length + 4 > bytes.size() - at - 12) return;
    if (!length_holds || masked_crc32c(bytes.substr(at + 12, length)) !=
                             read_number<uint32_t>(bytes, at + 12 + length)) {
      throw base::Error(file.string() + ", byte " + std::to_string(at) +
                        ": the checksum of the record is wrong; the file is damaged");
    }
    read_event(bytes.substr(at + 12, length), run, steps);
    at += 12 + length + 4;
  }
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0u);
      made[i] = value;
    }
    return made;
  }();
  uint32_t value = 0xffffffffu;
  for (const char byte : bytes) {
    value = (value >> 8) ^ table[(value ^ static_cast<unsigned char>(byte)) & 0xffu];
  }
  return value ^ 0xffffffffu;
}

uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

std::vector<EventRun> read_event_runs(const fs::path& folder) {
  std::map<fs::path, std::vector<fs::path>> folders;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
    folders[entry.path().parent_path()].push_back(entry.path());
  }
  if (folders.empty()) {
    throw base::Error(folder.string() +
                      " holds no event files (names with 'tfevents'), at any depth");
  }
  std::vector<EventRun> runs;
  for (auto& [place, files] : folders) {
    std::sort(files.begin(), files.end());
    EventRun run;
    run.name = place == folder ? fs::absolute(folder).lexically_normal().filename().string()
                               : place.lexically_relative(folder).generic_string();
    std::map<std::string, int64_t> steps;
    for (const fs::path& file : files) read_event_file(file, run, steps);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace windtunnel::scaling
