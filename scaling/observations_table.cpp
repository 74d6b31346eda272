// The table of observations.h for people.

#include <algorithm>
#include <map>

#include "base/text.h"
#include "scaling/observations.h"

namespace windtunnel::scaling {
namespace {

constexpr size_t kLinesOfReasons = 20;

}  // namespace

std::string observations_table(const Observations& observations, size_t shown) {
  std::vector<std::vector<std::string>> cells = {
      {"run", "N", "D", "D/N", "C", "loss", "seed", "flags"}};
  const auto has_error = [](const Observation& row) { return row.loss_standard_error.has_value(); };
  const bool errors = std::any_of(observations.rows.begin(), observations.rows.end(), has_error);
  if (errors) cells[0].insert(cells[0].begin() + 6, "se");
  const auto count = [](const std::optional<double>& value) {
    return value ? base::format_count(*value) : "-";
  };
  std::map<std::string, std::vector<std::string>> kinds;
  for (const Flag& flag : observations.flags) kinds[flag.name].push_back(flag.kind);
  const auto& rows = observations.rows;
  for (size_t i = 0; i < rows.size() && i < shown; ++i) {
    const Observation& row = rows[i];
    const auto flags = kinds.find(row.name);
    const bool ratio = row.tokens && row.parameters_active;
    cells.push_back({row.name, count(row.parameters_active), count(row.tokens),
                     ratio ? base::format_number(*row.tokens / *row.parameters_active, 3) : "-",
                     row.flops ? base::format_number(*row.flops, 4) : "-",
                     base::format_number(row.loss, 5), row.seed ? std::to_string(*row.seed) : "-",
                     flags == kinds.end() ? "" : base::join(flags->second, ", ")});
    if (!errors) continue;
    cells.back().insert(cells.back().begin() + 6,
                        has_error(row) ? base::format_number(*row.loss_standard_error, 2) : "-");
  }
  std::string text = base::format_table(cells);
  if (rows.size() > shown) text += "and " + std::to_string(rows.size() - shown) + " more rows\n";
  if (!rows.empty()) {
    text += std::to_string(rows.size()) + " rows; loss in " + rows.front().loss_unit +
            ", C counted as " + rows.front().flops_convention + "\n";
  }
  text += flags_text(observations.flags);
  return text + left_out_text(observations.left_out);
}

std::string flags_text(const std::vector<Flag>& flags) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_reason;
  for (const Flag& flag : flags) by_reason[{flag.kind, flag.reason}].push_back(flag.name);
  std::string text;
  size_t lines = 0;
  for (const auto& [what, names] : by_reason) {
    if (lines++ == kLinesOfReasons) {
      return text + std::to_string(by_reason.size() - kLinesOfReasons) +
             " more flags; --json has them all\n";
    }
    text += what.first + ": " + some_of(names) + ", " + what.second + "\n";
  }
  return text;
}

std::string left_out_text(const std::vector<LeftOut>& left_out) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const LeftOut& row : left_out) by_reason[row.reason].push_back(row.name);
  std::string text;
  size_t lines = 0;
  for (const auto& [reason, names] : by_reason) {
    if (lines++ == kLinesOfReasons) {
      return text + "left out for " + std::to_string(by_reason.size() - kLinesOfReasons) +
             " more reasons; --json has them all\n";
    }
    text += "left out: " + some_of(names) + " (" + reason + ")\n";
  }
  return text;
}

}  // namespace windtunnel::scaling
