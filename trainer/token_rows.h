#pragma once
// Rows of token ids that come from outside, as JSON: [[5, 17, 3], [8, 8, 1]].

#include <torch/types.h>

#include <string>

#include "base/json.h"

namespace windtunnel::trainer {

/// Which rows are wanted.
struct TokenRowsRule {
  int64_t vocabulary = 0;
  int64_t min_columns = 1;
  int64_t max_columns = 1;
};

/// The ids as int64 [rows, columns].
///
/// Errors: ConfigError that starts with `subject` and names row and position (both from 0), value
/// and rule: no rows, an empty row, rows of different lengths, rows outside the allowed lengths, an
/// id that is no integer in [0, vocabulary). Lists the first twenty problems.
torch::Tensor token_rows(const base::Json& rows, const std::string& subject,
                         const TokenRowsRule& rule);

}  // namespace windtunnel::trainer
