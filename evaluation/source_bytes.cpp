#include "evaluation/source_bytes.h"

namespace windtunnel::evaluation {
namespace {

constexpr int64_t kReplacementBytes = 3;

/// What may follow a first byte: so many more bytes, of which the next lies in [low, high] and the
/// others in [80, BF]. The Unicode Standard 15.0, table 3-7.
struct Sequence {
  int more = 0;
  uint8_t low = 0x80, high = 0xBF;
};

/// `more` is 0 where nothing can start with it; ASCII is no business of it.
Sequence sequence_of(uint8_t first) {
  if (first >= 0xC2 && first <= 0xDF) return {1};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {2};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first >= 0xF1 && first <= 0xF3) return {3};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  return {};
}

}  // namespace

int64_t replaced_utf8_length(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  int64_t length = 0;
  for (size_t i = 0; i < bytes.size();) {
    const uint8_t first = at(i++);
    if (first < 0x80) {
      length += 1;
      continue;
    }
    Sequence sequence = sequence_of(first);
    int taken = 0;
    while (taken < sequence.more && i < bytes.size() && at(i) >= sequence.low &&
           at(i) <= sequence.high) {
      sequence.low = 0x80;
      sequence.high = 0xBF;
      ++i;
      ++taken;
    }
    const bool complete = sequence.more > 0 && taken == sequence.more;
    length += complete ? 1 + taken : kReplacementBytes;
  }
  return length;
}

std::vector<int64_t> source_byte_lengths(const corpus::Tokenizer& tokenizer) {
  std::vector<int64_t> lengths;
  for (int64_t token = 0; token < tokenizer.vocabulary_size(); ++token) {
    // The bytes of special tokens are none.
    lengths.push_back(replaced_utf8_length(tokenizer.token_bytes(static_cast<int32_t>(token))));
  }
  return lengths;
}

}  // namespace windtunnel::evaluation
