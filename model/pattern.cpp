#include "model/pattern.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "model/layer_kind.h"

namespace windtunnel::model {
namespace {

constexpr size_t kMostPositions = 1024;
constexpr size_t kDeepestNesting = 32;

std::string legal_letters() {
  std::vector<std::string> letters;
  for (const auto& kind : LayerKinds::instance().kinds()) {
    letters.push_back(std::string(1, kind.entry.letter) + " " + kind.name);
  }
  return base::join(letters, ", ");
}

bool is_letter(char character) {
  for (const auto& kind : LayerKinds::instance().kinds()) {
    if (kind.entry.letter == character) return true;
  }
  return false;
}

bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Recursive descent over  items := ((letter | '(' items ')') count?)*.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::string parse() {
    std::string letters = items(0);
    if (at_ < text_.size()) fail(at_, "this ')' closes nothing; remove it");
    if (letters.empty()) {
      fail(0, "must have at least one layer; legal letters: " + legal_letters());
    }
    return letters;
  }

 private:
  std::string items(size_t depth) {
    std::string letters;
    while (at_ < text_.size() && text_[at_] != ')') {
      const size_t start = at_;
      std::string item;
      if (text_[at_] == '(') {
        if (depth == kDeepestNesting) {
          fail(at_,
               "groups nest deeper than " + std::to_string(kDeepestNesting) + "; write it flatter");
        }
        ++at_;
        item = items(depth + 1);
        if (at_ == text_.size()) fail(start, "this '(' is never closed; add a ')'");
        if (item.empty()) fail(start, "this group is empty; put letters in it or remove it");
        ++at_;
      } else if (is_letter(text_[at_])) {
        item = text_[at_++];
      } else if (is_digit(text_[at_])) {
        fail(at_, "this number repeats nothing; put it after a letter or a group");
      } else {
        fail(at_, "no layer kind has this letter; legal letters: " + legal_letters());
      }
      const size_t times = count();
      if (letters.size() + item.size() * times > kMostPositions) {
        fail(start, "the pattern has more than " + std::to_string(kMostPositions) + " positions");
      }
      for (size_t i = 0; i < times; ++i) letters += item;
    }
    return letters;
  }

  size_t count() {
    if (at_ == text_.size() || !is_digit(text_[at_])) return 1;
    const size_t start = at_;
    size_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      // Stops growing where the limit of positions is passed anyway.
      if (value <= kMostPositions) value = value * 10 + static_cast<size_t>(text_[at_] - '0');
    }
    if (value == 0) fail(start, "a repetition must be at least 1");
    return value;
  }

  [[noreturn]] void fail(size_t column, const std::string& rule) const {
    std::string shown;
    for (const char character : text_)
      shown += character >= ' ' && character < 127 ? character : '?';
    const std::string pattern = "\"" + shown + "\"";
    throw base::ConfigError(
        "model", {{"model.pattern", pattern,
                   "column " + std::to_string(column + 1) + ": " + rule + "\n    " + shown +
                       "\n    " + std::string(column, ' ') + "^"}});
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// Shortest writings of all intervals, by dynamic programming over (length, start).
class Shortener {
 public:
  explicit Shortener(std::string_view letters)
      : letters_(letters),
        size_(letters.size()),
        stride_(size_ + 1),
        common_(stride_ * stride_, 0),
        best_(stride_ * stride_) {
    for (size_t i = size_; i-- > 0;) {
      for (size_t j = size_; j-- > 0;) {
        common_[i * stride_ + j] =
            letters_[i] == letters_[j] ? common_[(i + 1) * stride_ + j + 1] + 1 : 0;
      }
    }
    for (size_t length = 1; length <= size_; ++length) {
      for (size_t start = 0; start + length <= size_; ++start) solve(start, start + length);
    }
  }

  std::string text() const { return write(0, size_); }

 private:
  /// How an interval begins: `times` repetitions of its first `period` letters.
  struct Writing {
    int cost = 0;
    int period = 1;
    int times = 1;
  };

  static int digits(size_t value) {
    return value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : 4;
  }

  int cost(size_t begin, size_t end) const { return best_[begin * stride_ + end].cost; }

  void solve(size_t begin, size_t end) {
    Writing best{1 + cost(begin + 1, end), 1, 1};
    for (size_t period = 1; begin + 2 * period <= end; ++period) {
      const size_t most = std::min(end - begin, period + common_[begin * stride_ + begin + period]);
      for (size_t times = 2; times * period <= most; ++times) {
        const int inner = period == 1 ? 1 : cost(begin, begin + period) + 2;
        const int head = inner + digits(times);
        // A repetition that saves nothing is not written.
        if (head >= static_cast<int>(times * period)) continue;
        const int total = head + cost(begin + times * period, end);
        const bool leftmost = best.times == 1 && total == best.cost;
        if (total < best.cost || leftmost) {
          best = {total, static_cast<int>(period), static_cast<int>(times)};
        }
      }
    }
    best_[begin * stride_ + end] = best;
  }

  std::string write(size_t begin, size_t end) const {
    std::string text;
    while (begin < end) {
      const Writing& writing = best_[begin * stride_ + end];
      const auto period = static_cast<size_t>(writing.period);
      const auto times = static_cast<size_t>(writing.times);
      text +=
          period == 1 ? std::string(1, letters_[begin]) : "(" + write(begin, begin + period) + ")";
      if (times > 1) text += std::to_string(times);
      begin += period * times;
    }
    return text;
  }

  std::string_view letters_;
  size_t size_, stride_;
  /// Length of the longest common prefix of the suffixes at i and j.
  std::vector<size_t> common_;
  std::vector<Writing> best_;
};

}  // namespace

std::string expand_pattern(std::string_view pattern) { return Parser(pattern).parse(); }

std::string canonical_pattern(std::string_view letters) {
  return letters.empty() ? std::string() : Shortener(letters).text();
}

}  // namespace windtunnel::model
