#include "agent/retry_after.h"

#include <gtest/gtest.h>

namespace windtunnel::agent {
namespace {

// Wed, 21 Oct 2026 07:28:00 GMT.
const auto kNow = std::chrono::system_clock::from_time_t(1'792'567'680);

std::optional<double> asked(const std::map<std::string, std::string>& headers) {
  return asked_wait_seconds(headers, kNow);
}

TEST(RetryAfter, ReadsEveryForm) {
  const std::vector<std::pair<std::string, std::optional<double>>> forms = {
      {"7", 7},
      {"1.5", 1.5},
      {"0", 0},
      {"20s", 20},
      {"1m30s", 90},
      {"500ms", 0.5},
      {"1h0m2.5s", 3602.5},
      {"1792567710", 30},
      {"1792567710000", 30},
      {"Wed, 21 Oct 2026 07:28:30 GMT", 30},
      {"Wednesday, 21-Oct-26 07:28:30 GMT", 30},
      {"Wed Oct 21 07:28:30 2026", 30},
      {"2026-10-21T07:28:30Z", 30},
      {"2026-10-21T07:28:30.250Z", 30},
      {"2026-10-21T09:28:30+02:00", 30},
      {"Wed, 21 Oct 2020 07:28:30 GMT", 0},
      {"", std::nullopt},
      {"-1", std::nullopt},
      {"soon", std::nullopt},
      {"nan", std::nullopt},
      {"inf", std::nullopt},
      {"0x10", std::nullopt},
      {"5 minutes", std::nullopt},
      {"1m-30s", std::nullopt}};
  for (const auto& [text, seconds] : forms) {
    EXPECT_EQ(asked({{"retry-after", text}}), seconds) << text;
  }
}

TEST(RetryAfter, MillisecondsGoFirstAndResetsLast) {
  EXPECT_EQ(asked({{"retry-after-ms", "250"}, {"retry-after", "9"}}), 0.25);
  EXPECT_EQ(asked({{"retry-after-ms", "soon"}, {"retry-after", "9"}}), 9);
  EXPECT_EQ(asked({{"retry-after", "9"}, {"x-ratelimit-reset-requests", "60"}}), 9);
  EXPECT_EQ(asked({{"retry-after", "soon"}, {"x-ratelimit-reset-requests", "60"}}), 60);
}

TEST(RetryAfter, OfSeveralResetsTheLargestCountsAndNonsenseDoesNot) {
  EXPECT_EQ(asked({{"x-ratelimit-reset-requests", "1s"}, {"x-ratelimit-reset-tokens", "6m0s"}}),
            360);
  EXPECT_EQ(asked({{"anthropic-ratelimit-requests-reset", "2026-10-21T07:28:10Z"},
                   {"anthropic-ratelimit-input-tokens-reset", "2026-10-21T07:29:00Z"},
                   {"anthropic-ratelimit-requests-remaining", "99"}}),
            60);
  EXPECT_EQ(asked({{"x-ratelimit-reset-requests", "-1"}, {"x-ratelimit-reset-tokens", "0"}}),
            std::nullopt);
  EXPECT_EQ(asked({}), std::nullopt);
}

}  // namespace
}  // namespace windtunnel::agent
