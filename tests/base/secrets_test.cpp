#include "base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::base {
namespace {

using ::testing::HasSubstr;
using tests::TemporaryFolder;

// With letters that JSON, addresses and base64 each write differently.
constexpr const char* kKey = R"(cn+4/f1d=7be09?a&"x")";

class Secrets : public ::testing::Test {
 protected:
  Secrets() {
    ::setenv("WINDTUNNEL_TEST_FORMS", kKey, 1);
    secret_from_environment("WINDTUNNEL_TEST_FORMS");
  }
};

TEST_F(Secrets, AreReplacedAsTheyAreAndInsideWords) {
  EXPECT_EQ(redact(std::string("a") + kKey + "b" + kKey), "a[key]b[key]");
  EXPECT_EQ(redact(std::string("nothing here")), "nothing here");
}

TEST_F(Secrets, AreReplacedInEveryFormThatTextTakes) {
  // From Python's json, urllib.parse.quote and base64, with "", "a" and "ab" before and "tail"
  // after the key.
  EXPECT_EQ(redact(std::string(R"("cn+4/f1d=7be09?a&\"x\"")")), "\"[key]\"");
  EXPECT_EQ(redact(std::string(R"("cn+4\/f1d=7be09?a&\"x\"")")), "\"[key]\"");
  EXPECT_EQ(redact(std::string("k=cn%2B4%2Ff1d%3D7be09%3Fa%26%22x%22;")), "k=[key];");
  EXPECT_EQ(redact(std::string("k=cn%2b4%2ff1d%3d7be09%3fa%26%22x%22;")), "k=[key];");
  for (const char* text :
       {"Y24rNC9mMWQ9N2JlMDk/YSYieCJ0YWls", "Y24rNC9mMWQ9N2JlMDk_YSYieCJ0YWls",
        "YWNuKzQvZjFkPTdiZTA5P2EmIngidGFpbA==", "YWJjbis0L2YxZD03YmUwOT9hJiJ4InRhaWw="}) {
    const std::string left = redact(std::string(text));
    EXPECT_THAT(left, HasSubstr(kRedacted));
    EXPECT_LE(left.size(), std::string(text).size() - 18) << left;
  }
}

TEST_F(Secrets, AreReplacedInJsonWhichStaysJson) {
  const Json value = {{"a", {kKey, 12345678, nullptr}}, {kKey, true}};
  EXPECT_EQ(redact(value), (Json{{"a", {"[key]", 12345678, nullptr}}, {"[key]", true}}));
}

TEST_F(Secrets, ComeFromAFileWithoutItsLineEnd) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "key", "  file-key-0815\n");
  EXPECT_EQ(secret_from_file(folder / "key"), "file-key-0815");
  EXPECT_EQ(redact(std::string("file-key-0815")), "[key]");
  write_file_atomic(folder / "none", " \n");
  EXPECT_THROW(secret_from_file(folder / "none"), Error);
  EXPECT_THROW(secret_from_file(folder / "absent"), Error);
}

TEST_F(Secrets, PlaceholdersAreNoSecrets) {
  ::setenv("WINDTUNNEL_TEST_SHORT", "none", 1);
  EXPECT_EQ(secret_from_environment("WINDTUNNEL_TEST_SHORT"), "none");
  EXPECT_EQ(redact(std::string("none of it")), "none of it");
  EXPECT_EQ(secret_from_environment("WINDTUNNEL_TEST_UNSET"), "");
  EXPECT_EQ(secret_from_environment(""), "");
}

TEST_F(Secrets, KeysOfOthersAreKnownByTheirLook) {
  EXPECT_EQ(redact_tokens("Bearer abcdefghij0123456789"), "Bearer [key]");
  EXPECT_EQ(redact_tokens("key 'sk-proj-abcdefghij0123456789'."), "key '[key]'.");
  EXPECT_EQ(redact_tokens("task-abcdefghij0123456789"), "task-abcdefghij0123456789");
  EXPECT_EQ(redact_tokens("sk-short and Bearer of news"), "sk-short and Bearer of news");
}

}  // namespace
}  // namespace windtunnel::base
