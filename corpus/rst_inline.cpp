#include "corpus/rst_inline.h"

#include <cctype>

#include "base/text.h"

namespace windtunnel::corpus {
namespace {

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         static_cast<unsigned char>(letter) >= 0x80;
}

bool is_space(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  std::string read() {
    while (at_ < source_.size()) {
      const char next = source_[at_];
      const bool taken = next == '`'   ? literal() || interpreted()
                         : next == '*' ? starred()
                         : next == ':' ? role()
                         : next == '[' ? footnote()
                                       : next == '\\' && escape();
      if (!taken) text_ += source_[at_++];
    }
    return std::move(text_);
  }

 private:
  /// Inline markup starts at the edge of a word.
  bool at_start() const { return at_ == 0 || !is_word(source_[at_ - 1]); }

  bool literal() {
    if (source_.substr(at_, 2) != "``") return false;
    const size_t end = source_.find("``", at_ + 2);
    if (end == source_.npos) return false;
    text_ += source_.substr(at_ + 2, end - at_ - 2);
    at_ = end + 2;
    return true;
  }

  /// `text`, `text <target>`, `text`_ and `text`__.
  bool interpreted() {
    const size_t end = source_.find('`', at_ + 1);
    if (end == source_.npos || end == at_ + 1) return false;
    std::string_view inner = source_.substr(at_ + 1, end - at_ - 1);
    const size_t target = inner.rfind('<');
    if (inner.back() == '>' && target != inner.npos && target > 0) {
      inner = base::trim(inner.substr(0, target));
    }
    if (!inner.empty() && (inner[0] == '~' || inner[0] == '!')) inner.remove_prefix(1);
    text_ += inner;
    at_ = end + 1;
    while (at_ < source_.size() && source_[at_] == '_') ++at_;
    return true;
  }

  /// :name:`...`
  bool role() {
    if (!at_start()) return false;
    size_t end = at_ + 1;
    while (end < source_.size() && (is_word(source_[end]) || source_[end] == ':' ||
                                    source_[end] == '-' || source_[end] == '_')) {
      ++end;
    }
    const bool is_role =
        end < source_.size() && source_[end] == '`' && source_[end - 1] == ':' && end > at_ + 2;
    if (!is_role) return false;
    const size_t start = at_;
    at_ = end;
    if (interpreted()) return true;
    at_ = start;
    return false;
  }

  /// *emphasis* and **strong**; a lone star stays.
  bool starred() {
    const size_t stars = source_.substr(at_, 2) == "**" ? 2 : 1;
    const size_t first = at_ + stars;
    if (!at_start() || first >= source_.size() || is_space(source_[first])) return false;
    const std::string mark(stars, '*');
    for (size_t end = source_.find(mark, first + 1); end != source_.npos;
         end = source_.find(mark, end + 1)) {
      const bool closes_word = !is_space(source_[end - 1]);
      const size_t after = end + stars;
      if (closes_word && (after >= source_.size() || !is_word(source_[after]))) {
        text_ += source_.substr(first, end - first);
        at_ = after;
        return true;
      }
      if (end - first > kLongestEmphasis) break;
    }
    return false;
  }

  /// [1]_, [#name]_ and [*]_ refer to notes at the end; their marks say nothing here.
  bool footnote() {
    const size_t end = source_.find("]_", at_);
    if (end == source_.npos || end - at_ > 40 ||
        source_.substr(at_, end - at_).find(' ') != source_.npos) {
      return false;
    }
    at_ = end + 2;
    return true;
  }

  bool escape() {
    if (at_ + 1 >= source_.size()) return false;
    const char next = source_[at_ + 1];
    if (!is_space(next)) text_ += next;
    at_ += 2;
    return true;
  }

  /// A closing star farther away belongs to something else.
  static constexpr size_t kLongestEmphasis = 400;

  std::string_view source_;
  size_t at_ = 0;
  std::string text_;
};

}  // namespace

std::string without_inline_markup(std::string_view paragraph) { return Reader(paragraph).read(); }

}  // namespace windtunnel::corpus
