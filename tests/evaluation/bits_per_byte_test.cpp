#include "evaluation/bits_per_byte.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "evaluation/token_nats.h"
#include "tests/evaluation/small_model.h"

namespace windtunnel::evaluation {
namespace {

using tests::kContext;
using tests::scored;
using tests::small_model;

/// Logits are of order one, so single precision keeps six digits.
constexpr double kTolerance = 2e-5;

/// Lengths around one and two windows, one token, and none.
ScoredText mixed_text() {
  std::vector<std::string> documents = {"", "x"};
  for (const size_t length : {15, 16, 17, 31, 32, 33, 50, 3}) {
    documents.push_back(tests::tiny_documents(40, length)[5].substr(0, length));
  }
  return scored(documents);
}

/// One forward pass a token, over exactly the tokens it may see, softmax in double.
double nats_by_brute_force(model::LanguageModel& model, const ScoredText& text, int64_t document,
                           int64_t place) {
  const int64_t first = text.document_starts[document];
  const int64_t begin = first + (place - 1 - first) / kContext * kContext;
  std::vector<int64_t> seen(text.tokens.begin() + begin, text.tokens.begin() + place);
  const torch::NoGradGuard no_gradients;
  const auto length = static_cast<int64_t>(seen.size());
  const auto inputs = torch::tensor(seen, at::kLong).view({1, length});
  const auto logits = model.forward(inputs).logits_BTV[0][length - 1].to(at::kDouble);
  double sum = 0;
  for (int64_t v = 0; v < logits.size(0); ++v) sum += std::exp(logits[v].item<double>());
  return std::log(sum) - logits[text.tokens[static_cast<size_t>(place)]].item<double>();
}

TEST(TokenNats, EqualTheBruteForceScorer) {
  auto model = small_model();
  model.eval();
  const ScoredText text = mixed_text();
  const std::vector<float> nats = token_nats(model, text, 3);
  ASSERT_EQ(nats.size(), text.tokens.size());
  for (int64_t document = 0; document < text.documents(); ++document) {
    EXPECT_EQ(nats[static_cast<size_t>(text.document_starts[document])], 0);
    for (int64_t i = text.document_starts[document] + 1; i < text.document_starts[document + 1];
         ++i) {
      EXPECT_NEAR(nats[static_cast<size_t>(i)], nats_by_brute_force(model, text, document, i),
                  kTolerance)
          << "document " << document << ", token " << i;
    }
  }
}

TEST(TokenNats, HowWindowsArePutTogetherChangesNothing) {
  auto model = small_model();
  const ScoredText text = mixed_text();
  const std::vector<float> one = token_nats(model, text, 1);
  const std::vector<float> many = token_nats(model, text, 64);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], many[i], kTolerance);
}

TEST(TokenNats, DocumentsKnowNothingOfEachOther) {
  auto model = small_model();
  const std::vector<float> together = token_nats(model, scored({"the wind ", "a wing stops"}), 4);
  const std::vector<float> alone = token_nats(model, scored({"a wing stops"}), 4);
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(together[10 + i], alone[i], kTolerance);
}

TEST(TokenNats, ProgressReachesOne) {
  auto model = small_model();
  double last = 0;
  token_nats(model, mixed_text(), 2, [&](double fraction) {
    EXPECT_GT(fraction, last);
    last = fraction;
  });
  EXPECT_EQ(last, 1);
}

TEST(BitsPerByte, OfAUniformModelIsTheLogarithmOfTheVocabularyPerTokenAndByte) {
  auto model = small_model();
  {
    const torch::NoGradGuard no_gradients;
    for (const auto& parameter : model.parameters_with_roles()) {
      if (parameter.role == model::ParameterRole::kHead) parameter.tensor.zero_();
    }
  }
  ScoredText text = mixed_text();
  text.bytes += 100;  // as if tokens stood for more than a byte
  const auto result = evaluate(model, text, 4);
  const double bits = std::log2(257.0) * static_cast<double>(text.scored_tokens());
  EXPECT_NEAR(result.bits_per_byte, bits / static_cast<double>(text.bytes), 1e-6);
}

TEST(BitsPerByte, TotalNatsAreTheSumOfTheScores) {
  auto model = small_model();
  const ScoredText text = mixed_text();
  double total = 0;
  for (const float nats : token_nats(model, text, 2)) total += nats;
  const auto result = evaluate(model, text, 2);
  EXPECT_DOUBLE_EQ(result.total_nats, total);
  EXPECT_EQ(result.bits_per_byte, bits_per_byte(total, text.bytes));
  EXPECT_EQ(result.documents, 10);
  EXPECT_EQ(result.tokens, text.bytes);  // a token per byte here
}

/// A text of documents of `lengths` bytes, a token a byte.
ScoredText text_of_lengths(const std::vector<int64_t>& lengths) {
  ScoredText text;
  for (const int64_t length : lengths) {
    text.document_starts.push_back(static_cast<int64_t>(text.tokens.size()));
    text.tokens.resize(text.tokens.size() + static_cast<size_t>(length) + 1);
    text.document_bytes.push_back(length);
    text.bytes += length;
  }
  text.document_starts.push_back(static_cast<int64_t>(text.tokens.size()));
  return text;
}

TEST(BitsPerByte, ItsStandardErrorIsHowFarTextsOfOtherDocumentsLieApart) {
  base::RandomStream random(1, "documents");
  std::vector<double> figures;
  double mean = 0, mean_variance = 0;
  constexpr int kTexts = 2000, kDocuments = 40;
  for (int i = 0; i < kTexts; ++i) {
    std::vector<int64_t> lengths;
    for (int d = 0; d < kDocuments; ++d)
      lengths.push_back(20 + static_cast<int64_t>(random.below(200)));
    const ScoredText text = text_of_lengths(lengths);
    std::vector<float> nats(text.tokens.size());
    double total = 0;
    for (int d = 0; d < kDocuments; ++d) {
      // Documents differ in how hard they are; the tokens of one do not stand for as many facts.
      const auto hard = static_cast<float>(1 + 0.3 * random.normal());
      for (int64_t t = text.document_starts[d] + 1; t < text.document_starts[d + 1]; ++t) {
        nats[static_cast<size_t>(t)] = hard;
        total += hard;
      }
    }
    figures.push_back(bits_per_byte(total, text.bytes));
    mean += figures.back() / kTexts;
    mean_variance += std::pow(*standard_error(text, nats), 2) / kTexts;
  }
  double variance = 0;
  for (const double figure : figures) variance += std::pow(figure - mean, 2) / (kTexts - 1);
  // 2,000 texts know a standard deviation to 1.6 %; forty documents leave a bias of about 1 / 40.
  EXPECT_NEAR(std::sqrt(mean_variance / variance), 1, 0.06);
}

TEST(BitsPerByte, OneDocumentHasNoStandardErrorAndEvenOnesHaveNone) {
  EXPECT_EQ(standard_error(text_of_lengths({50}), std::vector<float>(51, 1)), std::nullopt);
  const ScoredText even = text_of_lengths({10, 30, 20});
  std::vector<float> nats(even.tokens.size(), 0.5F);
  for (int d = 0; d < 3; ++d) nats[static_cast<size_t>(even.document_starts[d])] = 0;
  EXPECT_NEAR(*standard_error(even, nats), 0, 1e-12);
  auto model = small_model();
  EXPECT_GT(*evaluate(model, mixed_text(), 2).standard_error, 0);
}

TEST(BitsPerByte, RouterHealthCoversTheTextOnce) {
  auto model = small_model();
  const ScoredText text = mixed_text();
  const auto once = evaluate(model, text, 2);
  const auto again = evaluate(model, text, 2);
  ASSERT_EQ(once.router_health.size(), 1);
  EXPECT_EQ(once.router_health[0].position, 3);
  EXPECT_GT(once.router_health[0].load_entropy, 0);
  EXPECT_EQ(once.router_health[0].max_load, again.router_health[0].max_load);
  EXPECT_GT(*once.router_health[0].z_loss, 0);
  EXPECT_EQ(once.router_health[0].z_loss, again.router_health[0].z_loss);
  EXPECT_FALSE(once.router_health[0].saturation) << "its router has no sigmoids";
}

}  // namespace
}  // namespace windtunnel::evaluation
