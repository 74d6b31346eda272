#include "corpus/batches.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "tests/corpus/sample_corpus.h"

namespace windtunnel::corpus {
namespace {

class BatchStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    write_sample_texts(scratch_, 30);
    manifest_ = build_corpus(sample_recipe(scratch_), folder(), scratch_ / "cache");
  }

  std::filesystem::path folder() const { return scratch_ / "corpus"; }

  std::vector<Batch> take(int64_t count, uint64_t seed, int64_t first = 0) const {
    BatchStream stream(folder(), shape_, seed, first);
    std::vector<Batch> batches;
    for (int64_t i = 0; i < count; ++i) batches.push_back(stream.next());
    return batches;
  }

  ScratchFolder scratch_;
  CorpusManifest manifest_;
  BatchShape shape_{.rows = 3, .context_tokens = 16};
};

TEST_F(BatchStreamTest, RowsOfAnEpochAreCutOneAfterTheOtherFromTheDocuments) {
  const TokenStream tokens(folder(), Split::kTrain);
  const int64_t rows = tokens.size() / 16;
  // Where a row ends another begins, for all but the last: chaining them gives the epoch's text.
  std::multiset<int64_t> first, last;
  std::map<int64_t, int64_t> seen;
  int64_t taken = 0;
  for (const Batch& batch : take(rows / 3 + 1, 5)) {
    ASSERT_EQ(batch.columns, 17);
    ASSERT_EQ(batch.tokens.size(), 3u * 17u);
    for (size_t row = 0; row < 3 && taken < rows; ++row, ++taken) {
      first.insert(batch.tokens[row * 17]);
      last.insert(batch.tokens[row * 17 + 16]);
      for (size_t column = 0; column < 16; ++column) ++seen[batch.tokens[row * 17 + column]];
    }
  }
  std::vector<int64_t> unmatched;
  std::set_difference(last.begin(), last.end(), first.begin(), first.end(),
                      std::back_inserter(unmatched));
  EXPECT_LE(unmatched.size(), 1u);
  // Every token at most as often as the split has it, and less than one row is missing.
  std::map<int64_t, int64_t> available;
  for (int64_t i = 0; i < tokens.size(); ++i) ++available[tokens[i]];
  for (const auto& [token, count] : seen) EXPECT_LE(count, available[token]);
  EXPECT_EQ(taken * 16, tokens.size() - tokens.size() % 16);
}

TEST_F(BatchStreamTest, ABatchIsNoStretchOfOneDocument) {
  // Neighbouring rows would share a border token in every batch.
  int64_t neighbours = 0, pairs = 0;
  for (const Batch& batch : take(30, 2)) {
    for (size_t row = 0; row + 1 < 3; ++row, ++pairs) {
      neighbours += batch.tokens[row * 17 + 16] == batch.tokens[(row + 1) * 17] ? 1 : 0;
    }
  }
  EXPECT_LT(neighbours, pairs / 2);
}

TEST_F(BatchStreamTest, ResumedAtAnyBatchItGivesTheSameTokens) {
  // Enough batches for three epochs.
  const int64_t count = 3 * manifest_.train.tokens / 48;
  const std::vector<Batch> whole = take(count, 9);
  for (const int64_t first : {int64_t{1}, count / 3 - 1, count / 3, count / 2, count - 2}) {
    const std::vector<Batch> resumed = take(2, 9, first);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(resumed[i].tokens, whole[static_cast<size_t>(first) + i].tokens);
      EXPECT_EQ(resumed[i].index, first + static_cast<int64_t>(i));
    }
  }
}

TEST_F(BatchStreamTest, SeedsAndEpochsOrderDocumentsDifferently) {
  EXPECT_EQ(take(1, 1)[0].tokens, take(1, 1)[0].tokens);
  EXPECT_NE(take(5, 1)[4].tokens, take(5, 2)[4].tokens);
  BatchShape epoch{.rows = 1, .context_tokens = manifest_.train.tokens};
  BatchStream stream(folder(), epoch, 1);
  EXPECT_NE(stream.next().tokens, stream.next().tokens);
}

TEST_F(BatchStreamTest, EpochsCountRows) {
  BatchStream stream(folder(), shape_, 1);
  const int64_t rows = manifest_.train.tokens / 16;  // whole ones
  EXPECT_DOUBLE_EQ(stream.epochs(10), 30.0 / static_cast<double>(rows));
}

TEST_F(BatchStreamTest, AShapeWithoutRowsIsRefused) {
  EXPECT_EQ(error_of([&] { BatchStream(folder(), {.rows = 0, .context_tokens = 16}, 1); }),
            "a batch of 0 rows of 16 tokens from batch 0 on cannot be made; rows and context must "
            "be at least 1");
}

}  // namespace
}  // namespace windtunnel::corpus
