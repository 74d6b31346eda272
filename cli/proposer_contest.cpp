#include "cli/proposer_contest.h"

#include <fmt/format.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

#include "agent/comparison.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/places.h"
#include "cli/study_session.h"

namespace windtunnel::cli {
namespace fs = std::filesystem;
namespace {

using base::Json;

/// The program's own entry for a proposer, with its options, or one with defaults.
Json entry_of(const agent::Program& program, const std::string& kind) {
  for (Json entry : program.proposers) {
    if (entry.at("kind") != kind) continue;
    entry.erase("share");
    return entry;
  }
  return {{"kind", kind}};
}

SessionOptions session_options(const ContestOptions& options, const agent::Program& program,
                               const std::string& proposer, int64_t night) {
  SessionOptions session;
  session.program = options.program;
  session.overrides = options.overrides;
  session.overrides.push_back("proposers=" + Json::array({entry_of(program, proposer)}).dump());
  session.overrides.emplace_back("queue=[]");
  session.overrides.push_back("night.seed=" + std::to_string(night));
  session.study =
      (study_folder("contest-" + program.name) / fmt::format("{}-{}", proposer, night)).string();
  return session;
}

struct Difference {
  double mean = 0;
  /// 80 %; NaN with one night.
  double low = NAN, high = NAN;
};

Difference difference(const std::vector<double>& first, const std::vector<double>& second) {
  const auto count = static_cast<double>(first.size());
  Difference result;
  for (size_t i = 0; i < first.size(); ++i) result.mean += (first[i] - second[i]) / count;
  if (first.size() < 2) return result;
  double squares = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    squares += std::pow(first[i] - second[i] - result.mean, 2);
  }
  const double reach = boost::math::quantile(boost::math::students_t(count - 1), 0.9) *
                       std::sqrt(squares / (count - 1) / count);
  result.low = result.mean - reach;
  result.high = result.mean + reach;
  return result;
}

using Gains = std::map<std::string, std::vector<double>>;

Json json_of(const ContestOptions& options, const Gains& gains) {
  Json result = {{"nights", options.nights}, {"gains", gains}, {"differences", Json::array()}};
  for (size_t other = 1; other < options.proposers.size(); ++other) {
    const Difference found =
        difference(gains.at(options.proposers[0]), gains.at(options.proposers[other]));
    result["differences"].push_back({{"first", options.proposers[0]},
                                     {"second", options.proposers[other]},
                                     {"gain", found.mean},
                                     {"interval_low", base::encode_number(found.low)},
                                     {"interval_high", base::encode_number(found.high)}});
  }
  return result;
}

std::string text_of(const ContestOptions& options, const Gains& gains) {
  std::string text = fmt::format(
      "\ngain of a night in bits per byte, by runs that had no part in choosing\n{:<18} {:>8}  "
      "by night\n",
      "proposer", "mean");
  for (const std::string& proposer : options.proposers) {
    double sum = 0;
    std::vector<std::string> nights;
    for (const double gain : gains.at(proposer)) {
      sum += gain;
      nights.push_back(fmt::format("{:.4f}", gain));
    }
    text += fmt::format("{:<18} {:>8.4f}  {}\n", proposer, sum / static_cast<double>(nights.size()),
                        base::join(nights, "  "));
  }
  for (size_t other = 1; other < options.proposers.size(); ++other) {
    const Difference found =
        difference(gains.at(options.proposers[0]), gains.at(options.proposers[other]));
    text += fmt::format("{} gains {:+.4f} more than {}", options.proposers[0], found.mean,
                        options.proposers[other]);
    text += std::isnan(found.low)
                ? "; one night has no interval: --nights 3 or more\n"
                : fmt::format(", 80 % in [{:+.4f}, {:+.4f}] over {} paired nights: {}\n", found.low,
                              found.high, options.nights,
                              found.low > 0    ? "better"
                              : found.high < 0 ? "worse"
                                               : "not told apart");
  }
  return text;
}

}  // namespace

int run_contest(const ContestOptions& options) {
  if (options.proposers.size() < 2) {
    throw base::UsageError("--proposers needs at least two to compare; windtunnel list proposers");
  }
  SessionOptions plain;
  plain.program = options.program;
  plain.overrides = options.overrides;
  const agent::Program program = load_program(plain);
  // All of it must be legal before the first night begins.
  for (const std::string& proposer : options.proposers) {
    load_program(session_options(options, program, proposer, 1));
  }
  if (options.dry_run) {
    for (const std::string& proposer : options.proposers) {
      print(plan_text(session_options(options, program, proposer, 1), true, false));
    }
    print(fmt::format("{} nights of each", options.nights));
    return base::kExitDone;
  }
  Gains gains;
  // Night by night, so that what is there at any time is paired.
  for (int64_t night = 1; night <= options.nights; ++night) {
    for (const std::string& proposer : options.proposers) {
      const SessionOptions session_of_night = session_options(options, program, proposer, night);
      StudySession session(session_of_night);
      session.expect_steps(3);
      session.corpus();
      session.night();
      session.report();
      const study::Journal journal(session.folder() / "journal.db", /*read_only=*/true);
      const auto gain = agent::night_gain(journal);
      if (!gain) throw base::Error("study " + session.folder().string() + " has no measured gain");
      gains[proposer].push_back(*gain);
    }
  }
  if (options.json) {
    print(json_of(options, gains));
  } else {
    print(text_of(options, gains));
  }
  return base::kExitDone;
}

}  // namespace windtunnel::cli
