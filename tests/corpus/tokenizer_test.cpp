#include "corpus/tokenizer.h"

#include <gmock/gmock.h>

#include "base/json.h"
#include "base/random.h"
#include "tests/corpus/scratch_folder.h"

namespace windtunnel::corpus {
namespace {

using base::Json;
using testing::HasSubstr;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

Tokenizer train(const std::vector<std::string>& texts, int64_t vocabulary_size) {
  size_t next = 0;
  return train_tokenizer(
      [&](std::string_view& document) {
        if (next == texts.size()) return false;
        document = texts[next++];
        return true;
      },
      vocabulary_size);
}

/// Trained on the texts of tests/golden/byte_pair_encoding.py.
class Golden : public testing::Test {
 protected:
  static Json read() {
    return base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/byte_pair_encoding.json");
  }
  static std::vector<std::string> texts() {
    std::vector<std::string> result;
    for (const Json& hex : golden_.at("documents_hex")) result.push_back(from_hex(hex));
    return result;
  }

  inline static const Json golden_ = read();
  inline static const Tokenizer tokenizer_ = train(texts(), golden_.at("vocabulary_size"));
};

using TokenizerTest = Golden;

TEST_F(TokenizerTest, MergesEqualThoseOfTheSlowReference) {
  const Json& expected = golden_.at("tokens_hex");
  ASSERT_EQ(tokenizer_.begin_of_document(), static_cast<int>(expected.size()));
  for (size_t id = 0; id < expected.size(); ++id) {
    EXPECT_EQ(tokenizer_.token_bytes(static_cast<int32_t>(id)), from_hex(expected[id])) << id;
  }
}

TEST_F(TokenizerTest, IdsEqualThoseOfTheSlowReferenceAlsoForBytesThatAreNotUtf8) {
  for (const Json& sample : golden_.at("samples")) {
    const std::string bytes = from_hex(sample.at("hex"));
    EXPECT_EQ(Json(tokenizer_.encode(bytes)), sample.at("ids")) << Json(sample.at("hex"));
    EXPECT_EQ(tokenizer_.decode(tokenizer_.encode(bytes)), bytes);
  }
}

TEST_F(TokenizerTest, JsonHasTheVocabularyAndMergesThatHuggingFaceExpects) {
  const ScratchFolder scratch;
  tokenizer_.save(scratch / "tokenizer.json");
  const Json saved = base::read_json(scratch / "tokenizer.json");
  const Json& expected = golden_.at("huggingface");
  EXPECT_EQ(saved.at("model").at("vocab"), expected.at("vocab"));
  EXPECT_EQ(saved.at("model").at("merges"), expected.at("merges"));
  ASSERT_EQ(saved.at("added_tokens").size(), 1u);
  EXPECT_EQ(saved.at("added_tokens")[0].at("id"), expected.at("special").at("id"));
  EXPECT_EQ(saved.at("added_tokens")[0].at("content"), expected.at("special").at("content"));
  EXPECT_EQ(saved.at("pre_tokenizer").at("pretokenizers")[0].at("pattern").at("Regex"),
            kSplitPattern);
}

TEST_F(TokenizerTest, TiktokenFileHasALinePerMergedToken) {
  const ScratchFolder scratch;
  tokenizer_.save(scratch / "tokenizer.json");
  const std::string ranks = base::read_file(scratch / "tokenizer.tiktoken");
  EXPECT_EQ(std::count(ranks.begin(), ranks.end(), '\n'), tokenizer_.begin_of_document());
  EXPECT_EQ(ranks.substr(0, 14), "AA== 0\nAQ== 1\n");
}

TEST_F(TokenizerTest, SavedAndLoadedIsTheSame) {
  const ScratchFolder scratch;
  tokenizer_.save(scratch / "tokenizer.json");
  const Tokenizer loaded = Tokenizer::load(scratch / "tokenizer.json");
  EXPECT_EQ(loaded.fingerprint(), tokenizer_.fingerprint());
  EXPECT_EQ(loaded.vocabulary_size(), 360);
  for (const std::string& text : texts()) EXPECT_EQ(loaded.encode(text), tokenizer_.encode(text));
}

TEST_F(TokenizerTest, RandomBytesSurviveAndTheirTokensHaveAsManyBytes) {
  base::RandomStream random(1, "test");
  for (int round = 0; round < 20; ++round) {
    std::string bytes(random.below(5000), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    const std::vector<int32_t> tokens = tokenizer_.encode(bytes);
    size_t size = 0;
    for (const int32_t token : tokens) size += tokenizer_.token_bytes(token).size();
    EXPECT_EQ(size, bytes.size());
    EXPECT_EQ(tokenizer_.decode(tokens), bytes);
  }
}

TEST_F(TokenizerTest, TextThatSpellsASpecialTokenIsText) {
  const std::vector<int32_t> tokens = tokenizer_.encode(kBeginOfDocument);
  EXPECT_GT(tokens.size(), 1u);
  for (const int32_t token : tokens) EXPECT_FALSE(tokenizer_.is_special(token));
  EXPECT_EQ(tokenizer_.decode(tokens), kBeginOfDocument);
  const std::vector<int32_t> special = {tokenizer_.begin_of_document()};
  EXPECT_EQ(tokenizer_.decode(special), "");
  EXPECT_TRUE(tokenizer_.is_special(special[0]));
}

TEST_F(TokenizerTest, OneEncoderForManyTextsGivesTheSameIds) {
  Encoder encoder(tokenizer_);
  for (int round = 0; round < 2; ++round) {
    for (const std::string& text : texts()) {
      std::vector<int32_t> tokens;
      encoder.encode(text, tokens);
      EXPECT_EQ(tokens, tokenizer_.encode(text));
    }
  }
}

TEST_F(TokenizerTest, LongRunsOfOneKindOfCharacterAreEncoded) {
  for (const std::string unit : {"a", " ", "\n", "7", "-", "\xE9\xA2\xA8", "\xFF", "ab \r"}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    EXPECT_EQ(tokenizer_.decode(tokenizer_.encode(text)), text);
  }
}

TEST_F(TokenizerTest, AnIdOutsideTheVocabularyIsRefused) {
  EXPECT_EQ(error_of([&] { tokenizer_.token_bytes(360); }),
            "token 360 does not exist; ids are 0 to 359");
}

TEST(TrainTokenizer, EqualCountsGoToTheSmallerPairOfIds) {
  const Tokenizer tokenizer = train({"zy", "ab", "xa"}, 260);
  EXPECT_EQ(tokenizer.token_bytes(256), "ab");
  EXPECT_EQ(tokenizer.token_bytes(257), "xa");
  EXPECT_EQ(tokenizer.token_bytes(258), "zy");
}

TEST(TrainTokenizer, OverlappingPairsMergeFromTheLeft) {
  const Tokenizer tokenizer = train({"aaaaaa"}, 259);
  EXPECT_EQ(tokenizer.token_bytes(256), "aa");
  EXPECT_EQ(tokenizer.token_bytes(257), "aaaa");
  EXPECT_EQ(tokenizer.encode("aaaaaaa"), (std::vector<int32_t>{257, 256, 'a'}));
}

TEST(TrainTokenizer, OrderOfDocumentsDoesNotMatter) {
  const std::vector<std::string> texts = {"the wind the tunnel", "a tunnel a wind", "windy"};
  const std::vector<std::string> reversed(texts.rbegin(), texts.rend());
  EXPECT_EQ(train(texts, 270).fingerprint(), train(reversed, 270).fingerprint());
}

TEST(TrainTokenizer, TooLittleTextSaysHowManyTokensItAllows) {
  EXPECT_EQ(
      error_of([] { train({"abc"}, 400); }),
      "the text is too small for a vocabulary of 400 tokens: after 259 no two tokens are left "
      "to merge; use more text or a vocabulary_size of at most that");
}

TEST(TokenizerFile, DamageIsNamed) {
  const ScratchFolder scratch;
  const auto file = scratch / "tokenizer.json";
  train({"the wind the tunnel"}, 262).save(file);
  const Json good = base::read_json(file);

  scratch.write("tokenizer.json", good.dump().substr(0, 500));
  EXPECT_THAT(error_of([&] { Tokenizer::load(file); }), HasSubstr("not valid JSON at byte"));

  Json json = good;
  json["model"]["merges"][0] = "q q";
  base::write_json(file, json);
  EXPECT_EQ(error_of([&] { Tokenizer::load(file); }),
            file.string() + " cannot be used: its merges disagree with its vocabulary");

  json = good;
  json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\s+";
  base::write_json(file, json);
  EXPECT_THAT(error_of([&] { Tokenizer::load(file); }),
              HasSubstr("it is not a byte-level BPE with this program's split pattern"));

  json = good;
  json["model"].erase("vocab");
  base::write_json(file, json);
  EXPECT_THAT(error_of([&] { Tokenizer::load(file); }), HasSubstr("is not a tokenizer"));
}

TEST(TokenizerRanks, ATokenThatIsNoMergeOfTwoIsRefused) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.emplace_back("abc");
  EXPECT_EQ(error_of([&] { Tokenizer::from_ranks(tokens, {kBeginOfDocument}); }),
            "token 256 is not a merge of two earlier tokens");
}

}  // namespace
}  // namespace windtunnel::corpus
