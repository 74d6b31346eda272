#include "evaluation/scored_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "corpus/locked_split.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_corpus.h"

namespace windtunnel::evaluation {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<std::string> kTrain = {"some text"};

TEST(ScoredText, TheValidationSplitHasItsDocumentsAndItsBytes) {
  const tests::TemporaryFolder folder;
  const auto manifest = tests::write_corpus(folder.path(), kTrain, {"ab", "\xff\xfe no UTF-8", ""});
  const ScoredText text = validation_text(folder.path(), tests::byte_tokenizer());
  EXPECT_EQ(text.documents(), 3);
  EXPECT_EQ(text.bytes, 13);
  EXPECT_EQ(text.scored_tokens(), 13);
  EXPECT_EQ(text.tokens[1], 'a');
  EXPECT_EQ(text.document_starts, (std::vector<int64_t>{0, 3, 15, 16}));
  EXPECT_EQ(text.document_bytes, (std::vector<int64_t>{2, 11, 0}));
  EXPECT_EQ(text.sha256, manifest.validation_text_sha256);
}

TEST(ScoredText, TokensThatDoNotAddUpToTheTextAreRefused) {
  const tests::TemporaryFolder folder;
  tests::write_corpus(folder.path(), kTrain, {"ab"});
  base::write_file_atomic(folder / "validation.text", "abc");
  EXPECT_THAT(
      [&] { validation_text(folder.path(), tests::byte_tokenizer()); },
      ThrowsMessage<base::Error>(HasSubstr("stand for 2 bytes, but validation.text has 3")));
}

TEST(ScoredText, NoValidationTokensAreRefused) {
  const tests::TemporaryFolder folder;
  tests::write_corpus(folder.path(), kTrain, {});
  EXPECT_THAT([&] { validation_text(folder.path(), tests::byte_tokenizer()); },
              ThrowsMessage<base::Error>(HasSubstr("no validation tokens")));
  tests::write_corpus(folder / "empty", kTrain, {""});
  EXPECT_THAT([&] { validation_text(folder / "empty", tests::byte_tokenizer()); },
              ThrowsMessage<base::Error>(HasSubstr("no validation tokens")));
}

TEST(ScoredText, TheLockedSplitIsCountedBeforeItIsRead) {
  const tests::TemporaryFolder folder;
  tests::write_corpus(folder.path(), kTrain, {"ab"});
  const auto manifest = tests::lock_documents(folder.path(), {"cde", "f"});
  const ScoredText text =
      locked_text(folder.path(), tests::byte_tokenizer(), "somebody", "night/e1-s1");
  EXPECT_EQ(text.documents(), 2);
  EXPECT_EQ(text.bytes, 4);
  EXPECT_EQ(text.sha256, manifest.locked_text_sha256);
  base::write_file_atomic(folder / "locked/locked.text", "other");
  EXPECT_THAT([&] { locked_text(folder.path(), tests::byte_tokenizer(), "somebody", "b"); },
              ThrowsMessage<base::Error>(HasSubstr("stand for 4 bytes, but locked.text has 5")));
  EXPECT_EQ(corpus::locked_accesses(folder.path()).size(), 2u);
}

TEST(ScoredText, ACorpusWithoutALockedSplitSaysWhatToDo) {
  const tests::TemporaryFolder folder;
  tests::write_corpus(folder.path(), kTrain, {"ab"});
  EXPECT_THAT([&] { locked_text(folder.path(), tests::byte_tokenizer(), "somebody", "b"); },
              ThrowsMessage<base::Error>(HasSubstr("has no locked split: an earlier version built "
                                                   "it")));
}

TEST(ScoredText, AFileIsOneDocumentWhateverItsBytes) {
  const tests::TemporaryFolder folder;
  const std::string bytes("a\0\xff", 3);
  base::write_file_atomic(folder / "file", bytes);
  const ScoredText text = text_of_file(folder / "file", tests::byte_tokenizer());
  EXPECT_EQ(text.documents(), 1);
  EXPECT_EQ(text.bytes, 3);
  EXPECT_EQ(text.tokens, (std::vector<int32_t>{256, 'a', 0, 0xff}));
  base::write_file_atomic(folder / "file", "");
  EXPECT_THAT([&] { text_of_file(folder / "file", tests::byte_tokenizer()); },
              ThrowsMessage<base::Error>(HasSubstr("is empty: there is nothing to score")));
}

}  // namespace
}  // namespace windtunnel::evaluation
