#include "corpus/packed_corpus.h"

#include <gmock/gmock.h>

#include "corpus/pack.h"
#include "tests/corpus/sample_corpus.h"

namespace windtunnel::corpus {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A corpus of 20 documents in shards of 100 tokens, and the tokens it should hold.
class TokenStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    const Tokenizer tokenizer = Tokenizer::from_ranks(tokens, {kBeginOfDocument});
    for (size_t i = 0; i < 20; ++i) texts_.push_back(sample_text(i, 10));
    std::vector<Document> documents;
    for (const std::string& text : texts_) {
      documents.push_back({text, "", "", 0});
      expected_.push_back(tokenizer.begin_of_document());
      for (const int32_t token : tokenizer.encode(text)) expected_.push_back(token);
    }
    const CorpusRecipe recipe = recipe_for_files({"x"});
    const auto ignore = [](double, const std::string&) {};
    manifest_.vocabulary_size = tokenizer.vocabulary_size();
    manifest_.train = pack_split(documents, tokenizer, recipe, folder(), "train", ignore, 100);
    save();
  }

  fs::path folder() const { return scratch_ / "corpus"; }
  void save() const { base::write_json(folder() / "manifest.json", base::to_json(manifest_)); }
  std::string error(bool verify = false) const {
    return error_of([&] { TokenStream(folder(), Split::kTrain, verify); });
  }

  ScratchFolder scratch_;
  std::vector<std::string> texts_;
  std::vector<int32_t> expected_;
  CorpusManifest manifest_;
};

TEST_F(TokenStreamTest, ReadsAcrossShards) {
  ASSERT_GT(manifest_.train.shards.size(), 5u);
  const TokenStream tokens(folder(), Split::kTrain, true);
  ASSERT_EQ(tokens.size(), static_cast<int64_t>(expected_.size()));
  for (int64_t i = 0; i < tokens.size(); ++i)
    ASSERT_EQ(tokens[i], expected_[static_cast<size_t>(i)]);
  std::vector<int64_t> copied(250);
  tokens.copy(70, copied);
  EXPECT_TRUE(std::equal(copied.begin(), copied.end(), expected_.begin() + 70));
}

TEST_F(TokenStreamTest, DocumentStartsEndWithTheSize) {
  const TokenStream tokens(folder(), Split::kTrain);
  ASSERT_EQ(tokens.document_starts().size(), 21u);
  EXPECT_EQ(tokens.document_starts().front(), 0);
  EXPECT_EQ(tokens.document_starts()[1], 1 + static_cast<int64_t>(texts_[0].size()));
  EXPECT_EQ(tokens.document_starts().back(), tokens.size());
}

TEST_F(TokenStreamTest, ShardOfTheWrongSizeIsNamed) {
  fs::resize_file(folder() / "train-00001.tokens", 198);
  EXPECT_EQ(error(), (folder() / "train-00001.tokens").string() +
                         " has 198 bytes, but the manifest says 200; remove the folder " +
                         folder().string() + " and build the corpus again");
  fs::remove(folder() / "train-00001.tokens");
  EXPECT_THAT(error(), HasSubstr("train-00001.tokens is missing"));
}

TEST_F(TokenStreamTest, FlippedBitIsFoundWhenHashesAreVerified) {
  const fs::path file = folder() / "train-00002.tokens";
  std::string content = base::read_file(file);
  content[20] ^= 1;
  base::write_file_atomic(file, content);
  EXPECT_THAT(error(true), HasSubstr("train-00002.tokens has changed: its SHA-256 is not"));
}

TEST_F(TokenStreamTest, IdOutsideTheVocabularyIsFoundWithoutHashes) {
  const fs::path file = folder() / "train-00002.tokens";
  std::string content = base::read_file(file);
  content[21] = 0x70;
  base::write_file_atomic(file, content);
  EXPECT_THAT(error(), HasSubstr("outside the vocabulary of 257"));
}

TEST_F(TokenStreamTest, EmptySplitIsSaidPlainly) {
  EXPECT_EQ(error_of([&] { TokenStream(folder(), Split::kValidation); }),
            folder().string() + " has no validation tokens; add text to its recipe");
}

TEST_F(TokenStreamTest, FingerprintIsThatOfTheDataNotOfTheName) {
  CorpusManifest other = manifest_;
  other.name = "other";
  other.source_fingerprint = "other";
  EXPECT_EQ(other.fingerprint(), manifest_.fingerprint());
  other.train.shards[0].sha256 = "other";
  EXPECT_NE(other.fingerprint(), manifest_.fingerprint());
}

TEST(ReadManifest, FolderWithoutACorpusGetsTheCommandThatMakesOne) {
  const ScratchFolder scratch;
  EXPECT_EQ(error_of([&] { read_manifest(scratch / "none"); }),
            (scratch / "none").string() +
                " holds no complete corpus (it has no manifest.json); make one with: windtunnel "
                "corpus programs/corpora/debian_docs.yaml");
}

TEST(BytesPerId, LargeVocabulariesNeedFour) {
  EXPECT_EQ(bytes_per_id(65536), 2);
  EXPECT_EQ(bytes_per_id(65537), 4);
}

}  // namespace
}  // namespace windtunnel::corpus
