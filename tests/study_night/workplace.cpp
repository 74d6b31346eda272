#include "tests/study_night/workplace.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "corpus/build.h"
#include "tests/support/tiny_corpus.h"

namespace windtunnel::tests {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Longer than any of these jobs takes on a busy machine.
constexpr seconds kPatience(240);

// Runs of a fraction of a second; the effects are larger than the noise, so that some changes are
// decided at the first look and some at the last.
constexpr const char* kProgram = R"(---
name: tiny
corpus: {folder: "CORPUS"}
slots: 2
base:
  model:
    pattern: "*D*E"
    width: 16
    context_tokens: 32
    layers:
      "*": {head_size: 4}
      E: {num_experts: 4, num_active: 2}
  train:
    budget: {kind: steps, amount: 40}
    tokens_per_step: 256
    optimizer: {learning_rate: 0.01}
    checkpoint_every_seconds: 0.05
night: {baseline_replicates: 3, experiments: 4}
mutable:
  - {path: train.optimizer.learning_rate, minimum: 0.002, maximum: 0.1, scale: log}
  - {path: train.optimizer.matrices}
  - {path: train.optimizer.weight_decay, minimum: 0.01, maximum: 0.5}
  - {path: model.layers.E.num_experts, choices: [4, 8]}
decision: {min_pairs: 1, max_pairs: 3, confidence: 0.6}
proposers:
  - {kind: queue}
  - {kind: language_model, endpoint: "ENDPOINT", model: scripted, key_variable: KEY,
     api: chat_completions}
queue:
  - hypothesis: The rate it has already, which nobody needs to measure again.
    patch: {train.optimizer.learning_rate: 0.01}
    prediction: {delta_bits_per_byte: 0, interval_low: -0.1, interval_high: 0.1}
    diagnostic: None is needed.
ladder:
  tokens_per_parameter: 1
  rungs:
    - {name: w8, patch: {model.width: 8}}
    - {name: w12, patch: {model.width: 12}}
    - {name: w16, patch: {model.width: 16}}
    - {name: w20, patch: {model.width: 20}}
    - {name: w24, patch: {model.width: 24}}
    - {name: w32, patch: {model.width: 32}, held_out: true}
---

# A night of seconds

Find out what lowers the bits per byte of a text of few words.
)";

void replace(std::string& text, const std::string& old_text, const std::string& new_text) {
  const size_t at = text.find(old_text);
  ASSERT_NE(at, std::string::npos) << old_text;
  text.replace(at, old_text.size(), new_text);
}

void build_corpus(const fs::path& texts, const fs::path& folder) {
  const std::vector<std::string> documents = tiny_documents(400, 1);
  for (size_t i = 0; i < documents.size(); ++i) {
    base::write_file_atomic(texts / (std::to_string(i) + ".txt"), documents[i]);
  }
  corpus::CorpusRecipe recipe = corpus::recipe_for_files({(texts / "*.txt").string()});
  recipe.name = "tiny";
  recipe.vocabulary_size = 280;
  recipe.validation_fraction = 0.1;
  corpus::build_corpus(recipe, folder, texts);
}

/// Processes that have `text` on their command line.
int processes_naming(const std::string& text) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::ifstream stream(entry.path() / "cmdline", std::ios::binary);
    const std::string line((std::istreambuf_iterator<char>(stream)), {});
    count += line.find(text) == std::string::npos ? 0 : 1;
  }
  return count;
}

}  // namespace

Workplace::Workplace() : folder_(memory_folder()) {
  const fs::path corpus = folder_ / "corpus";
  build_corpus(folder_ / "texts", corpus);
  std::string program = kProgram;
  replace(program, "CORPUS", corpus.string());
  replace(program, "ENDPOINT", model.endpoint());
  replace(program, "KEY", kKeyVariable);
  base::write_file_atomic(folder_ / "tiny.md", program);
}

void Workplace::edit_program(const std::string& old_text, const std::string& new_text) const {
  std::string program = base::read_file(folder_ / "tiny.md");
  replace(program, old_text, new_text);
  base::write_file_atomic(folder_ / "tiny.md", program);
}

base::ChildProcess Workplace::start(const std::string& job, const std::string& name,
                                    const std::vector<std::string>& more) {
  ++commands_;
  std::vector<std::string> command = {std::string(WINDTUNNEL_BINARY_DIR) + "/windtunnel", job,
                                      (folder_ / "tiny.md").string(), "--study",
                                      study(name).string()};
  command.insert(command.end(), more.begin(), more.end());
  return base::ChildProcess(
      {.command = command,
       .output_file = output_file(),
       .environment = {{kKeyVariable, kKey},
                       {"WINDTUNNEL_HOME", folder_.path().string()},
                       {"WINDTUNNEL_LEASES", (folder_ / "leases").string()}}});
}

Finished Workplace::run(const std::string& job, const std::string& name,
                        const std::vector<std::string>& more) {
  base::ChildProcess child = start(job, name, more);
  const auto status = child.wait_for(kPatience);
  if (!status) ADD_FAILURE() << job << " did not end:\n" << output();
  return {status.value_or(base::ExitStatus{}), output()};
}

fs::path Workplace::output_file() const {
  return folder_ / ("output-" + std::to_string(commands_) + ".txt");
}

std::string Workplace::output() const { return base::read_file(output_file()); }

void Workplace::kill_at(const std::function<bool()>& moment, const std::string& job,
                        const std::string& name) {
  base::ChildProcess child = start(job, name);
  ASSERT_TRUE(wait_for(moment, child)) << "it ended before its moment:\n" << output();
  ::kill(-child.pid(), SIGKILL);
  const auto status = child.wait_for(kPatience);
  ASSERT_TRUE(status);
  // One that ends in its very moment has nothing left to lose.
  EXPECT_TRUE(status->signal == SIGKILL || status->ok()) << status->text();
  // Its trainers are groups of their own and die with it.
  const auto end = std::chrono::steady_clock::now() + kPatience;
  const std::string mark = study(name).string();
  while (processes_naming(mark) > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(processes_naming(mark), 0);
}

std::vector<std::string> Workplace::files_holding(const std::string& text) const {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (!entry.is_regular_file()) continue;
    if (base::read_file(entry.path()).find(text) != std::string::npos) {
      found.push_back(entry.path().string());
    }
  }
  return found;
}

bool wait_for(const std::function<bool()>& moment, base::ChildProcess& child) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (moment()) return true;
    if (child.poll()) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

}  // namespace windtunnel::tests
