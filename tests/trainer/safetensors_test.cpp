#include "trainer/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::trainer {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string file_with(const std::string& header, const std::string& values) {
  const uint64_t size = header.size();
  std::string content(sizeof size, '\0');
  std::memcpy(content.data(), &size, sizeof size);
  return content + header + values;
}

void expect_refused(const std::string& content, const std::string& message) {
  EXPECT_THAT([&] { parse_safetensors(content, "w"); },
              ThrowsMessage<base::Error>(HasSubstr(message)))
      << content.substr(8);
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

const std::string kGoodHeader = "{\"__metadata__\":{\"a\":\"b\"}," +
                                entry("x", "F32", "[2]", "[0,8]") + "," +
                                entry("y", "U8", "[1,3]", "[8,11]") + "}   ";

TEST(Safetensors, WhatIsWrittenIsRead) {
  const tests::TemporaryFolder folder;
  const std::vector<float> x = {1.5F, -2.25F};
  const std::vector<TensorBytes> tensors = {
      {.name = "layers.0.x", .dtype = "F32", .shape = {1, 2}, .bytes = std::as_bytes(std::span(x))},
      {.name = "empty", .dtype = "I64", .shape = {0, 3}, .bytes = {}},
      {.name = "scalar",
       .dtype = "F32",
       .shape = {},
       .bytes = std::as_bytes(std::span(x)).first(4)}};
  write_safetensors(folder / "file", tensors, {{"format", "pt"}});
  const std::string content = base::read_file(folder / "file");
  uint64_t header = 0;
  std::memcpy(&header, content.data(), sizeof header);
  EXPECT_EQ(header % 8, 0);
  const auto read = parse_safetensors(content, "file");
  ASSERT_EQ(read.size(), 3);
  for (const auto& tensor : read) {
    const auto& written = *std::find_if(tensors.begin(), tensors.end(),
                                        [&](const auto& t) { return t.name == tensor.name; });
    EXPECT_EQ(tensor.dtype, written.dtype);
    EXPECT_EQ(tensor.shape, written.shape);
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), written.bytes.begin(),
                           written.bytes.end()));
  }
}

TEST(Safetensors, AHeaderPaddedWithSpacesAndMetadataIsGood) {
  const auto tensors = parse_safetensors(file_with(kGoodHeader, "01234567890"), "w");
  ASSERT_EQ(tensors.size(), 2);
  EXPECT_EQ(tensors[1].name, "y");
  EXPECT_EQ(static_cast<char>(tensors[1].bytes[0]), '8');
}

TEST(Safetensors, EveryRuleOfTheFormatIsChecked) {
  expect_refused("1234567", "w: 7 bytes are too few");
  expect_refused(std::string(8, '\xff') + "{}", "more than the format's limit of 100000000");
  expect_refused(file_with("{}", "").substr(0, 9), "the header claims 2 bytes, but the file has 9");
  expect_refused(file_with("", ""), "must start with '{'");
  expect_refused(file_with(" {}", ""), "must start with '{'");
  expect_refused(file_with("{\"x\"}", ""), "the header is not JSON");
  expect_refused(file_with("{\"x\":\"\xff\"}", ""), "the header is not JSON");
  expect_refused(file_with("{} {}", ""), "the header is not JSON");
  expect_refused(file_with("{\"__metadata__\":{\"a\":1}}", ""), "strings to strings");
  expect_refused(file_with("{\"x\":1}", ""), "tensor 'x' must have exactly dtype, shape");
  expect_refused(file_with("{" + entry("x", "F33", "[1]", "[0,4]") + "}", "0123"),
                 "unknown dtype \"F33\"");
  expect_refused(file_with("{" + entry("x", "U8", "3", "[0,3]") + "}", "012"),
                 "shape must be an array");
  expect_refused(file_with("{" + entry("x", "U8", "[-3]", "[0,3]") + "}", "012"),
                 "a size in shape is -3: must be an integer >= 0");
  expect_refused(file_with("{" + entry("x", "U8", "[1.5]", "[0,3]") + "}", "012"),
                 "must be an integer >= 0");
  expect_refused(file_with("{" + entry("x", "U8", "[18446744073709551615]", "[0,3]") + "}", "012"),
                 "too large");
  expect_refused(
      file_with("{" + entry("x", "F64", "[4294967296,4294967296]", "[0,3]") + "}", "012"),
      "overflows 64 bits");
  expect_refused(file_with("{" + entry("x", "U8", "[3]", "[0]") + "}", "012"),
                 "data_offsets must be two integers");
  expect_refused(file_with("{" + entry("x", "U8", "[3]", "[3,0]") + "}", "012"),
                 "lies at [3,0], but the file holds 3 bytes");
  expect_refused(file_with("{" + entry("x", "U8", "[3]", "[0,4]") + "}", "012"), "lies at [0,4]");
  expect_refused(file_with("{" + entry("x", "F32", "[3]", "[0,3]") + "}", "012"),
                 "has 3 bytes, but its dtype and shape need 12");
  const std::string first = entry("x", "U8", "[2]", "[0,2]");
  expect_refused(file_with("{" + first + "," + entry("y", "U8", "[2]", "[1,3]") + "}", "012"),
                 "tensor 'y' starts at 1, but the one before ends at 2");
  expect_refused(file_with("{" + first + "," + entry("y", "U8", "[1]", "[3,4]") + "}", "0123"),
                 "no overlap and no hole");
  expect_refused(file_with("{" + first + "," + entry("x", "U8", "[1]", "[2,3]") + "}", "012"),
                 "has the key 'x' twice");
  expect_refused(file_with("{" + first + "}", "0123"), "2 bytes after the last tensor");
}

TEST(Safetensors, DamagedFilesAreRefusedOrReadButNeverFollowedOutOfBounds) {
  base::RandomStream random(1, "fuzz");
  const std::string good = file_with(kGoodHeader, "01234567890");
  for (int round = 0; round < 20000; ++round) {
    std::string content = good;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      content[random.below(content.size())] = static_cast<char>(random.below(256));
    }
    if (random.below(4) == 0) content.resize(random.below(content.size()));
    try {
      for (const auto& tensor : parse_safetensors(content, "w")) {
        if (tensor.bytes.empty()) continue;
        const char* begin = reinterpret_cast<const char*>(tensor.bytes.data());
        ASSERT_GE(begin, content.data());
        ASSERT_LE(begin + tensor.bytes.size(), content.data() + content.size());
      }
    } catch (const base::Error&) {
    }
  }
}

TEST(Safetensors, MetadataIsReadAndMayBeAbsent) {
  const std::map<std::string, std::string> expected = {{"a", "b"}};
  EXPECT_EQ(parse_metadata(file_with(kGoodHeader, std::string(11, 'x')), "w"), expected);
  EXPECT_TRUE(parse_metadata(file_with("{}", ""), "w").empty());
}

}  // namespace
}  // namespace windtunnel::trainer
