// The probes against the small model, and against models that cheat.

#include "evaluation/probes.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "evaluation/bits_per_byte.h"
#include "evaluation/logits.h"
#include "evaluation/token_nats.h"
#include "tests/evaluation/small_model.h"

namespace windtunnel::evaluation {
namespace {

using tests::kContext;
using tests::scored;
using tests::small_model;
using torch::Tensor;

constexpr int64_t kVocabulary = 257;

class Probes : public ::testing::Test {
 protected:
  Probes() : text_(scored(tests::tiny_documents(60, 7))) { nats_ = token_nats(model_, text_, 4); }

  Tensor logits(const Tensor& tokens_BT) { return logits_of(model_, tokens_BT, 4); }

  study::ProbeResult probe_of(const Predictor& predict) const {
    return probe(predict, text_, nats_, kContext, kVocabulary);
  }

  model::LanguageModel model_ = small_model();
  ScoredText text_;
  std::vector<float> nats_;
};

TEST_F(Probes, FindNothingInACausalModel) {
  const auto result = probe_of([&](const Tensor& tokens_BT) { return logits(tokens_BT); });
  EXPECT_EQ(result.rows, 8);
  EXPECT_EQ(result.cuts, 8);
  EXPECT_EQ(result.rows_moved, 0);
  EXPECT_LT(result.largest_move_nats, 1e-4);
  EXPECT_LT(result.largest_sum_error, 1e-9);
  EXPECT_LT(result.largest_score_error_nats, 1e-4);
}

TEST_F(Probes, EveryPatternOfLayersIsCausal) {
  for (const char* pattern : {"*", "*D", "*E", "*D*E*E"}) {
    auto model = small_model(pattern);
    const auto result = evaluate(model, text_, 4);
    ASSERT_TRUE(result.probes) << pattern;
    EXPECT_EQ(result.probes->rows_moved, 0) << pattern;
    EXPECT_LT(result.probes->largest_score_error_nats, 1e-4) << pattern;
  }
}

TEST_F(Probes, FindALeakOfTheNextToken) {
  const auto result = probe_of([&](const Tensor& tokens_BT) {
    Tensor all = logits(tokens_BT).clone();
    // The next token, which is to be predicted, gets two nats more.
    const Tensor next = tokens_BT.narrow(1, 1, tokens_BT.size(1) - 1).unsqueeze(-1);
    Tensor earlier = all.narrow(1, 0, tokens_BT.size(1) - 1);
    earlier.scatter_add_(2, next, at::full(next.sizes(), 2.0, all.options()));
    return all;
  });
  EXPECT_GE(result.rows_moved, 6) << "a cut at each changed token moves the one before";
  EXPECT_GT(result.largest_move_nats, 1);
}

TEST_F(Probes, FindALeakFromFarAhead) {
  // What a mean over the row would do: each position learns a little of all that follows.
  const auto result = probe_of([&](const Tensor& tokens_BT) {
    const Tensor all = logits(tokens_BT);
    return all + 0.05 * all.mean(1, true);
  });
  EXPECT_EQ(result.rows_moved, 8);
}

TEST_F(Probes, FindScoresThatAreNoLogProbabilities) {
  // Half of each score: a mixture that nobody normalised.
  std::vector<float> halved = nats_;
  for (float& value : halved) value /= 2;
  const auto result = probe([&](const Tensor& tokens_BT) { return logits(tokens_BT); }, text_,
                            halved, kContext, kVocabulary);
  EXPECT_GT(result.largest_score_error_nats, 1);
}

TEST_F(Probes, RefuseOutputsThatAreNoNumbers) {
  EXPECT_THAT(
      [&] { probe_of([&](const Tensor& tokens_BT) { return logits(tokens_BT) * std::nan(""); }); },
      ::testing::ThrowsMessage<base::Error>(::testing::HasSubstr("are not all finite")));
}

TEST_F(Probes, TryTheSameModelInTheSamePlacesAndAnotherElsewhere) {
  const auto tokens_tried = [&](const std::vector<float>& nats) {
    std::vector<Tensor> tried;
    probe(
        [&](const Tensor& tokens_BT) {
          tried.push_back(tokens_BT.flatten());
          return logits(tokens_BT);
        },
        text_, nats, kContext, kVocabulary);
    return at::cat(tried);
  };
  EXPECT_TRUE(tokens_tried(nats_).equal(tokens_tried(nats_)));
  std::vector<float> other = nats_;
  other[1] += 0.01F;
  EXPECT_FALSE(tokens_tried(nats_).equal(tokens_tried(other)));
}

TEST_F(Probes, ATextTooShortToTryIsSaidSo) {
  const auto result = probe([&](const Tensor& tokens_BT) { return logits(tokens_BT); },
                            scored({"a"}), std::vector<float>(2, 0), kContext, kVocabulary);
  EXPECT_EQ(result.rows, 0);
}

}  // namespace
}  // namespace windtunnel::evaluation
