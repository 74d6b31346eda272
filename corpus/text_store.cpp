#include "corpus/text_store.h"

#include <unordered_set>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/json.h"
#include "base/text.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
using base::Json;
namespace {

/// Longer documents are cut, so that the held-out bytes do not hang on a few of them.
constexpr size_t kLongestDocumentBytes = 64 << 10;

}  // namespace

TextWriter::TextWriter(const fs::path& folder)
    : folder_(folder), temporary_(base::temporary_name(folder)) {
  fs::remove_all(temporary_);
  fs::create_directories(temporary_);
  texts_.open(temporary_ / "texts", std::ios::binary);
  index_.open(temporary_ / "index.jsonl", std::ios::binary);
}

void TextWriter::add(std::string_view text, const std::string& file) {
  const Json line = {{"bytes", text.size()}, {"sha256", base::sha256(text)}, {"file", file}};
  texts_.write(text.data(), static_cast<std::streamsize>(text.size()));
  index_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  require_written();
  bytes_ += static_cast<int64_t>(text.size());
}

void TextWriter::require_written() const {
  if (texts_ && index_) return;
  throw base::Error("cannot write the extracted text to " + temporary_.string() + " (" +
                    base::format_count(static_cast<double>(base::free_bytes(folder_))) +
                    "B free); free some space and run the same command again");
}

void TextWriter::finish() {
  texts_.close();
  index_.close();
  require_written();
  base::sync_folder(temporary_);
  base::replace_folder(temporary_, folder_);
}

TextStore::TextStore(const std::vector<fs::path>& folders) {
  std::unordered_set<std::string> seen;
  for (size_t source = 0; source < folders.size(); ++source) {
    const MappedFile& file = files_.emplace_back(folders[source] / "texts");
    const std::string index = base::read_file(folders[source] / "index.jsonl");
    size_t at = 0;
    for (const std::string& line : base::split(index, '\n')) {
      if (line.empty()) continue;
      const Json entry = base::parse_json(line, (folders[source] / "index.jsonl").string());
      const std::string_view text = file.bytes().substr(at, entry.at("bytes").get<size_t>());
      at += text.size();
      if (text.empty()) continue;
      const auto hash = entry.at("sha256").get<std::string>();
      if (!seen.insert(hash).second) {
        ++duplicates_;
        continue;
      }
      for (const std::string_view part : cut_at_paragraphs(text, kLongestDocumentBytes)) {
        documents_.push_back({part, hash, entry.at("file"), source});
      }
    }
  }
}

std::vector<std::string_view> cut_at_paragraphs(std::string_view text, size_t limit) {
  std::vector<std::string_view> parts;
  while (text.size() > limit) {
    size_t end = limit;
    const std::string_view head = text.substr(0, limit);
    if (const size_t blank = head.rfind("\n\n"); blank != head.npos) {
      end = blank + 2;
    } else if (const size_t line = head.rfind('\n'); line != head.npos) {
      end = line + 1;
    } else {
      // Not inside a UTF-8 character; bytes that are none are cut anywhere.
      size_t back = 0;
      while (back < 3 && (static_cast<uint8_t>(text[end - back]) & 0xC0) == 0x80) ++back;
      if ((static_cast<uint8_t>(text[end - back]) & 0xC0) == 0xC0) end -= back;
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (!text.empty()) parts.push_back(text);
  return parts;
}

}  // namespace windtunnel::corpus
