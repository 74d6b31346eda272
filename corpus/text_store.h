#pragma once
// Extracted text on disk, between extraction and packing: a folder per source with `texts`, the
// documents one after the other, and `index.jsonl`, a line for each.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/mapped_file.h"

namespace windtunnel::corpus {

/// Writes one source's folder; it appears under its name only when it is complete.
class TextWriter {
 public:
  explicit TextWriter(const std::filesystem::path& folder);

  /// `file` is where the text came from. Errors: Error naming the folder if it cannot be written.
  void add(std::string_view text, const std::string& file);
  int64_t bytes() const { return bytes_; }
  void finish();

 private:
  void require_written() const;

  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  std::ofstream texts_;
  std::ofstream index_;
  int64_t bytes_ = 0;
};

struct Document {
  /// Lies in the mapped file of its TextStore.
  std::string_view text;
  /// SHA-256 of the text it was extracted as: pieces of one long text share it.
  std::string hash;
  std::string file;
  /// Index of the source in the recipe.
  size_t source = 0;
};

/// The documents of several sources in order, each text once. Long ones are cut at paragraphs.
class TextStore {
 public:
  explicit TextStore(const std::vector<std::filesystem::path>& folders);

  const std::vector<Document>& documents() const { return documents_; }
  int64_t duplicates() const { return duplicates_; }

 private:
  std::vector<MappedFile> files_;
  std::vector<Document> documents_;
  int64_t duplicates_ = 0;
};

/// Parts of at most `limit` bytes that make up the text, each cut behind the last blank line that
/// fits, else behind the last line end, else between two characters.
std::vector<std::string_view> cut_at_paragraphs(std::string_view text, size_t limit);

}  // namespace windtunnel::corpus
