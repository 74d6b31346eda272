#pragma once
// The pattern string: one letter per position, with grouping and repetition: "*D(*E)3",
// "(*D)2(*E)6". Letters are a stored format: a letter never gets another meaning.

#include <string>
#include <string_view>

namespace windtunnel::model {

/// The plain letters, "*D*E*E*E".
/// Errors: ConfigError for model.pattern whose rule shows the string with a caret under the
/// offending column and names the legal letters; also for an empty pattern, unbalanced groups, a
/// repetition of 0 and more than 1,024 positions.
std::string expand_pattern(std::string_view pattern);

/// The one canonical form of a list of letters: the shortest by grouping adjacent repeats, ties to
/// the leftmost; expand_pattern(canonical_pattern(x)) == x.
std::string canonical_pattern(std::string_view letters);

}  // namespace windtunnel::model
