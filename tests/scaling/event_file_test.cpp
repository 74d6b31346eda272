#include "scaling/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "scaling/observations.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::scaling {
namespace {

template <class Number>
std::string bytes_of(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string nested(int field, const std::string& content) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

/// An event with one scalar, as TensorBoard's writers make it: simple_value or a float tensor.
std::string record(int64_t step, const std::string& tag, float value, bool as_tensor = false) {
  const std::string number =
      as_tensor ? nested(8, varint(1 << 3) + varint(1) + nested(4, bytes_of(value)))
                : varint(2 << 3 | 5) + bytes_of(value);
  const std::string event = varint(1 << 3 | 1) + bytes_of(1.5) + varint(2 << 3) +
                            varint(static_cast<uint64_t>(step)) +
                            nested(5, nested(1, nested(1, tag) + number));
  const std::string length = bytes_of<uint64_t>(event.size());
  return length + bytes_of(masked_crc32c(length)) + event + bytes_of(masked_crc32c(event));
}

TEST(EventFile, ChecksumIsCastagnolis) { EXPECT_EQ(crc32c("123456789"), 0xe3069283u); }

TEST(EventFile, EachRunGivesTheLastValueOfEachTag) {
  const tests::TemporaryFolder folder;
  base::write_file_atomic(folder / "a/events.out.tfevents.1",
                          record(10, "loss", 3.5f) + record(30, "loss", 2.5f) +
                              record(20, "loss", 9.f) + record(30, "tokens", 1e9f, true));
  base::write_file_atomic(folder / "b/events.out.tfevents.2", record(5, "loss", 4.f));
  const std::vector<EventRun> runs = read_event_runs(folder / ".");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].name, "a");
  EXPECT_EQ(runs[0].last.at("loss"), 2.5);
  EXPECT_EQ(runs[0].last.at("tokens"), 1e9);
  EXPECT_EQ(runs[0].last_step, 30);
  EXPECT_EQ(runs[1].last.count("tokens"), 0u);
}

TEST(EventFile, AFolderOfRunsIsATable) {
  const tests::TemporaryFolder folder;
  for (const char* run : {"a", "b"}) {
    base::write_file_atomic(
        folder / run / "events.out.tfevents.1",
        record(1, "eval/loss", run[0] == 'a' ? 3.f : 2.f) + record(1, "flops", 1e18f));
  }
  const Observations rows =
      read_observations(folder / ".", {.map = ColumnMap::parse("name=run,C=flops,L=eval/loss")});
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_EQ(rows.rows[1].name, "b");
  EXPECT_EQ(rows.rows[1].loss, 2);
}

TEST(EventFile, ARecordCutShortEndsTheFileAndADamagedOneIsAnError) {
  const tests::TemporaryFolder folder;
  const std::string first = record(1, "loss", 3.f), second = record(2, "loss", 2.f);
  const auto file = folder / "events.out.tfevents.1";
  base::write_file_atomic(file, first + second.substr(0, second.size() - 3));
  EXPECT_EQ(read_event_runs(folder / ".")[0].last.at("loss"), 3);
  std::string damaged = first + second;
  damaged[first.size() + 20] ^= 1;
  base::write_file_atomic(file, damaged);
  try {
    read_event_runs(folder / ".");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("byte " + std::to_string(first.size()) +
                                                 ": the checksum of the record is wrong"));
  }
}

TEST(EventFile, AFolderWithoutEventsIsNamed) {
  const tests::TemporaryFolder folder;
  EXPECT_THROW(read_event_runs(folder / "."), base::Error);
}

}  // namespace
}  // namespace windtunnel::scaling
