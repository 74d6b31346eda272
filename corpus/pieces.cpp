#include "corpus/pieces.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "corpus/tokenizer.h"

namespace windtunnel::corpus {
namespace {

/// Backtracking of the compiled pattern; long runs of one kind of character need more than the
/// default.
constexpr size_t kStackStartBytes = 64 << 10;
constexpr size_t kStackLimitBytes = 64 << 20;

pcre2_code* compile() {
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kSplitPattern), PCRE2_ZERO_TERMINATED,
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr);
  base::check(code != nullptr, "the split pattern does not compile");
  // Where there is no JIT the interpreter gives the same matches, slower.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return code;
}

}  // namespace

// Whitespace is spelled out ([\t-\r\x{85}\p{Z}] is Unicode's White_Space), and so is the case of
// the English endings, so that regular expression engines that disagree about \s or about case
// folding still cut alike.
const char* const kSplitPattern = R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))"
                                  R"(|[^\r\n\p{L}\p{N}]?+\p{L}+)"
                                  R"(|\p{N}{1,2})"
                                  R"(| ?[^\t-\r\x{85}\p{Z}\p{L}\p{N}]++[\r\n]*)"
                                  R"(|[\t-\r\x{85}\p{Z}]*[\r\n])"
                                  R"(|[\t-\r\x{85}\p{Z}]+(?![^\t-\r\x{85}\p{Z}]))"
                                  R"(|[\t-\r\x{85}\p{Z}]+)";

struct PieceSplitter::Parts {
  const pcre2_code* code;
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kStackStartBytes, kStackLimitBytes, nullptr);
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);

  Parts() {
    static const pcre2_code* const shared = compile();
    code = shared;
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Parts() {
    pcre2_match_data_free(match);
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
  }
};

PieceSplitter::PieceSplitter() : parts_(std::make_unique<Parts>()) {}
PieceSplitter::~PieceSplitter() = default;

void PieceSplitter::start(std::string_view bytes) {
  bytes_ = bytes;
  position_ = 0;
  pending_end_ = 0;
}

bool PieceSplitter::next(std::string_view& piece) {
  if (position_ >= bytes_.size()) return false;
  size_t end = pending_end_;
  pending_end_ = 0;
  if (end == 0) {
    const int found = pcre2_match(parts_->code, reinterpret_cast<PCRE2_SPTR>(bytes_.data()),
                                  bytes_.size(), position_, 0, parts_->match, parts_->context);
    if (found == PCRE2_ERROR_NOMATCH) {
      end = bytes_.size();
    } else {
      base::check(found > 0, "the split pattern failed on a text");
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(parts_->match);
      base::check(span[1] > span[0], "the split pattern matched nothing");
      end = span[1];
      if (span[0] > position_) {
        end = span[0];
        pending_end_ = span[1];
      }
    }
  }
  piece = bytes_.substr(position_, end - position_);
  position_ = end;
  return true;
}

}  // namespace windtunnel::corpus
