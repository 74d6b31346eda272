#pragma once
// Which papers are nearest to some words.
//
//   score = sum over the query's terms of idf * tf (k + 1) / (tf + k (1 - b + b length / mean))
//   idf = log(1 + (n - df + 1/2) / (df + 1/2)), k = 1.2, b = 0.75
//
// Source:  Robertson & Zaragoza 2009, "The probabilistic relevance framework: BM25 and beyond".

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/papers.h"

namespace windtunnel::agent {

/// Lower-case runs of letters and digits, two or more; bytes outside ASCII count as letters.
std::vector<std::string> terms_of(std::string_view text);

class PaperRanking {
 public:
  /// Cost: one pass over all text.
  explicit PaperRanking(const std::vector<Paper>& papers);

  /// One score for each paper, 0 where no term of the query occurs.
  std::vector<double> scores(const std::string& query) const;

  /// Positions of the `count` papers to show next: those not in `seen` (keys) before the others,
  /// each group nearest first, equals in an order drawn from `seed`.
  std::vector<size_t> nearest(const std::string& query, const std::set<std::string>& seen,
                              size_t count, uint64_t seed) const;

 private:
  const std::vector<Paper>& papers_;
  std::vector<double> lengths_;
  double mean_length_ = 0;
  /// Term -> (paper, how often).
  std::map<std::string, std::vector<std::pair<size_t, double>>> occurrences_;
};

}  // namespace windtunnel::agent
