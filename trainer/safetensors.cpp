#include "trainer/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace windtunnel::trainer {

using base::Error;
using base::Json;

namespace {

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr const char* kMetadata = "__metadata__";

/// Bits of one value, or nullopt if the format has no such dtype. Formats with less than a byte a
/// value are not read.
std::optional<int64_t> bytes_per_value(std::string_view dtype) {
  static const std::map<std::string_view, int64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2},
      {"U16", 2},  {"F16", 2}, {"BF16", 2}, {"I32", 4},     {"U32", 4},     {"F32", 4},
      {"I64", 8},  {"U64", 8}, {"F64", 8},  {"C64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

/// Parses the header and refuses a key that occurs twice in one object, which nlohmann::json would
/// resolve in silence.
Json parse_header(std::string_view text, const std::string& subject) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    throw Error(subject + ": the header is not JSON: " + base::shorten(error.what(), 200));
  }
  if (!twice.empty()) throw Error(subject + ": the header has the key '" + twice + "' twice");
  if (!header.is_object()) throw Error(subject + ": the header must be a JSON object");
  return header;
}

void check_metadata(const Json& metadata, const std::string& subject) {
  const bool only_strings =
      metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                          [](const Json& value) { return value.is_string(); });
  if (!only_strings) throw Error(subject + ": __metadata__ must map strings to strings");
}

/// A size or offset: a JSON integer >= 0 that fits int64.
int64_t count_of(const Json& value, const std::string& what) {
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<int64_t>() < 0)) {
    throw Error(what + " is " + base::shorten(value.dump(), 60) + ": must be an integer >= 0");
  }
  const auto number = value.get<uint64_t>();
  if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    throw Error(what + " is " + value.dump() + ": too large");
  }
  return static_cast<int64_t>(number);
}

struct Entry {
  TensorBytes tensor;
  int64_t begin = 0;
  int64_t end = 0;
};

Entry parse_entry(const std::string& name, const Json& fields, int64_t data_bytes,
                  const std::string& subject) {
  const std::string what = subject + ": tensor '" + base::shorten(name, 100) + "'";
  if (!fields.is_object() || fields.size() != 3 || !fields.contains("dtype") ||
      !fields.contains("shape") || !fields.contains("data_offsets")) {
    throw Error(what + " must have exactly dtype, shape and data_offsets");
  }
  const Json& dtype = fields["dtype"];
  const auto value_bytes =
      dtype.is_string() ? bytes_per_value(dtype.get<std::string>()) : std::optional<int64_t>{};
  if (!value_bytes) {
    throw Error(what + " has the unknown dtype " + base::shorten(dtype.dump(), 40));
  }
  Entry entry{
      .tensor = {.name = name, .dtype = dtype.get<std::string>(), .shape = {}, .bytes = {}}};
  int64_t bytes = *value_bytes;
  if (!fields["shape"].is_array()) throw Error(what + ": shape must be an array");
  for (const Json& size : fields["shape"]) {
    const int64_t count = count_of(size, what + ": a size in shape");
    entry.tensor.shape.push_back(count);
    if (__builtin_mul_overflow(bytes, count, &bytes)) {
      throw Error(what + ": the shape " + fields["shape"].dump() + " overflows 64 bits");
    }
  }
  const Json& offsets = fields["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    throw Error(what + ": data_offsets must be two integers");
  }
  entry.begin = count_of(offsets[0], what + ": data_offsets[0]");
  entry.end = count_of(offsets[1], what + ": data_offsets[1]");
  if (entry.begin > entry.end || entry.end > data_bytes) {
    throw Error(what + " lies at " + offsets.dump() + ", but the file holds " +
                std::to_string(data_bytes) + " bytes of values");
  }
  if (entry.end - entry.begin != bytes) {
    throw Error(what + " has " + std::to_string(entry.end - entry.begin) +
                " bytes, but its dtype and shape need " + std::to_string(bytes));
  }
  return entry;
}

/// The header, and the values after it.
struct Parts {
  Json header;
  std::string_view data;
};

Parts parts_of(std::string_view content, const std::string& subject) {
  uint64_t header_bytes = 0;
  if (content.size() < sizeof header_bytes) {
    throw Error(subject + ": " + std::to_string(content.size()) +
                " bytes are too few for a safetensors file");
  }
  std::memcpy(&header_bytes, content.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeaderBytes) {
    throw Error(subject + ": the header claims " + std::to_string(header_bytes) +
                " bytes, more than the format's limit of " + std::to_string(kMaxHeaderBytes));
  }
  if (header_bytes > content.size() - sizeof header_bytes) {
    throw Error(subject + ": the header claims " + std::to_string(header_bytes) +
                " bytes, but the file has " + std::to_string(content.size()) + " in all");
  }
  const std::string_view text = content.substr(sizeof header_bytes, header_bytes);
  if (text.empty() || text.front() != '{')
    throw Error(subject + ": the header must start with '{'");
  Parts parts{parse_header(text, subject), content.substr(sizeof header_bytes + header_bytes)};
  if (parts.header.contains(kMetadata)) check_metadata(parts.header[kMetadata], subject);
  return parts;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, const std::vector<TensorBytes>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  size_t offset = 0;
  for (const TensorBytes& tensor : tensors) {
    base::check(!header.contains(tensor.name), "two tensors of one name");
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // values start at a multiple of 8
  const uint64_t size = text.size();

  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "wb"),
                                                               &std::fclose);
  bool good = stream != nullptr && std::fwrite(&size, sizeof size, 1, stream.get()) == 1 &&
              std::fwrite(text.data(), text.size(), 1, stream.get()) == 1;
  for (const TensorBytes& tensor : tensors) {
    good = good && (tensor.bytes.empty() ||
                    std::fwrite(tensor.bytes.data(), tensor.bytes.size(), 1, stream.get()) == 1);
  }
  good = good && std::fflush(stream.get()) == 0;
  if (!good) base::throw_file_error("write", file, errno);
}

std::vector<TensorBytes> parse_safetensors(std::string_view content, const std::string& subject) {
  const auto [header, data] = parts_of(content, subject);
  std::vector<Entry> entries;
  for (const auto& [name, fields] : header.items()) {
    if (name == kMetadata) continue;
    entries.push_back(parse_entry(name, fields, static_cast<int64_t>(data.size()), subject));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  int64_t reached = 0;
  std::vector<TensorBytes> tensors;
  for (Entry& entry : entries) {
    if (entry.begin != reached) {
      throw Error(subject + ": tensor '" + base::shorten(entry.tensor.name, 100) + "' starts at " +
                  std::to_string(entry.begin) + ", but the one before ends at " +
                  std::to_string(reached) + ": no overlap and no hole is allowed");
    }
    reached = entry.end;
    const std::string_view bytes =
        data.substr(static_cast<size_t>(entry.begin), static_cast<size_t>(entry.end - entry.begin));
    entry.tensor.bytes = std::as_bytes(std::span(bytes.data(), bytes.size()));
    tensors.push_back(std::move(entry.tensor));
  }
  if (reached != static_cast<int64_t>(data.size())) {
    throw Error(subject + ": " + std::to_string(static_cast<int64_t>(data.size()) - reached) +
                " bytes after the last tensor belong to none");
  }
  return tensors;
}

std::map<std::string, std::string> parse_metadata(std::string_view content,
                                                  const std::string& subject) {
  return parts_of(content, subject).header.value(kMetadata, std::map<std::string, std::string>());
}

}  // namespace windtunnel::trainer
