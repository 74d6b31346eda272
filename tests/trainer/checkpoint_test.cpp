#include "trainer/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::trainer {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

NamedTensors some_weights(double offset) {
  return {{"a", torch::arange(6, at::kFloat).view({2, 3}) + offset},
          {"b", torch::full({}, offset, at::kDouble)}};
}

class Checkpoint : public testing::Test {
 protected:
  Checkpoint() {
    position_.step = 7;
    position_.loss_sum = 0.1 + 0.2;
    manifest_ = save_checkpoint(saved(), some_weights(1), {{"m", torch::ones({4})}}, position_);
  }

  fs::path saved() const { return folder_ / "checkpoint"; }

  void change(const char* file, const std::function<void(std::string&)>& how) const {
    std::string content = base::read_file(saved() / file);
    how(content);
    std::ofstream(saved() / file, std::ios::binary) << content;
  }

  void expect_refused(const NamedTensors& into, const std::string& message) const {
    EXPECT_THAT(
        [&] { load_tensors(saved(), manifest_, kWeightsFile, into); },
        ThrowsMessage<base::Error>(AllOf(HasSubstr("weights.safetensors"), HasSubstr(message))));
  }

  tests::TemporaryFolder folder_;
  RunPosition position_;
  CheckpointManifest manifest_;
};

TEST_F(Checkpoint, GivesBackTheSameBitsAndPosition) {
  const auto read = read_checkpoint_manifest(saved());
  EXPECT_EQ(base::to_json(read), base::to_json(manifest_));
  EXPECT_EQ(read.position.loss_sum, 0.1 + 0.2);
  const NamedTensors into = some_weights(-5);
  load_tensors(saved(), read, kWeightsFile, into);
  const NamedTensors expected = some_weights(1);
  for (size_t i = 0; i < into.size(); ++i) EXPECT_TRUE(into[i].second.equal(expected[i].second));
}

TEST_F(Checkpoint, ReplacesTheOneBeforeAndLeavesNothingElse) {
  position_.step = 8;
  save_checkpoint(saved(), some_weights(2), {}, position_);
  EXPECT_EQ(read_checkpoint_manifest(saved()).position.step, 8);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(Checkpoint, CutShortSaysSoAndChangesNothing) {
  change(kWeightsFile, [](std::string& content) { content.pop_back(); });
  const NamedTensors into = some_weights(-5);
  expect_refused(into, "is cut short: it has");
  EXPECT_TRUE(into[0].second.equal(some_weights(-5)[0].second));
}

TEST_F(Checkpoint, AFlippedByteSaysSoAndChangesNothing) {
  change(kWeightsFile, [](std::string& content) { content.back() ^= 1; });
  const NamedTensors into = some_weights(-5);
  expect_refused(into, "has flipped bytes: its SHA-256 is not the manifest's");
  EXPECT_TRUE(into[0].second.equal(some_weights(-5)[0].second));
}

TEST_F(Checkpoint, OtherTensorsThanTheSavedOnesAreNamed) {
  NamedTensors into = some_weights(0);
  into[0].second = torch::zeros({3, 2});
  expect_refused(into, "a = F32 [2, 3]: must be F32 [3, 2]");
  into[0].first = std::string("z");
  expect_refused(into, "z = missing: must be F32 [3, 2]");
  expect_refused(into, "a = F32 [2, 3]: must not be there, the model has no such tensor");
  EXPECT_TRUE(into[1].second.equal(some_weights(0)[1].second));
}

TEST_F(Checkpoint, ADamagedManifestIsRefused) {
  change("manifest.json", [](std::string& content) { content.resize(content.size() / 2); });
  EXPECT_THAT([&] { read_checkpoint_manifest(saved()); },
              ThrowsMessage<base::Error>(HasSubstr("manifest.json")));
}

TEST_F(Checkpoint, TheOldOneIsPutBackAfterAKillBetweenTheRenames) {
  fs::rename(saved(), folder_ / "checkpoint.tmp-old-123");
  EXPECT_TRUE(find_checkpoint(saved()));
  EXPECT_EQ(read_checkpoint_manifest(saved()).position.step, 7);
  fs::remove_all(saved());
  EXPECT_FALSE(find_checkpoint(saved()));
}

}  // namespace
}  // namespace windtunnel::trainer
