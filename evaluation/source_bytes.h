#pragma once
// The byte count of the fixed-wall study, whose published bits per byte rest on it: a token counts
// as many bytes as it has when it is decoded alone, so a token that holds part of a UTF-8 sequence
// counts 3 for the replacement character, whatever it stands for. Text outside ASCII gets more
// bytes than it has, and the figure comes out lower than over raw bytes.

#include <cstdint>
#include <string_view>
#include <vector>

#include "corpus/tokenizer.h"

namespace windtunnel::evaluation {

/// Length in UTF-8 of `bytes` after every maximal invalid part has become U+FFFD, which has 3
/// bytes: that of Python's bytes.decode("utf-8", errors="replace").
/// Source: The Unicode Standard 15.0, section 3.9, "U+FFFD Substitution of Maximal Subparts".
int64_t replaced_utf8_length(std::string_view bytes);

/// For each token of the vocabulary; 0 for special tokens, which leave both sums.
std::vector<int64_t> source_byte_lengths(const corpus::Tokenizer& tokenizer);

}  // namespace windtunnel::evaluation
