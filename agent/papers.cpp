#include "agent/papers.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"
#include "base/text.h"

namespace windtunnel::agent {
namespace fs = std::filesystem;

using base::Error;
using base::Json;

namespace {

/// On one line, single spaces.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    const bool is_space = letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r';
    if (!is_space) {
      line += letter;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return std::string(base::trim(line));
}

std::string text_field(const Json& object, const char* name, const std::string& place) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string() ||
      base::trim(found->get_ref<const std::string&>()).empty()) {
    throw Error(place + ": '" + name + "' must be a string that is not empty");
  }
  return one_line(found->get<std::string>());
}

std::vector<Paper> parse_file(const fs::path& file, const std::string& extension) {
  const std::string text = base::read_file(file);
  if (extension == ".bib") return parse_bibtex(text, file.string());
  if (extension == ".jsonl" || extension == ".json") {
    return parse_metadata_lines(text, file.string());
  }
  return {parse_text_paper(text, file.stem().string(), file.string())};
}

}  // namespace

std::string PaperFolder::fingerprint() const {
  Json all = Json::array();
  for (const Paper& paper : papers) all.push_back({paper.key, paper.title, paper.text});
  return base::sha256(all.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<Paper> parse_metadata_lines(std::string_view text, const std::string& subject) {
  std::vector<Paper> papers;
  int number = 0;
  for (const std::string& line : base::split(text, '\n')) {
    ++number;
    if (base::trim(line).empty()) continue;
    const std::string place = subject + " line " + std::to_string(number);
    const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) {
      throw Error(place + ": is no JSON object; each line is one, with id, title and abstract");
    }
    papers.push_back({text_field(object, "id", place), text_field(object, "title", place),
                      text_field(object, "abstract", place)});
  }
  return papers;
}

Paper parse_text_paper(std::string_view text, const std::string& key, const std::string& subject) {
  text = base::trim(text);
  if (text.empty()) throw Error(subject + ": is empty; its first line is a paper's title");
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view title = text.substr(0, end);
  while (title.starts_with("#")) title.remove_prefix(1);
  return {key, one_line(title), one_line(text.substr(end))};
}

PaperFolder read_papers(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw Error("folder of papers " + folder.string() + " does not exist");
  }
  PaperFolder result;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::map<std::string, fs::path> file_of;
  for (const fs::path& file : files) {
    const std::string extension = file.extension().string();
    const std::vector<std::string> known = {".txt", ".md", ".bib", ".jsonl", ".json"};
    if (std::find(known.begin(), known.end(), extension) == known.end()) {
      result.ignored.push_back(file);
      continue;
    }
    for (Paper& paper : parse_file(file, extension)) {
      const auto [there, is_new] = file_of.emplace(paper.key, file);
      if (!is_new) {
        throw Error("paper '" + paper.key + "' is in " + there->second.string() + " and in " +
                    file.string() + ": a citation must name one paper; remove or rename one");
      }
      result.papers.push_back(std::move(paper));
    }
  }
  if (result.papers.empty()) {
    throw Error("folder " + folder.string() +
                " holds no papers: it needs .txt or .md (one paper each), .bib (BibTeX) or .jsonl "
                "(arXiv metadata); text of a PDF comes from `pdftotext`");
  }
  std::sort(result.papers.begin(), result.papers.end(),
            [](const Paper& a, const Paper& b) { return a.key < b.key; });
  return result;
}

}  // namespace windtunnel::agent
