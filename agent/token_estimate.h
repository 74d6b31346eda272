#pragma once

#include <cstdint>
#include <string_view>

namespace windtunnel::agent {

/// How many tokens a text has at most, by any tokenizer that a server may use: two and a half bytes
/// a token, and a token for each byte outside ASCII. Prose has some four bytes a token, the JSON of
/// a question about three.
int64_t most_tokens(std::string_view text);

/// How many it has at least: fewer than a token for eight bytes means that not all was read.
int64_t fewest_tokens(std::string_view text);

}  // namespace windtunnel::agent
