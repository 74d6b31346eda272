#include "trainer/weights_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <map>
#include <regex>

#include "base/error.h"
#include "base/text.h"
#include "evaluation/bits_per_byte.h"
#include "model/kinds/attention.h"
#include "model/kinds/dense.h"
#include "model/kinds/experts.h"
#include "tests/trainer/small_run.h"
#include "trainer/checkpoint.h"
#include "trainer/safetensors.h"
#include "trainer/saved_run.h"
#include "trainer/train_run.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using tests::shared_corpus;
using tests::small_config;
using tests::TemporaryFolder;

/// As the program does: from a run folder or a weights folder.
void export_weights(const fs::path& from, const fs::path& to) {
  const SavedModel saved = read_model(from);
  write_weights_folder(to, saved.config, *saved.model);
}

void export_start(const study::RunConfig& config, const fs::path& to) {
  const auto resolved = study::resolve_run_config(base::to_json(config), "test");
  write_weights_folder(to, resolved, *initial_model(resolved));
}

double bits_per_byte(const fs::path& folder) {
  const SavedRun run = load_run(folder);
  const auto text = evaluation::validation_text(run.config.data.corpus, run.tokenizer);
  return evaluation::evaluate(*run.model, text, run.config.evaluation.rows, {}).bits_per_byte;
}

std::string weights_in(const fs::path& folder) { return base::read_file(folder / kWeightsFile); }

void expect_same_weights(const fs::path& one, const fs::path& two) {
  const SavedModel a = load_model(one), b = load_model(two);
  const NamedTensors left = weights_of(*a.model), right = weights_of(*b.model);
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].first, right[i].first);
    EXPECT_TRUE(torch::equal(left[i].second, right[i].second)) << left[i].first;
  }
}

/// Rewrites the weights of a folder without, with other, or with further tensors.
void change_weights(const fs::path& folder,
                    const std::function<void(std::vector<TensorBytes>&)>& how,
                    const std::map<std::string, std::string>& metadata = {}) {
  const std::string content = weights_in(folder);
  std::vector<TensorBytes> tensors = parse_safetensors(content, "weights");
  how(tensors);
  write_safetensors(folder / kWeightsFile, tensors, metadata);
}

TensorBytes& tensor_named(std::vector<TensorBytes>& tensors, const std::string& name) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [&](const TensorBytes& tensor) { return tensor.name == name; });
}

void expect_only(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    found.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(names));
}

TEST(WeightsFolder, ExportedAndImportedARunScoresTheSameBits) {
  const TemporaryFolder folder;
  tests::write_run(folder / "run", small_config());
  ASSERT_EQ(train_run(folder / "run"), base::kExitDone);
  export_weights(folder / "run", folder / "weights");
  expect_only(folder / "weights", {kWeightsFile, "config.json", "tokenizer.json"});
  import_weights(folder / "weights", folder / "imported");
  expect_same_weights(folder / "run", folder / "imported");
  EXPECT_EQ(bits_per_byte(folder / "run"), bits_per_byte(folder / "imported"));
  export_weights(folder / "imported", folder / "again");
  EXPECT_TRUE(weights_in(folder / "weights") == weights_in(folder / "again"));
  EXPECT_EQ(base::read_json(folder / "weights/config.json"),
            base::read_json(folder / "imported/config.json"));
  EXPECT_EQ(base::read_file(folder / "weights/tokenizer.json"),
            base::read_file(shared_corpus() / "tokenizer.json"));
}

// The start of a run is saved nowhere, but a run that begins with imported weights of the same
// start must go the same way.
TEST(WeightsFolder, InitialWeightsAreThoseTheTrainerDraws) {
  const TemporaryFolder folder;
  tests::write_run(folder / "run", small_config());
  ASSERT_EQ(train_run(folder / "run"), base::kExitDone);
  export_start(small_config(), folder / "start");
  import_weights(folder / "start", folder / "imported");
  expect_same_weights(folder / "start", folder / "imported");
  ASSERT_EQ(train_run(folder / "imported"), base::kExitDone);
  EXPECT_EQ(tests::read_result(folder / "run").weights_sha256,
            tests::read_result(folder / "imported").weights_sha256);

  study::RunConfig other = small_config();
  other.train.seed = 2;
  export_start(other, folder / "other");
  EXPECT_FALSE(weights_in(folder / "other") == weights_in(folder / "start"));
}

TEST(WeightsFolder, MetadataSaysWhatTheWeightsAre) {
  const TemporaryFolder folder;
  export_start(small_config(), folder / "start");
  auto metadata = parse_metadata(weights_in(folder / "start"), "weights");
  const auto config =
      study::resolve_run_config(base::read_json(folder / "start/config.json"), "start");
  EXPECT_EQ(metadata["format_version"], "1");
  EXPECT_EQ(metadata["code_version"].size(), 12u);
  EXPECT_EQ(metadata["config_fingerprint"], study::config_fingerprint(config));
  const Json roles = base::parse_json(metadata["roles"], "roles");
  EXPECT_EQ(roles["layers.1.experts.up"], "expert");
  EXPECT_EQ(roles["layers.1.experts.router"], "router");
  EXPECT_FALSE(roles.contains("layers.1.experts.bias"));
}

/// "[H S, D]" -> the sizes it stands for.
std::vector<int64_t> sizes_of(const std::string& shape, const std::map<char, int64_t>& letters) {
  std::vector<int64_t> sizes;
  for (const std::string& size : base::split(shape.substr(1, shape.size() - 2), ',')) {
    sizes.push_back(1);
    for (const char letter : size) {
      if (letter == ' ') continue;
      sizes.back() *= letter >= '1' && letter <= '9' ? letter - '0' : letters.at(letter);
    }
  }
  return sizes;
}

struct DocumentedTensor {
  std::string name;
  std::vector<int64_t> sizes;
  std::string role;
};

/// Two attention layers, a dense one and experts, with every option that adds a tensor.
model::ModelConfig documented_model(const std::string& value_mix) {
  const Json attention = {{"head_size", 12},
                          {"kv_heads", 2},
                          {"value_mix", {{"kind", value_mix}}},
                          {"gate", {{"kind", "sigmoid"}}}};
  const Json experts = {{"num_experts", 5}, {"router", {{"kind", "sigmoid"}}}};
  return model::resolve({.pattern = "*D*E",
                         .width = 48,
                         .context_tokens = 16,
                         .layers = {{"*", attention}, {"E", experts}}},
                        29);
}

std::vector<DocumentedTensor> tensors_of(const model::ModelConfig& config) {
  const model::LanguageModel model(config, base::RandomStream(1, "weights"));
  std::vector<DocumentedTensor> tensors;
  for (const auto& parameter : model.parameters_with_roles()) {
    tensors.push_back(
        {parameter.name, parameter.tensor.sizes().vec(), std::string(name_of(parameter.role))});
  }
  for (const auto& [name, tensor] : model.state_buffers()) {
    tensors.push_back({name, tensor.sizes().vec(), "state"});
  }
  return tensors;
}

/// The cells of each row between the markers of weights.md.
std::vector<std::vector<std::string>> documented_rows() {
  const std::string text = base::read_file(WINDTUNNEL_SOURCE_DIR "/trainer/weights.md");
  const std::string head = "|---|---|---|---|\n";
  const size_t begin = text.find(head) + head.size(), end = text.find("<!-- /tensors -->");
  std::vector<std::vector<std::string>> rows;
  for (const auto& line : base::split(base::trim(text.substr(begin, end - begin)), '\n')) {
    rows.emplace_back();
    for (const auto& cell : base::split(line, '|')) rows.back().emplace_back(base::trim(cell));
  }
  return rows;
}

// The table in weights.md is the interface: it has every tensor of every layer kind, and no other.
TEST(WeightsFolder, EveryTensorIsInTheDocumentedTable) {
  const auto config = documented_model("learned");
  auto tensors = tensors_of(config);
  for (auto& tensor : tensors_of(documented_model("residual"))) {
    if (tensor.name.ends_with("value_mix")) tensors.push_back(std::move(tensor));
  }
  const auto attention =
      model::attention_shape(model::layer_options<model::AttentionOptions>(config, '*'), config);
  const auto experts = model::layer_options<model::ExpertsOptions>(config, 'E');
  std::map<char, int64_t> letters = {{'V', 29},
                                     {'D', 48},
                                     {'H', attention.query_heads},
                                     {'G', attention.kv_heads},
                                     {'S', attention.head_size},
                                     {'E', experts.num_experts}};
  std::map<std::string, int> times;
  for (const auto& cells : documented_rows()) {
    ASSERT_EQ(cells.size(), 6u) << base::join(cells, "|");
    const std::string name = cells[1].substr(1, cells[1].size() - 2);
    letters['F'] =
        name.find("dense") != std::string::npos
            ? model::dense_hidden(model::layer_options<model::DenseOptions>(config, 'D'), config)
            : model::expert_hidden(experts, config);
    std::vector<std::vector<int64_t>> shapes;
    size_t start = 0;
    for (size_t at = 0; at != std::string::npos; start = at + 4) {
      at = cells[2].find(" or ", start);
      shapes.push_back(sizes_of(cells[2].substr(start, at - start), letters));
    }
    const std::regex pattern(std::regex_replace(name, std::regex("<i>"), "[0-9]+"));
    bool found = false;
    for (const DocumentedTensor& tensor : tensors) {
      if (!std::regex_match(tensor.name, pattern)) continue;
      found = true;
      ++times[tensor.name];
      EXPECT_THAT(shapes, testing::Contains(tensor.sizes)) << tensor.name;
      EXPECT_EQ(tensor.role, cells[3]) << tensor.name;
    }
    EXPECT_TRUE(found) << name << " is in the table, but no model has it";
  }
  for (const DocumentedTensor& tensor : tensors) {
    EXPECT_GE(times[tensor.name], 1) << tensor.name << " is not in the table of weights.md";
  }
}

TEST(WeightsFolder, TensorsThatDoNotFitAreAllListedAndNothingIsWritten) {
  const TemporaryFolder folder;
  export_start(small_config(), folder / "start");
  const std::vector<float> values(16, 0.5F);
  const auto bytes = std::as_bytes(std::span(values));
  change_weights(folder / "start", [&](std::vector<TensorBytes>& tensors) {
    TensorBytes& gain = tensor_named(tensors, "layers.0.attention.query_gain");
    gain = {.name = gain.name, .dtype = "F64", .shape = {1}, .bytes = bytes.first(8)};
    TensorBytes& router = tensor_named(tensors, "layers.1.experts.router");
    router = {.name = router.name, .dtype = "F32", .shape = {4, 4}, .bytes = bytes};
    std::erase_if(tensors, [](const TensorBytes& tensor) { return tensor.name == "head"; });
    tensors.push_back({.name = "headd", .dtype = "F32", .shape = {2}, .bytes = bytes.first(8)});
  });
  EXPECT_THAT([&] { import_weights(folder / "start", folder / "run"); },
              ThrowsMessage<base::ConfigError>(AllOf(
                  HasSubstr("weights.safetensors: 4 problems"),
                  HasSubstr("layers.0.attention.query_gain = F64 [1]: must be F32 [1]"),
                  HasSubstr("layers.1.experts.router = F32 [4, 4]: must be F32 [4, 16]"),
                  HasSubstr("head = missing: must be F32 [257, 16]"),
                  HasSubstr("headd = F32 [2]: must not be there, the model has no such tensor"))));
  expect_only(folder.path(), {"start"});
}

TEST(WeightsFolder, AConfigurationOfAnotherModelIsRefusedByTheShapes) {
  const TemporaryFolder folder;
  export_start(small_config(), folder / "start");
  EXPECT_THAT([&] { import_weights(folder / "start", folder / "run", {"model.width=32"}); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("embedding = F32 [257, 16]: must be F32 [257, 32]")));
  expect_only(folder.path(), {"start"});
}

TEST(WeightsFolder, AnotherFormatVersionIsRefusedAndNoneIsNot) {
  const TemporaryFolder folder;
  export_start(small_config(), folder / "start");
  const auto same = [](std::vector<TensorBytes>&) {};
  change_weights(folder / "start", same, {{"format_version", "2"}});
  EXPECT_THAT([&] { import_weights(folder / "start", folder / "run"); },
              ThrowsMessage<base::Error>(HasSubstr("format_version is 2, this program reads 1")));
  expect_only(folder.path(), {"start"});
  change_weights(folder / "start", same);
  import_weights(folder / "start", folder / "run");
  expect_same_weights(folder / "start", folder / "run");
}

TEST(WeightsFolder, WhatIsThereAlreadyIsNotOverwritten) {
  const TemporaryFolder folder;
  export_start(small_config(), folder / "start");
  EXPECT_THAT([&] { export_start(small_config(), folder / "start"); },
              ThrowsMessage<base::UsageError>(HasSubstr("start is there already")));
  EXPECT_THAT([&] { import_weights(folder / "start", folder / "start"); },
              ThrowsMessage<base::UsageError>(HasSubstr("start is there already")));
  fs::create_directories(folder / "empty");
  import_weights(folder / "start", folder / "empty/");
  expect_same_weights(folder / "start", folder / "empty");
}

TEST(WeightsFolder, ACorpusThatIsElsewhereIsAskedForAndOneOfAnotherTokenizerRefused) {
  const TemporaryFolder folder;
  export_start(small_config(), folder / "start");
  const auto import_with = [&](const std::string& override) {
    import_weights(folder / "start", folder / "run", {override});
  };
  EXPECT_THAT(
      [&] { import_with("data.corpus=elsewhere"); },
      ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("data.corpus = \"elsewhere\": is not there"),
                                             HasSubstr("add data.corpus=FOLDER"))));
  tests::write_tiny_corpus(folder / "corpus");
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  bytes.emplace_back("th");
  corpus::Tokenizer::from_ranks(bytes, {corpus::kBeginOfDocument})
      .save(folder / "corpus/tokenizer.json");
  EXPECT_THAT(
      [&] { import_with("data.corpus=" + (folder / "corpus").string()); },
      ThrowsMessage<base::ConfigError>(HasSubstr("must have the tokenizer of the weights")));
  EXPECT_FALSE(fs::exists(folder / "run"));

  import_with("data.corpus=");
  EXPECT_EQ(load_model(folder / "run").config.data.corpus, "");
  EXPECT_THAT([&] { load_run(folder / "run"); },
              ThrowsMessage<base::UsageError>(HasSubstr("the run has no corpus")));
}

TEST(WeightsFolder, LogitsNeedNoCorpusAndARunNeedsOne) {
  const TemporaryFolder folder;
  tests::write_tiny_corpus(folder / "corpus");
  study::RunConfig config = small_config();
  config.data.corpus = (folder / "corpus").string();
  export_start(config, folder / "start");
  fs::remove_all(folder / "corpus");
  EXPECT_EQ(load_model(folder / "start").config.data.corpus, config.data.corpus);
  EXPECT_THAT([&] { load_run(folder / "start"); },
              ThrowsMessage<base::UsageError>(HasSubstr("windtunnel import makes one of it")));
  EXPECT_THAT([&] { export_weights(folder / "start", folder / "again"); },
              ThrowsMessage<base::UsageError>(HasSubstr("its tokenizer.json is not there")));
  expect_only(folder.path(), {"start"});
}

TEST(WeightsFolder, AFullDiskOrAFolderThatCannotBeMadeIsNamedAndNothingStays) {
  const TemporaryFolder folder;
  base::write_file_atomic(folder / "file", "text");
  EXPECT_THAT([&] { export_start(small_config(), folder / "file/start"); },
              ThrowsMessage<base::Error>(HasSubstr((folder / "file/start").string())));
  // A limit on the file size fails a write half-way, as a full disk does.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{10'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THAT([&] { export_start(small_config(), folder / "start"); },
              ThrowsMessage<base::Error>(
                  AllOf(HasSubstr("cannot write"), HasSubstr((folder / "start").string()))));
  ::setrlimit(RLIMIT_FSIZE, &before);
  expect_only(folder.path(), {"file"});
}

}  // namespace
}  // namespace windtunnel::trainer
