#include "agent/paper_ranking.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace windtunnel::agent {

namespace {
constexpr double kSaturation = 1.2;
constexpr double kLengthWeight = 0.75;
}  // namespace

std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> terms;
  std::string term;
  const auto close = [&] {
    if (term.size() >= 2) terms.push_back(term);
    term.clear();
  };
  for (const char sign : text) {
    const auto letter = static_cast<unsigned char>(sign);
    if (std::isalnum(letter) != 0 || letter >= 0x80) {
      term += static_cast<char>(std::tolower(letter));
    } else {
      close();
    }
  }
  close();
  return terms;
}

PaperRanking::PaperRanking(const std::vector<Paper>& papers) : papers_(papers) {
  for (size_t i = 0; i < papers.size(); ++i) {
    std::map<std::string, double> counts;
    const std::vector<std::string> terms = terms_of(papers[i].title + " " + papers[i].text);
    for (const std::string& term : terms) ++counts[term];
    for (const auto& [term, count] : counts) occurrences_[term].emplace_back(i, count);
    lengths_.push_back(static_cast<double>(terms.size()));
    mean_length_ += lengths_.back() / static_cast<double>(papers.size());
  }
}

std::vector<double> PaperRanking::scores(const std::string& query) const {
  std::vector<double> scores(papers_.size(), 0.0);
  const auto n = static_cast<double>(papers_.size());
  const std::vector<std::string> terms = terms_of(query);
  for (const std::string& term : std::set<std::string>(terms.begin(), terms.end())) {
    const auto found = occurrences_.find(term);
    if (found == occurrences_.end()) continue;
    const auto df = static_cast<double>(found->second.size());
    const double idf = std::log(1 + (n - df + 0.5) / (df + 0.5));
    for (const auto& [paper, tf] : found->second) {
      const double length = 1 - kLengthWeight + kLengthWeight * lengths_[paper] / mean_length_;
      scores[paper] += idf * tf * (kSaturation + 1) / (tf + kSaturation * length);
    }
  }
  return scores;
}

std::vector<size_t> PaperRanking::nearest(const std::string& query,
                                          const std::set<std::string>& seen, size_t count,
                                          uint64_t seed) const {
  const std::vector<double> score = scores(query);
  std::vector<size_t> order(papers_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  base::RandomStream(seed, "literature").shuffle(order);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool a_seen = seen.contains(papers_[a].key), b_seen = seen.contains(papers_[b].key);
    return a_seen != b_seen ? b_seen : score[a] > score[b];
  });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace windtunnel::agent
