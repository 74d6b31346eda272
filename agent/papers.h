#pragma once
// A folder of abstracts or papers, as a literature tournament reads it.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace windtunnel::agent {

struct Paper {
  /// What a citation names: the id of arXiv metadata, the key of a BibTeX entry, a text file's name
  /// without its extension.
  std::string key;
  std::string title;
  /// The abstract, or the paper's whole text; may be empty, since bibliographies often have none.
  std::string text;
};

struct PaperFolder {
  /// By key.
  std::vector<Paper> papers;
  /// Files of other kinds, which nobody read.
  std::vector<std::filesystem::path> ignored;

  /// Of keys, titles and texts.
  std::string fingerprint() const;
};

/// Reads every file of a folder and those below it: `.txt` and `.md` are one paper each, whose
/// first line is the title; `.bib` is BibTeX; `.jsonl` and `.json` are lines of arXiv metadata with
/// `id`, `title` and `abstract`.
///
/// Cost:    the whole text in memory.
/// Errors:  Error if the folder is absent, a file cannot be read or parsed (with its line), a key
/// is there twice, or there is no paper.
PaperFolder read_papers(const std::filesystem::path& folder);

/// `subject` names the text in errors.
std::vector<Paper> parse_bibtex(std::string_view text, const std::string& subject);
std::vector<Paper> parse_metadata_lines(std::string_view text, const std::string& subject);
Paper parse_text_paper(std::string_view text, const std::string& key, const std::string& subject);

}  // namespace windtunnel::agent
