#include <algorithm>
#include <map>
#include <memory>

#include "agent/proposer.h"
#include "agent/veto.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "corpus/extractor.h"
#include "model/layer_kind.h"
#include "model/router_kind.h"
#include "scaling/law.h"
#include "study/journal.h"
#include "study/objective_kind.h"

namespace windtunnel::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

template <class Registry>
Rows kinds() {
  Rows rows{{"name", "summary", "source"}};
  for (const auto& kind : Registry::instance().kinds()) {
    rows.push_back({kind.name, kind.summary, kind.source});
  }
  return rows;
}

Rows layers() {
  Rows rows{{"letter", "name", "summary", "source"}};
  for (const auto& kind : model::LayerKinds::instance().kinds()) {
    rows.push_back({std::string(1, kind.entry.letter), kind.name, kind.summary, kind.source});
  }
  return rows;
}

Rows files(const std::filesystem::path& folder, const std::string& extension) {
  Rows rows{{"name", "file"}};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto& path = entry.path();
    if (path.extension() == extension && path.filename() != "README.md") {
      rows.push_back({path.stem().string(), path.string()});
    }
  }
  std::sort(rows.begin() + 1, rows.end());
  return rows;
}

Rows studies() {
  Rows rows{{"study", "experiments", "runs"}};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(home() / "logs", error)) {
    if (!std::filesystem::exists(entry.path() / "journal.db")) continue;
    const study::Journal journal(entry.path() / "journal.db", /*read_only=*/true);
    rows.push_back({entry.path().filename().string(), std::to_string(journal.experiments().size()),
                    std::to_string(journal.runs().size())});
  }
  std::sort(rows.begin() + 1, rows.end());
  return rows;
}

Rows runs(const std::string& study) {
  Rows rows{{"run", "purpose", "seed", "outcome", "bits per byte", "steps"}};
  for (const auto& run : study::Journal(find_study(study) / "journal.db", true).runs()) {
    rows.push_back({run.id, run.purpose, std::to_string(run.seed), run.state, "-", "-"});
    if (!run.record) continue;
    std::vector<std::string>& row = rows.back();
    row[3] = run.record->train.outcome;
    if (const auto bits = run.record->bits_per_byte()) row[4] = base::format_number(*bits, 5);
    if (run.record->train.steps) row[5] = std::to_string(*run.record->train.steps);
  }
  return rows;
}

struct Options {
  std::string what;
  std::string study;
  bool json = false;
};

Rows rows_of(const Options& options) {
  const std::map<std::string, std::function<Rows()>> lists = {
      {"commands", kinds<Commands>},
      {"corpora", [] { return files(home() / "programs" / "corpora", ".yaml"); }},
      {"extractors", kinds<corpus::ExtractorRegistry>},
      {"laws", kinds<scaling::Laws>},
      {"layers", layers},
      {"objectives", kinds<study::ObjectiveKinds>},
      {"presets", [] { return files(presets(), ".json"); }},
      {"programs", [] { return files(home() / "programs", ".md"); }},
      {"proposers", kinds<agent::ProposerKinds>},
      {"routers", kinds<model::RouterKinds>},
      {"runs", [&] { return runs(options.study); }},
      {"studies", studies},
      {"vetoes", kinds<agent::Vetoes>}};
  const auto found = lists.find(options.what);
  if (found != lists.end()) return found->second();
  std::vector<std::string> names;
  for (const auto& [name, list] : lists) names.push_back(name);
  throw base::UsageError("list '" + options.what +
                         "' does not exist; lists: " + base::join(names, ", "));
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "what", options->what,
         "layers, routers, objectives, laws, proposers, vetoes, extractors, programs, presets, "
         "corpora, studies, runs STUDY, commands")
      ->required();
  app.add_option("study", options->study, "for runs: the study");
  add_json_flag(app, options->json);
  return [options] {
    const Rows rows = rows_of(*options);
    if (!options->json) {
      print(base::format_table(rows));
      return base::kExitDone;
    }
    base::Json array = base::Json::array();
    for (size_t r = 1; r < rows.size(); ++r) {
      base::Json object;
      for (size_t c = 0; c < rows[r].size(); ++c) object[rows[0][c]] = rows[r][c];
      array.push_back(object);
    }
    print(array);
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "list",
     .summary = "what there is: kinds of everything, programs, presets, studies, runs",
     .entry = {.group = "Looking", .example = "windtunnel list layers", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli
