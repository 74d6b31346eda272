// What the folders promise each other, checked on the text of the sources.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/layer_kind.h"
#include "study/objective_kind.h"
#include "tests/structure/readme.h"
#include "tests/structure/sources.h"

namespace windtunnel::structure {
namespace {

const std::vector<std::string> kTorchHeaders = {"torch/", "ATen/", "c10/", "caffe2/"};

// Folder -> what it may include besides itself. cli/torch is windtunnel-train, the rest of cli is
// the control program, which starts fast because it never sees LibTorch.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {}},
    {"corpus", {"base"}},
    {"kernels", {"base"}},
    {"model", {"base", "kernels"}},
    {"study", {"base", "corpus", "model"}},
    {"evaluation", {"base", "corpus", "kernels", "model", "study"}},
    {"trainer", {"base", "corpus", "kernels", "model", "study", "evaluation"}},
    {"scaling", {"base", "model", "study"}},
    {"agent", {"base", "corpus", "model", "study", "scaling"}},
    {"report", {"base", "study", "scaling"}},
    {"cli", {"base", "corpus", "model", "study", "scaling", "agent", "report"}},
    {"cli/torch", {"base", "cli", "corpus", "kernels", "model", "study", "evaluation", "trainer"}}};

std::string rule_of(const Source& source) {
  return source.path.starts_with("cli/torch/") ? "cli/torch" : source.folder();
}

TEST(Structure, AFolderIncludesOnlyThoseAboveIt) {
  const auto& order = product_folders();
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const auto& other : allowed) {
      EXPECT_LE(std::find(order.begin(), order.end(), other),
                std::find(order.begin(), order.end(), folder.substr(0, folder.find('/'))))
          << other << " does not come before " << folder;
    }
  }
  for (const auto& source : product_sources()) {
    const auto& allowed = kMayInclude.at(rule_of(source));
    for (const auto& include : source.project_includes) {
      const auto other = include.substr(0, include.find('/'));
      EXPECT_TRUE(other == source.folder() || allowed.contains(other))
          << source.path << " includes " << include << ", which " << rule_of(source)
          << " may not include";
      EXPECT_NE(find_source(include), nullptr)
          << source.path << " includes " << include << ", which is not there";
    }
  }
}

// Follows includes, so a torch-free file cannot reach LibTorch through a header either.
void expect_no_torch(const Source& source, const std::string& chain, std::set<std::string>& seen) {
  if (!seen.insert(source.path).second) return;
  for (const auto& include : source.system_includes) {
    EXPECT_FALSE(starts_with_any(include, kTorchHeaders))
        << chain << " reaches the LibTorch header " << include;
  }
  for (const auto& include : source.project_includes) {
    if (const auto* next = find_source(include)) {
      expect_no_torch(*next, chain + " -> " + include, seen);
    }
  }
}

TEST(Structure, TheControlProgramNeverReachesLibTorch) {
  const std::vector<std::string> torch_free = {
      "base/",  "corpus/", "model/kinds/",        "study/", "scaling/",
      "agent/", "report/", "model/router_kinds/", "cli/"};
  std::set<std::string> seen;
  for (const auto& source : product_sources()) {
    if (!starts_with_any(source.path, torch_free) || source.path.starts_with("cli/torch/")) {
      continue;
    }
    expect_no_torch(source, source.path, seen);
  }
}

TEST(Structure, EachLibraryHasItsPlace) {
  struct Place {
    std::vector<std::string> headers;
    std::vector<std::string> allowed;
  };
  const std::vector<Place> places = {
      {kTorchHeaders,
       {"kernels/", "model/", "trainer/", "evaluation/", "cli/torch/", "tests/kernels/",
        "tests/model/", "tests/trainer/", "tests/evaluation/"}},
      {{"ceres/"}, {"scaling/fit.cpp"}},
      {{"curl/"}, {"agent/http.cpp"}},
      {{"nlopt"}, {"agent/proposers/local_search.cpp"}},
      {{"sqlite3.h"}, {"study/journal_database.h", "tests/"}},
      {{"pcre2.h"}, {"corpus/"}},
      {{"zlib.h", "zstd.h"}, {"corpus/", "tests/corpus/"}},
      {{"cmark-gfm"}, {"report/"}},
      {{"valijson/"}, {"base/"}},
      {{"openssl/"}, {"base/", "corpus/tokenizer_json.cpp"}},
      {{"yaml-cpp/"}, {"agent/", "corpus/", "cli/"}},
      {{"CLI/"}, {"cli/"}},
      {{"httplib.h"}, {"tests/"}}};
  auto sources = product_sources();
  sources.insert(sources.end(), test_sources().begin(), test_sources().end());
  for (const auto& source : sources) {
    for (const auto& include : source.system_includes) {
      for (const auto& place : places) {
        EXPECT_TRUE(!starts_with_any(include, place.headers) ||
                    starts_with_any(source.path, place.allowed))
            << source.path << " includes <" << include << ">, which belongs in "
            << base::join(place.allowed, ", ");
      }
      EXPECT_NE(include, "torch/torch.h")
          << source.path << ": include only what is used; all of LibTorch costs 19 s a file";
    }
  }
}

// A compiler cache hands what is precompiled to other clones, whose headers are other files: the
// project's own would be defined twice.
TEST(Structure, PrecompiledHeadersHoldNoneOfTheProject) {
  static const std::regex own("#include \"([^\"]+)\"");
  for (const char* path : {"base/common_headers.h", "kernels/torch_headers.h"}) {
    const auto* source = find_source(path);
    ASSERT_NE(source, nullptr) << path;
    const std::sregex_iterator end;
    for (std::sregex_iterator found(source->text.begin(), source->text.end(), own); found != end;
         ++found) {
      EXPECT_EQ((*found)[1], "base/common_headers.h") << path;
    }
  }
}

TEST(Structure, NoProductFileHas600Lines) {
  for (const auto& source : product_sources()) {
    const auto lines = std::count(source.text.begin(), source.text.end(), '\n');
    EXPECT_LT(lines, 600) << source.path;
  }
}

TEST(Structure, EveryFolderHasAReadmeOfAtMost40Lines) {
  auto folders = product_folders();
  folders.insert(folders.end(), {"programs", "logs", "tests"});
  for (const auto& folder : folders) {
    const auto file = root() / folder / "README.md";
    if (!std::filesystem::exists(file)) {
      ADD_FAILURE() << folder << "/README.md is not there";
      continue;
    }
    const auto text = base::read_file(file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << folder << "/README.md";
  }
}

// One file adds one kind. A source that registers nothing is shared by the kinds and has a header.
// What reads a tensor's value on the host makes a GPU wait. A step does not: values are read by CPU
// code, for health and curves between steps, and where a result leaves the program.
TEST(Structure, ValuesOfTensorsAreReadOnTheHostOnlyInNamedPlaces) {
  const std::vector<std::string> allowed = {
      "kernels/rotary_norm.cpp",     // the fast path, which is the CPU's
      "kernels/top_k_routing.cpp",   // likewise
      "model/layers/experts.cpp",    // router_health()
      "model/router.cpp",            // likewise
      "model/routers/sigmoid.cpp",   // likewise
      "trainer/gradient_norms.cpp",  // clipping where the norm is on the CPU; points of the curve
      "trainer/train_run.cpp",       // points of the curve
      "trainer/batch_gradients.cpp",
      "trainer/tensor_files.cpp",
      "trainer/weights_folder.cpp",
      "trainer/safetensors.cpp",
      "evaluation/",
      "cli/torch/"};
  static const std::regex reads(
      R"(\.item<|\.item\(|\.cpu\(|to\((torch|at)::kCPU|nonzero|masked_select|\.tolist\()");
  for (const auto& source : product_sources()) {
    const std::string folder = source.folder();
    if (folder != "kernels" && folder != "model" && folder != "trainer" && folder != "evaluation") {
      continue;
    }
    if (starts_with_any(source.path, allowed)) continue;
    EXPECT_FALSE(std::regex_search(source.text, reads))
        << source.path << " reads a tensor's value: within a step that makes a GPU wait";
  }
}

TEST(Structure, EveryFileOfAKindsFolderRegistersExactlyOneKind) {
  const std::regex registration("\nconst base::Registration<");
  std::map<std::string, std::vector<std::pair<std::string, long>>> folders;
  for (const auto& source : product_sources()) {
    if (!source.path.ends_with(".cpp")) continue;
    const auto count = std::distance(
        std::sregex_iterator(source.text.begin(), source.text.end(), registration), {});
    folders[source.path.substr(0, source.path.rfind('/'))].emplace_back(source.path, count);
  }
  std::set<std::string> kinds_folders;
  for (const auto& [folder, files] : folders) {
    const bool of_kinds =
        std::any_of(files.begin(), files.end(), [](const auto& file) { return file.second > 0; });
    if (!of_kinds) continue;
    kinds_folders.insert(folder);
    for (const auto& [path, count] : files) {
      if (path.ends_with("/main.cpp")) continue;
      const bool shared = find_source(path.substr(0, path.size() - 3) + "h") != nullptr;
      EXPECT_TRUE(count == 1 || (count == 0 && shared))
          << path << " is in a folder of kinds and registers " << count;
    }
  }
  for (const char* folder :
       {"agent/dialects", "agent/proposers", "agent/vetoes", "cli/commands", "corpus/extractors",
        "model/kinds", "model/layers", "model/router_kinds", "model/routers", "report/figures",
        "scaling/laws", "study/objective_kinds", "trainer/objectives", "trainer/optimizers"}) {
    EXPECT_TRUE(kinds_folders.contains(folder)) << folder << " registers nothing";
  }
}

TEST(Structure, EverySourceIsBuilt) {
  const auto commands = base::read_json(std::filesystem::path(WINDTUNNEL_BINARY_DIR) / ".." /
                                        "compile_commands.json");
  std::set<std::string> built;
  for (const auto& command : commands) {
    const std::filesystem::path file = command.at("file").get<std::string>();
    built.insert(file.lexically_normal().lexically_relative(root()).generic_string());
  }
  auto sources = product_sources();
  sources.insert(sources.end(), test_sources().begin(), test_sources().end());
  for (const auto& source : sources) {
    if (!source.path.ends_with(".cpp")) continue;
    EXPECT_TRUE(built.contains(source.path))
        << source.path << " is in no CMakeLists.txt, so it is never compiled";
  }
}

TEST(Structure, SourcesAreAsciiAndNameNoMachine) {
  const std::regex machine_path("(^|[^A-Za-z0-9_.*-])/(work|root|home)/");
  auto sources = product_sources();
  for (const auto& source : test_sources()) {
    if (!source.path.starts_with("tests/structure/")) sources.push_back(source);
  }
  for (const auto& source : sources) {
    int line_number = 0;
    for (const auto& line : base::split(source.text, '\n')) {
      ++line_number;
      const auto place = source.path + ":" + std::to_string(line_number);
      EXPECT_TRUE(std::all_of(line.begin(), line.end(),
                              [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
          << place << " has a byte outside ASCII; write it as an escape";
      EXPECT_FALSE(std::regex_search(line, machine_path)) << place << " names a path of a machine";
      const auto todo = line.find("TODO");
      EXPECT_TRUE(todo == std::string::npos || line.substr(todo, 5) == "TODO(")
          << place << ": write TODO(what would make it done)";
    }
  }
}

TEST(Structure, TheReadmeListsTheLayerKinds) {
  std::string expected = "| letter | kind | what it is | source |\n|---|---|---|---|\n";
  for (const auto& kind : model::LayerKinds::instance().kinds()) {
    expected += std::string("| `") + kind.entry.letter + "` | " + kind.name + " | " + kind.summary +
                " | " + kind.source + " |\n";
  }
  expect_in_readme("layer kinds", expected);
}

TEST(Structure, TheReadmeListsTheObjectives) {
  std::string expected = "| objective | what it is | source |\n|---|---|---|\n";
  for (const auto& kind : study::ObjectiveKinds::instance().kinds()) {
    expected += "| `" + kind.name + "` | " + kind.summary + " | " + kind.source + " |\n";
  }
  expect_in_readme("objectives", expected);
}

}  // namespace
}  // namespace windtunnel::structure
