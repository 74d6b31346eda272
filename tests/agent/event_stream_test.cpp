#include "agent/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windtunnel::agent {
namespace {

using ::testing::ElementsAre;

/// "name|data" of each event, the bytes given in pieces of `size`.
std::vector<std::string> events_of(const std::string& bytes, size_t size) {
  EventStream stream;
  std::vector<std::string> texts;
  const auto take = [&](const std::vector<StreamEvent>& events) {
    for (const StreamEvent& event : events) texts.push_back(event.name + "|" + event.data);
  };
  for (size_t at = 0; at < bytes.size(); at += size) {
    take(stream.add(std::string_view(bytes).substr(at, size)));
  }
  take(stream.finish());
  return texts;
}

// Both line ends and their mixtures, a comment, fields nobody asked for, several lines of data,
// characters of two to four bytes.
const std::string kBytes =
    "\xEF\xBB\xBF"
    ": hello\r\n\r\nevent: delta\r\nid: 7\r\ndata: {\"a\": "
    "\"\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80\"}\r\n\r\n"
    "data:one\ndata: two\n\n"
    "retry: 5\rdata\rdata:  x\r\r"
    "event: empty\n\n"
    "data: [DONE]\n\n";

TEST(EventStream, ReadsTheSameWhereverItIsTorn) {
  const std::vector<std::string> whole = events_of(kBytes, kBytes.size());
  EXPECT_THAT(whole, ElementsAre("delta|{\"a\": \"\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80\"}",
                                 "|one\ntwo", "|\n x", "|[DONE]"));
  for (size_t size = 1; size < 40; ++size) EXPECT_EQ(events_of(kBytes, size), whole) << size;
}

TEST(EventStream, TheEndCompletesAnEvent) {
  EXPECT_THAT(events_of("data: a\n\ndata: b", 3), ElementsAre("|a", "|b"));
  EXPECT_THAT(events_of("data: b\n", 3), ElementsAre("|b"));
  EXPECT_THAT(events_of("\n\n", 1), ElementsAre());
}

TEST(EventStream, KnowsWhatServersSendInsteadOfData) {
  EXPECT_THAT(events_of("error: {\"code\":500}\n\n", 5), ElementsAre("error|{\"code\":500}"));
  EXPECT_THAT(events_of("{\"error\":\"no memory\"}\n", 5),
              ElementsAre("|{\"error\":\"no memory\"}"));
}

TEST(EventStream, AGiantLineEndsTheReading) {
  EventStream stream;
  EXPECT_TRUE(stream.add("data: " + std::string(EventStream::kLongestLine + 1, 'x')).empty());
  EXPECT_TRUE(stream.overflowed());
  EXPECT_TRUE(stream.add("\n\ndata: y\n\n").empty());
  EXPECT_TRUE(stream.finish().empty());
}

}  // namespace
}  // namespace windtunnel::agent
