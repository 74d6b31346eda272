#include "scaling/observations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "base/text.h"
#include "scaling/table_file.h"

namespace windtunnel::scaling {
namespace {

using base::Error;

const std::vector<std::string> kKeys = {
    "name",    "run", "arm",  "size", "N",    "N_total", "N_no_embed", "D", "D_unique", "C",
    "counted", "L",   "unit", "se",   "seed", "data",    "lr",         "B", "tuned",    "finished"};

/// Rows must agree in one text property; the message lists the rows behind each value.
void require_one(const std::vector<Observation>& rows, const std::string& what,
                 const std::string& next_step, std::string Observation::*property) {
  const std::string& first = rows.front().*property;
  const bool one = std::all_of(rows.begin(), rows.end(),
                               [&](const Observation& row) { return row.*property == first; });
  if (one) return;
  std::map<std::string, std::vector<std::string>> groups;
  for (const Observation& row : rows) groups[row.*property].push_back(row.name);
  std::vector<std::string> parts;
  for (const auto& [value, names] : groups) {
    parts.push_back((value.empty() ? "none" : base::shorten(value, 24)) + " (" + some_of(names) +
                    ")");
  }
  throw Error("the rows mix " + what + ": " + base::join(parts, "; ") + "; " + next_step);
}

/// `value` is 0 where the row has none.
void require_positive(const Observation& row, const std::string& what, double value) {
  if (std::isfinite(value) && value > 0) return;
  const std::string key = what == "U" ? "D_unique" : what;
  if (value == 0 && what != "loss" && text_of(row, key).empty()) {
    throw Error(row.name + " has no " + what + "; fill it in, or leave the row out with --where '" +
                key + ">0'");
  }
  throw Error(row.name + ": " + what + " = " + base::format_number(value) +
              " must be a positive number; correct or remove the row");
}

}  // namespace

std::vector<std::vector<size_t>> rows_of_one_loss(const std::vector<Observation>& rows) {
  std::vector<std::pair<double, size_t>> order;
  order.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) order.emplace_back(rows[i].loss, i);
  std::sort(order.begin(), order.end());
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i].first != order[i - 1].first) continue;
    const bool is_new = groups.empty() || groups.back().back() != order[i - 1].second;
    if (is_new) groups.push_back({order[i - 1].second});
    groups.back().push_back(order[i].second);
  }
  return groups;
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  if (names.size() <= kShown) return base::join(names, ", ");
  return base::join({names.begin(), names.begin() + kShown}, ", ") + " and " +
         std::to_string(names.size() - kShown) + " more";
}

Point point_of(const Observation& row) {
  const double tokens = row.tokens.value_or(0);
  return {row.parameters_active.value_or(0),
          tokens,
          row.flops.value_or(0),
          row.unique_tokens.value_or(tokens),
          row.learning_rate.value_or(0),
          row.batch_tokens.value_or(0)};
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
    row.loss_standard_error = record.evaluation->standard_error;
    row.scored_text = record.evaluation->validation_text_sha256;
    row.seed = record.seed;
    row.data_fingerprint = record.data_fingerprint;
    // A run ends "completed" only when its budget, which drives the schedule, is used up.
    row.schedule_finished = true;
    result.rows.push_back(std::move(row));
  }
  return result;
}

ColumnMap ColumnMap::parse(const std::string& text, const Law* law) {
  ColumnMap map;
  for (const std::string& part : base::split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string key(base::trim(std::string_view(part).substr(0, equals)));
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
  const auto has = [&](const std::string& key) { return map.columns.count(key) > 0; };
  const bool has_compute = has("C") || (has("N") && has("D"));
  if (law != nullptr && law->response) {
    const std::string described = variable_name(*law->response);
    // What such a law describes stands in for the loss of rows that are optima already.
    if (!has("L") && has(described)) map.columns["L"] = map.columns.at(described);
    for (const Variable variable : law->variables) {
      const std::string key = variable_name(variable);
      if (has(key) || (variable == Variable::kFlops && has_compute)) continue;
      throw base::UsageError("column map '" + text + "' has no " + key +
                             "=<column>, which a law of " + described + "* over " + key + " reads");
    }
    if (!has(described) && !(described == "N" && has_compute)) {
      throw base::UsageError("column map '" + text + "' has no " + described +
                             "=<column>, which is what the law describes");
    }
  } else if (!has_compute) {
    throw base::UsageError("column map '" + text +
                           "' needs C=<column of the FLOPs>, or N= and D= for C = 6ND");
  }
  if (!has("L")) throw base::UsageError("column map '" + text + "' has no L=<column of the loss>");
  return map;
}

namespace {

/// The columns of a table by key, resolved once.
class MappedTable {
 public:
  MappedTable(const TableFile& table, const ColumnMap& map) : table_(table) {
    for (const auto& [key, column] : map.columns) {
      columns_[key] = table.require_column(column, key);
    }
  }

  bool has(const char* key) const { return columns_.count(key) > 0; }
  std::optional<double> number(size_t row, const char* key) const {
    const auto found = columns_.find(key);
    return found == columns_.end() ? std::nullopt : table_.number(row, found->second);
  }
  std::string text(size_t row, const char* key) const {
    const auto found = columns_.find(key);
    return found == columns_.end() ? std::string() : std::string(table_.cell(row, found->second));
  }
  std::optional<bool> flag(size_t row, const char* key) const {
    const std::string value = text(row, key);
    if (value.empty()) return std::nullopt;
    if (value == "1" || value == "true" || value == "True" || value == "yes") return true;
    if (value == "0" || value == "false" || value == "False" || value == "no") return false;
    throw Error(table_.file.string() + ", " + table_.row_name(row) + ": " + key + " = '" + value +
                "' must be true or false");
  }

  /// Column of a name of a filter: a mapped key first, then a column; nullopt for a key whose value
  /// is computed (D = C / 6N, C = 6ND) or the same for all.
  std::optional<size_t> column_of(const std::string& name) const {
    const auto found = columns_.find(name);
    if (found != columns_.end()) return found->second;
    const bool is_key = std::find(kKeys.begin(), kKeys.end(), name) != kKeys.end();
    if (is_key && !table_.has_column(name)) return std::nullopt;
    return table_.require_column(name, "--where " + name);
  }

 private:
  const TableFile& table_;
  std::map<std::string, size_t, std::less<>> columns_;
};

Observation observation_of(const TableFile& table, const MappedTable& mapped, size_t r,
                           const ImportOptions& options) {
  Observation row;
  row.name = mapped.text(r, "name");
  if (row.name.empty()) row.name = table.row_name(r);
  row.run = mapped.text(r, "run");
  row.arm = mapped.text(r, "arm");
  row.size = mapped.text(r, "size");
  row.parameters_active = mapped.number(r, "N");
  row.parameters_total = mapped.number(r, "N_total");
  row.parameters_no_embedding = mapped.number(r, "N_no_embed");
  row.tokens = mapped.number(r, "D");
  row.unique_tokens = mapped.number(r, "D_unique");
  row.flops = mapped.number(r, "C");
  row.flops_convention = options.flops_convention;
  if (mapped.has("counted")) row.flops_convention = mapped.text(r, "counted");
  const bool has_size = row.parameters_active.has_value();
  if (!mapped.has("C")) {
    row.flops_convention = convention::kSixND;
    if (has_size && row.tokens) row.flops = 6 * *row.parameters_active * *row.tokens;
  } else if (!mapped.has("D") && has_size && row.flops) {
    row.tokens = *row.flops / (6 * *row.parameters_active);
  }
  row.loss_unit = mapped.has("unit") ? mapped.text(r, "unit") : options.loss_unit;
  row.loss_standard_error = mapped.number(r, "se");
  if (const auto seed = mapped.number(r, "seed")) row.seed = static_cast<int64_t>(*seed);
  row.data_fingerprint = mapped.text(r, "data");
  row.learning_rate = mapped.number(r, "lr");
  row.batch_tokens = mapped.number(r, "B");
  row.learning_rate_tuned = mapped.flag(r, "tuned");
  row.schedule_finished = mapped.flag(r, "finished");
  return row;
}

}  // namespace

Observations read_observations(const std::filesystem::path& file, const ImportOptions& options) {
  const TableFile table = read_table_file(file);
  const MappedTable mapped(table, options.map);
  std::map<std::string, size_t> filtered;
  for (const std::string& name : options.where.names()) {
    if (const auto column = mapped.column_of(name)) filtered[name] = *column;
  }
  Observations result;
  result.rows.reserve(table.row_count());
  for (size_t r = 0; r < table.row_count(); ++r) {
    Observation row = observation_of(table, mapped, r, options);
    const bool passes = options.where.passes([&](const std::string& name) {
      const auto found = filtered.find(name);
      return found == filtered.end() ? text_of(row, name)
                                     : std::string(table.cell(r, found->second));
    });
    if (!passes) {
      result.left_out.push_back({row.name, "not " + options.where.text});
      continue;
    }
    const auto loss = mapped.number(r, "L");
    if (!loss) {
      result.left_out.push_back({row.name, "has no loss in column " + options.map.columns.at("L")});
      continue;
    }
    row.loss = *loss;
    result.rows.push_back(std::move(row));
  }
  return result;
}

std::string text_of(const Observation& row, const std::string& key) {
  const auto number = [](const std::optional<double>& value) {
    return value ? base::encode_number(*value).dump() : std::string();
  };
  if (key == "name") return row.name;
  if (key == "run") return row.run;
  if (key == "arm") return row.arm;
  if (key == "size") return row.size;
  if (key == "N") return number(row.parameters_active);
  if (key == "N_total") return number(row.parameters_total);
  if (key == "N_no_embed") return number(row.parameters_no_embedding);
  if (key == "D") return number(row.tokens);
  if (key == "D_unique") return number(row.unique_tokens);
  if (key == "C") return number(row.flops);
  if (key == "counted") return row.flops_convention;
  if (key == "L") return number(row.loss);
  if (key == "unit") return row.loss_unit;
  if (key == "se") return number(row.loss_standard_error);
  if (key == "seed") return row.seed ? std::to_string(*row.seed) : "";
  if (key == "data") return row.data_fingerprint;
  if (key == "lr") return number(row.learning_rate);
  if (key == "B") return number(row.batch_tokens);
  const auto flag = [](const std::optional<bool>& value) {
    return value ? (*value ? "true" : "false") : "";
  };
  if (key == "tuned") return flag(row.learning_rate_tuned);
  if (key == "finished") return flag(row.schedule_finished);
  return "";
}

namespace {

template <class Keep>
void keep_rows(Observations& observations, const std::string& reason, Keep keep) {
  std::vector<Observation> kept;
  for (Observation& row : observations.rows) {
    if (keep(row)) {
      kept.push_back(std::move(row));
    } else {
      observations.left_out.push_back({row.name, reason});
    }
  }
  observations.rows = std::move(kept);
}

}  // namespace

void apply_filter(Observations& observations, const RowFilter& filter) {
  for (const std::string& name : filter.names()) {
    if (std::find(kKeys.begin(), kKeys.end(), name) != kKeys.end()) continue;
    throw base::UsageError("condition '" + filter.text + "': runs have no '" + name +
                           "'; they have " + base::join(kKeys, ", "));
  }
  keep_rows(observations, "not " + filter.text, [&](const Observation& row) {
    return filter.passes([&](const std::string& name) { return text_of(row, name); });
  });
}

void drop_worst(Observations& observations, int count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) >= observations.rows.size()) {
    throw base::UsageError("--drop-worst " + std::to_string(count) + " would leave none of " +
                           std::to_string(observations.rows.size()) + " rows");
  }
  const auto& rows = observations.rows;
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows[a].loss > rows[b].loss; });
  std::vector<bool> dropped(rows.size());
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) dropped[order[i]] = true;
  size_t next = 0;
  keep_rows(observations, "among the " + std::to_string(count) + " of highest loss",
            [&](const Observation&) { return !dropped[next++]; });
}

namespace {

/// Two rows of one name, or the same place, seed and loss to the last digit: one run written down
/// twice.
void require_no_run_twice(const std::vector<Observation>& rows) {
  const auto refuse = [](const std::string& first, const std::string& second) {
    throw Error(first + " and " + second +
                " are the same run; keep one of them, or the fit counts it twice");
  };
  const auto place = [](const Observation& row) {
    // A view: the sort of a large table asks for this often.
    return std::make_tuple(std::string_view(row.arm), row.loss, row.parameters_active.value_or(0),
                           row.tokens.value_or(0), row.unique_tokens.value_or(0),
                           row.flops.value_or(0), row.seed.value_or(-1),
                           row.learning_rate.value_or(0), row.batch_tokens.value_or(0));
  };
  for (const auto& group : rows_of_one_loss(rows)) {
    std::vector<size_t> order = group;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return place(rows[a]) < place(rows[b]); });
    for (size_t i = 1; i < order.size(); ++i) {
      const Observation &first = rows[order[i - 1]], &second = rows[order[i]];
      if (place(first) == place(second)) refuse(first.name, second.name);
    }
  }
  std::unordered_set<std::string_view> names;
  names.reserve(rows.size());
  for (const Observation& row : rows) {
    if (!names.insert(row.name).second) refuse(row.name, row.name);
  }
}

void require_six_nd(const Observation& row) {
  if (row.flops_convention == convention::kExact) return;
  if (!row.flops || !row.parameters_active || !row.tokens) return;
  const double ratio = *row.flops / (6 * *row.parameters_active * *row.tokens);
  if (ratio > 0.5 && ratio < 2) return;
  throw Error(
      row.name + ": C = " + base::format_number(*row.flops) + " is " +
      base::format_number(ratio, 3) +
      " times 6ND; a factor above 2 means that N, D or C is in another unit, or that C counts "
      "more than the weights: then map counted= to a column that says exact");
}

/// A law of several variables cannot be told apart from a simpler one where a variable stands
/// still.
void require_spread(const std::vector<Observation>& rows, const std::string& law_name) {
  const Law& law = law_named(law_name).entry;
  if (rows.size() < 2) return;
  for (const Variable variable : law.variables) {
    const double first = value_of(point_of(rows.front()), variable);
    const bool still = std::all_of(rows.begin(), rows.end(), [&](const Observation& row) {
      return value_of(point_of(row), variable) == first;
    });
    if (!still) continue;
    const std::string name = variable_name(variable);
    throw Error("law " + law_name + " is refused for " + name + ": all " +
                std::to_string(rows.size()) + " rows have " + name + " = " +
                base::format_number(first) + ", so nothing tells what " + name +
                " does; add runs at other " + name + ", around " +
                base::format_number(first / 4, 2) + " and " + base::format_number(first * 4, 2));
  }
}

}  // namespace

bool same(double a, double b) {
  constexpr double kSame = 0.01;
  return a == b || std::abs(a / b - 1) <= kSame;
}

void require_comparable(const std::vector<Observation>& rows) {
  if (rows.empty()) throw Error("there are no rows to fit");
  require_one(rows, "units of the loss", "convert them to one", &Observation::loss_unit);
  require_one(rows, "ways of counting FLOPs", "count all of them one way",
              &Observation::flops_convention);
  require_one(rows, "data sets", "fit runs on the same data apart from the others",
              &Observation::data_fingerprint);
}

void require_fittable(const std::vector<Observation>& rows, const std::string& law_name) {
  const Law& law = law_named(law_name).entry;
  require_comparable(rows);
  std::vector<std::array<double, 4>> points;
  points.reserve(rows.size());
  bool all_equal = true;
  for (const Observation& row : rows) {
    const Point point = point_of(row);
    require_positive(row, "loss", response_of(law, point, row.loss));
    std::array<double, 4> where{};
    for (size_t v = 0; v < law.variables.size(); ++v) {
      where[v] = value_of(point, law.variables[v]);
      require_positive(row, variable_name(law.variables[v]), where[v]);
    }
    require_six_nd(row);
    points.push_back(where);
    all_equal = all_equal && response_of(law, point, row.loss) ==
                                 response_of(law, point_of(rows.front()), rows.front().loss);
  }
  require_no_run_twice(rows);
  std::sort(points.begin(), points.end());
  const auto distinct =
      static_cast<size_t>(std::unique(points.begin(), points.end()) - points.begin());
  const auto parameters = static_cast<size_t>(law.parameter_count());
  std::vector<std::string> variables;
  for (const Variable variable : law.variables) variables.push_back(variable_name(variable));
  if (rows.size() < parameters + 1 || distinct < parameters) {
    throw Error("law " + law_name + " has " + std::to_string(parameters) +
                " parameters and needs " + std::to_string(parameters + 1) + " rows at " +
                std::to_string(parameters) + " different " + base::join(variables, ", ") +
                "; there are " + std::to_string(rows.size()) + " rows at " +
                std::to_string(distinct) + "; add runs or fit a law with fewer parameters");
  }
  require_spread(rows, law_name);
  if (all_equal) {
    throw Error("all " + std::to_string(rows.size()) + " losses equal " +
                base::format_number(rows.front().loss) + "; there is no trend to fit");
  }
}

}  // namespace windtunnel::scaling
