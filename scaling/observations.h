#pragma once
// The table a fit sees: one row per run, from our own records or from any CSV or JSON-lines file.
// Losses in different units, budgets counted by different conventions and runs on different data do
// not belong into one fit; such a table is refused with its rows named. Nothing is dropped in
// silence: what cannot be used is listed in `left_out` with the reason.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "scaling/law.h"
#include "study/run_record.h"

namespace windtunnel::scaling {

/// How a number of FLOPs was counted.
namespace convention {
/// 6 x active parameters x tokens.
inline constexpr const char* kSixND = "6ND";
/// The ledger of model/census.h.
inline constexpr const char* kExact = "exact";
/// By a column of somebody else's table.
inline constexpr const char* kAsGiven = "as given";
}  // namespace convention

struct Observation {
  /// Run id, or "row 12".
  std::string name;
  std::optional<double> parameters_active;
  std::optional<double> parameters_total;
  std::optional<double> tokens;
  std::optional<double> unique_tokens;
  std::optional<double> flops;
  std::string flops_convention;
  double loss = 0;
  std::string loss_unit;
  std::optional<double> loss_standard_error;
  std::optional<int64_t> seed;
  std::string data_fingerprint;
  std::optional<bool> schedule_finished;
  std::optional<bool> learning_rate_tuned;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "run id, or the row of the file"});
    visit("parameters_active", self.parameters_active, {.help = "N, used by one token"});
    visit("parameters_total", self.parameters_total, {.help = "all weights"});
    visit("tokens", self.tokens, {.help = "D, tokens trained on"});
    visit("unique_tokens", self.unique_tokens, {.help = "different tokens among them"});
    visit("flops", self.flops, {.help = "C, training FLOPs"});
    visit("flops_convention", self.flops_convention, {.help = "how C was counted"});
    visit("loss", self.loss, {.help = "L, validation loss"});
    visit("loss_unit", self.loss_unit, {.help = "e.g. bits_per_byte"});
    visit("loss_standard_error", self.loss_standard_error, {.help = "of the evaluation"});
    visit("seed", self.seed, {.help = "of the run"});
    visit("data_fingerprint", self.data_fingerprint, {.help = "of the data trained on"});
    visit("schedule_finished", self.schedule_finished, {.help = "learning rate ran to its end"});
    visit("learning_rate_tuned", self.learning_rate_tuned, {.help = "for this size"});
  }
};

struct LeftOut {
  std::string name;
  std::string reason;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "the run or row"});
    visit("reason", self.reason, {.help = "why it is in no fit"});
  }
};

struct Observations {
  std::vector<Observation> rows;
  std::vector<LeftOut> left_out;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("rows", self.rows, {.help = "what a fit would see"});
    visit("left_out", self.left_out, {.help = "what it would not, and why"});
  }
};

/// Completed runs become rows in bits per byte; others are left out with their outcome.
/// `flops_convention` is kSixND or kExact.
Observations observations_from_records(const std::vector<study::RunRecord>& records,
                                       const std::string& flops_convention = convention::kSixND);

/// Which column holds what. Keys: name, N, N_total, D, D_unique, C, L, se, seed, data.
struct ColumnMap {
  std::map<std::string, std::string> columns;

  /// From "N=params_no_embed,D=tokens,L=loss". L is required, and C or both N and D.
  /// Errors: UsageError naming the part that is wrong and the known keys.
  static ColumnMap parse(const std::string& text);
};

struct ImportOptions {
  ColumnMap map;
  /// One for the whole file.
  std::string loss_unit = "as given";
  /// How the file's C was counted; C is 6ND if the map has no C.
  std::string flops_convention = convention::kAsGiven;
};

/// Reads .csv (header, RFC 4180 quotes) or .jsonl (one object a line).
/// Errors: Error naming the file and the row, for an empty file, an absent column (with the columns
/// there are), or a cell that is no number.
Observations read_observations(const std::filesystem::path& file, const ImportOptions& options);

/// Throws Error unless `rows` can be fitted with `law`: one unit, one convention, one data set;
/// every variable of the law present; values finite and positive; no run twice; C within a factor
/// of 2 of 6ND where it claims to be that; at least one row and one distinct point more than the
/// law has parameters and parameters, respectively; losses not all equal.
void require_fittable(const std::vector<Observation>& rows, const std::string& law_name);

/// The coordinates of a row; absent ones are 0.
Point point_of(const Observation& row);

/// For people.
std::string observations_table(const Observations& observations);

}  // namespace windtunnel::scaling
