#include "scaling/observations.h"

#include <cmath>
#include <functional>
#include <set>

#include "base/text.h"
#include "scaling/table_file.h"

namespace windtunnel::scaling {
namespace {

using base::Error;

const std::vector<std::string> kKeys = {"name", "N", "N_total", "D",    "D_unique",
                                        "C",    "L", "se",      "seed", "data"};

/// "a, b, c and 4 more".
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  if (names.size() <= kShown) return base::join(names, ", ");
  return base::join({names.begin(), names.begin() + kShown}, ", ") + " and " +
         std::to_string(names.size() - kShown) + " more";
}

/// Rows must agree in one text property; the message lists the rows behind each value.
void require_one(const std::vector<Observation>& rows, const std::string& what,
                 const std::string& next_step,
                 const std::function<std::string(const Observation&)>& value_of_row) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const Observation& row : rows) groups[value_of_row(row)].push_back(row.name);
  if (groups.size() <= 1) return;
  std::vector<std::string> parts;
  for (const auto& [value, names] : groups) {
    parts.push_back((value.empty() ? "none" : base::shorten(value, 24)) + " (" + some_of(names) +
                    ")");
  }
  throw Error("the rows mix " + what + ": " + base::join(parts, "; ") + "; " + next_step);
}

void require_positive(const Observation& row, const std::string& what, double value) {
  if (std::isfinite(value) && value > 0) return;
  throw Error(row.name + ": " + what + " = " + base::format_number(value) +
              " must be a positive number; correct or remove the row");
}

}  // namespace

Point point_of(const Observation& row) {
  return {row.parameters_active.value_or(0), row.tokens.value_or(0), row.flops.value_or(0)};
}

Observations observations_from_records(const std::vector<study::RunRecord>& records,
                                       const std::string& flops_convention) {
  const bool six_nd = flops_convention == convention::kSixND;
  if (!six_nd && flops_convention != convention::kExact) {
    throw base::UsageError("FLOP convention '" + flops_convention +
                           "' does not exist; known: 6ND, exact");
  }
  Observations result;
  for (const study::RunRecord& record : records) {
    if (!record.completed()) {
      const std::string reason = record.train.outcome == study::outcome::kCompleted
                                     ? "has no evaluation"
                                     : record.train.outcome;
      result.left_out.push_back({record.id, reason});
      continue;
    }
    Observation row;
    row.name = record.id;
    row.parameters_active = static_cast<double>(record.parameters_active);
    row.parameters_total = static_cast<double>(record.parameters_total);
    if (record.train.tokens) row.tokens = static_cast<double>(*record.train.tokens);
    if (row.tokens && record.train.epochs) {
      row.unique_tokens =
          *record.train.epochs > 1 ? *row.tokens / *record.train.epochs : *row.tokens;
    }
    row.flops_convention = flops_convention;
    if (!six_nd) row.flops = record.train.flops_exact;
    if (six_nd && row.tokens) row.flops = 6 * *row.parameters_active * *row.tokens;
    row.loss = record.evaluation->bits_per_byte;
    row.loss_unit = "bits_per_byte";
    row.seed = record.seed;
    row.data_fingerprint = record.data_fingerprint;
    // A run ends "completed" only when its budget, which drives the schedule, is used up.
    row.schedule_finished = true;
    result.rows.push_back(std::move(row));
  }
  return result;
}

ColumnMap ColumnMap::parse(const std::string& text) {
  ColumnMap map;
  for (const std::string& part : base::split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string key(base::trim(part.substr(0, equals)));
    const std::string column =
        equals == std::string::npos ? "" : std::string(base::trim(part.substr(equals + 1)));
    if (column.empty() || std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      throw base::UsageError("column map '" + part + "' must be KEY=COLUMN with KEY one of " +
                             base::join(kKeys, ", "));
    }
    if (!map.columns.emplace(key, column).second) {
      throw base::UsageError("column map gives " + key + " twice");
    }
  }
  const auto has = [&](const char* key) { return map.columns.count(key) > 0; };
  if (!has("L")) throw base::UsageError("column map '" + text + "' has no L=<column of the loss>");
  if (!has("C") && !(has("N") && has("D"))) {
    throw base::UsageError("column map '" + text +
                           "' needs C=<column of the FLOPs>, or N= and D= for C = 6ND");
  }
  return map;
}

Observations read_observations(const std::filesystem::path& file, const ImportOptions& options) {
  const TableFile table = read_table_file(file);
  for (const auto& [key, column] : options.map.columns) table.require_column(column, key);
  const auto column_of = [&](const char* key) -> const std::string* {
    const auto found = options.map.columns.find(key);
    return found == options.map.columns.end() ? nullptr : &found->second;
  };
  Observations result;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const auto number = [&](const char* key) {
      const std::string* column = column_of(key);
      return column ? table.number(r, *column) : std::nullopt;
    };
    const auto text = [&](const char* key) {
      const std::string* column = column_of(key);
      return column ? table.text(r, *column) : std::string();
    };
    Observation row;
    row.name = text("name");
    if (row.name.empty()) row.name = table.row_name(r);
    row.parameters_active = number("N");
    row.parameters_total = number("N_total");
    row.tokens = number("D");
    row.unique_tokens = number("D_unique");
    row.flops = number("C");
    row.flops_convention = options.flops_convention;
    if (!column_of("C")) {
      row.flops_convention = convention::kSixND;
      if (row.parameters_active && row.tokens) {
        row.flops = 6 * *row.parameters_active * *row.tokens;
      }
    }
    row.loss_unit = options.loss_unit;
    row.loss_standard_error = number("se");
    if (const auto seed = number("seed")) row.seed = static_cast<int64_t>(*seed);
    row.data_fingerprint = text("data");
    const auto loss = number("L");
    if (!loss) {
      result.left_out.push_back({row.name, "has no loss in column " + *column_of("L")});
      continue;
    }
    row.loss = *loss;
    result.rows.push_back(std::move(row));
  }
  return result;
}

void require_fittable(const std::vector<Observation>& rows, const std::string& law_name) {
  const Law& law = law_named(law_name).entry;
  if (rows.empty()) throw Error("there are no rows to fit");
  require_one(rows, "units of the loss", "convert them to one",
              [](const auto& row) { return row.loss_unit; });
  require_one(rows, "ways of counting FLOPs", "count all of them one way",
              [](const auto& row) { return row.flops_convention; });
  require_one(rows, "data sets", "fit runs on the same data apart from the others",
              [](const auto& row) { return row.data_fingerprint; });

  std::map<std::string, std::string> runs;
  std::set<std::vector<double>> points;
  std::set<double> losses;
  for (const Observation& row : rows) {
    require_positive(row, "loss", row.loss);
    std::vector<double> where;
    for (const Variable variable : law.variables) {
      const double value = value_of(point_of(row), variable);
      require_positive(row, variable_name(variable), value);
      where.push_back(value);
    }
    if (row.flops_convention != convention::kExact && row.flops && row.parameters_active &&
        row.tokens) {
      const double ratio = *row.flops / (6 * *row.parameters_active * *row.tokens);
      if (!(ratio > 0.5 && ratio < 2)) {
        throw Error(row.name + ": C = " + base::format_number(*row.flops) + " is " +
                    base::format_number(ratio, 3) +
                    " times 6ND; a factor above 2 means that N, D or C is in another unit");
      }
    }
    // The same place, seed and loss to the last digit: one run written down twice.
    const std::string identity =
        base::join({base::encode_number(row.parameters_active).dump(),
                    base::encode_number(row.tokens).dump(), base::encode_number(row.flops).dump(),
                    std::to_string(row.seed.value_or(-1)), base::encode_number(row.loss).dump()},
                   "|");
    for (const std::string& key : {"name " + row.name, "values " + identity}) {
      const auto [found, is_new] = runs.emplace(key, row.name);
      if (!is_new) {
        throw Error(found->second + " and " + row.name +
                    " are the same run; keep one of them, or the fit counts it twice");
      }
    }
    points.insert(where);
    losses.insert(row.loss);
  }
  const auto parameters = static_cast<size_t>(law.parameter_count());
  std::vector<std::string> variables;
  for (const Variable variable : law.variables) variables.push_back(variable_name(variable));
  if (rows.size() < parameters + 1 || points.size() < parameters) {
    throw Error("law " + law_name + " has " + std::to_string(parameters) +
                " parameters and needs " + std::to_string(parameters + 1) + " rows at " +
                std::to_string(parameters) + " different " + base::join(variables, ", ") +
                "; there are " + std::to_string(rows.size()) + " rows at " +
                std::to_string(points.size()) + "; add runs or fit a law with fewer parameters");
  }
  if (losses.size() == 1) {
    throw Error("all " + std::to_string(rows.size()) + " losses equal " +
                base::format_number(*losses.begin()) + "; there is no trend to fit");
  }
}

std::string observations_table(const Observations& observations) {
  std::vector<std::vector<std::string>> cells = {{"run", "N", "D", "C", "loss", "seed"}};
  const auto count = [](const std::optional<double>& value) {
    return value ? base::format_count(*value) : "-";
  };
  for (const Observation& row : observations.rows) {
    cells.push_back({row.name, count(row.parameters_active), count(row.tokens),
                     row.flops ? base::format_number(*row.flops, 4) : "-",
                     base::format_number(row.loss, 5), row.seed ? std::to_string(*row.seed) : "-"});
  }
  std::string text = base::format_table(cells);
  for (const LeftOut& row : observations.left_out) {
    text += "left out: " + row.name + " (" + row.reason + ")\n";
  }
  return text;
}

}  // namespace windtunnel::scaling
