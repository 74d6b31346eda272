#include "trainer/token_rows.h"

#include "base/error.h"
#include "base/text.h"

namespace windtunnel::trainer {
namespace {

using base::Json;
using base::Problem;

constexpr size_t kMaxProblems = 20;

std::string dump(const Json& value) {
  return base::shorten(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

bool is_id(const Json& value, int64_t vocabulary) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) return value.get<uint64_t>() < static_cast<uint64_t>(vocabulary);
  return value.get<int64_t>() >= 0 && value.get<int64_t>() < vocabulary;
}

/// What is wrong with the length of a row; "" if nothing.
std::string length_problem(size_t length, size_t first_length, const TokenRowsRule& rule) {
  const auto columns = static_cast<int64_t>(length);
  if (columns < rule.min_columns || columns > rule.max_columns) {
    return "must have " + std::to_string(rule.min_columns) + " to " +
           std::to_string(rule.max_columns) + " ids";
  }
  if (length != first_length) {
    return "must have as many as row 0, " + std::to_string(first_length);
  }
  return {};
}

}  // namespace

torch::Tensor token_rows(const Json& rows, const std::string& subject, const TokenRowsRule& rule) {
  if (!rows.is_array() || rows.empty()) {
    throw base::ConfigError(subject, {{"(the document)", dump(rows),
                                       "must be a list of rows of token ids, [[5, 17], [3, 8]]"}});
  }
  std::vector<Problem> problems;
  std::vector<int64_t> ids;
  const size_t columns = rows[0].size();
  for (size_t r = 0; r < rows.size() && problems.size() < kMaxProblems; ++r) {
    const Json& row = rows[r];
    const std::string name = "row " + std::to_string(r);
    if (!row.is_array()) {
      problems.push_back({name, dump(row), "must be a list of token ids"});
      continue;
    }
    const std::string length = length_problem(row.size(), columns, rule);
    if (!length.empty()) {
      problems.push_back({name, std::to_string(row.size()) + " ids", length});
    }
    for (size_t c = 0; c < row.size() && problems.size() < kMaxProblems; ++c) {
      if (is_id(row[c], rule.vocabulary)) {
        ids.push_back(row[c].get<int64_t>());
      } else {
        problems.push_back({name + ", position " + std::to_string(c), dump(row[c]),
                            "must be an integer >= 0 and < " + std::to_string(rule.vocabulary)});
      }
    }
  }
  if (!problems.empty()) throw base::ConfigError(subject, std::move(problems));
  return torch::tensor(ids, at::kLong)
      .view({static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)});
}

}  // namespace windtunnel::trainer
