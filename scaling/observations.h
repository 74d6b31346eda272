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
#include "scaling/row_filter.h"
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
  /// The run, where several rows are checkpoints of one; empty: the row is a run of its own.
  std::string run;
  /// What is compared with other rows of the same size, e.g. the recipe; empty: nothing is.
  std::string arm;
  /// Name of the size that the arms share; empty: sizes are known by N and D.
  std::string size;
  std::optional<double> parameters_active;
  std::optional<double> parameters_total;
  std::optional<double> parameters_no_embedding;
  std::optional<double> tokens;
  std::optional<double> unique_tokens;
  std::optional<double> flops;
  std::string flops_convention;
  double loss = 0;
  std::string loss_unit;
  std::optional<double> loss_standard_error;
  /// SHA-256 of the text that was scored; rows of one text share the error of the text. Empty: not
  /// known.
  std::string scored_text;
  std::optional<int64_t> seed;
  std::string data_fingerprint;
  std::optional<bool> schedule_finished;
  std::optional<bool> learning_rate_tuned;
  std::optional<double> learning_rate;
  std::optional<double> batch_tokens;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "run id, or the row of the file"});
    visit("run", self.run, {.help = "the run, where rows are its checkpoints"});
    visit("arm", self.arm, {.help = "what is compared with other rows of its size"});
    visit("size", self.size, {.help = "name of the size"});
    visit("parameters_active", self.parameters_active, {.help = "N, used by one token"});
    visit("parameters_total", self.parameters_total, {.help = "all weights"});
    visit("parameters_no_embedding", self.parameters_no_embedding,
          {.help = "without vocabulary tables"});
    visit("tokens", self.tokens, {.help = "D, tokens trained on"});
    visit("unique_tokens", self.unique_tokens, {.help = "different tokens among them"});
    visit("flops", self.flops, {.help = "C, training FLOPs"});
    visit("flops_convention", self.flops_convention, {.help = "how C was counted"});
    visit("loss", self.loss, {.help = "L, validation loss"});
    visit("loss_unit", self.loss_unit, {.help = "e.g. bits_per_byte"});
    visit("loss_standard_error", self.loss_standard_error, {.help = "of the evaluation"});
    visit("scored_text", self.scored_text, {.help = "SHA-256 of the text scored; empty: unknown"});
    visit("seed", self.seed, {.help = "of the run"});
    visit("data_fingerprint", self.data_fingerprint, {.help = "of the data trained on"});
    visit("schedule_finished", self.schedule_finished, {.help = "learning rate ran to its end"});
    visit("learning_rate_tuned", self.learning_rate_tuned, {.help = "for this size"});
    visit("learning_rate", self.learning_rate, {.help = "peak"});
    visit("batch_tokens", self.batch_tokens, {.help = "B, tokens per optimizer step"});
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

/// Something to know about a row that stays in the table.
struct Flag {
  std::string name;
  /// "duplicate", "outlier", "unfinished_schedule", "untuned", "edge_of_grid".
  std::string kind;
  std::string reason;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("name", self.name, {.help = "the run or row"});
    visit("kind", self.kind,
          {.help = "duplicate, outlier, unfinished_schedule, untuned, edge_of_grid"});
    visit("reason", self.reason, {.help = "with the numbers"});
  }
};

struct Observations {
  std::vector<Observation> rows;
  std::vector<LeftOut> left_out;
  std::vector<Flag> flags;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("rows", self.rows, {.help = "what a fit would see"});
    visit("left_out", self.left_out, {.help = "what it would not, and why"});
    visit("flags", self.flags, {.help = "rows to look at"});
  }
};

/// Completed runs become rows in bits per byte; others are left out with their outcome.
/// `flops_convention` is kSixND or kExact.
Observations observations_from_records(const std::vector<study::RunRecord>& records,
                                       const std::string& flops_convention = convention::kSixND);

/// Which column holds what. Keys: name, run (where rows are checkpoints of one), arm and size (what
/// is compared, and where), N, N_total, N_no_embed, D, D_unique, C, counted (how C was), L, unit
/// (of L), se, seed, data, lr, B (tokens per step), tuned and finished (true, false, 1 or 0). D is
/// C / (6 N) where the map has C and N and no D.
struct ColumnMap {
  std::map<std::string, std::string> columns;

  /// From "N=params_no_embed,D=tokens,L=loss". L is required, and C or both N and D; of a `law`
  /// that describes no loss, what it reads and describes, which stands in for an absent L. Errors:
  /// UsageError naming the part that is wrong and the known keys.
  static ColumnMap parse(const std::string& text, const Law* law = nullptr);
};

struct ImportOptions {
  ColumnMap map;
  /// One for the whole file.
  std::string loss_unit = "as given";
  /// How the file's C was counted; C is 6ND if the map has no C.
  std::string flops_convention = convention::kAsGiven;
  /// Names are keys of the map or columns of the file; rows that do not pass are left out.
  RowFilter where = {};
};

/// Reads .csv (header, RFC 4180 quotes), .jsonl (one object a line) or a folder of TensorBoard's
/// event files (one row a run, columns are tags).
/// Errors: Error naming the file and the row, for an empty file, an absent column (with the columns
/// there are), or a cell that is no number.
Observations read_observations(const std::filesystem::path& file, const ImportOptions& options);

/// Whether two sizes, amounts of tokens, budgets or rates are meant to be one: they agree to 1 %.
bool same(double a, double b);

/// Throws Error, with the rows behind each value, unless `rows` have one unit of the loss, one way
/// of counting FLOPs and one data set.
void require_comparable(const std::vector<Observation>& rows);

/// Throws Error unless `rows` can be fitted with `law`: one unit, one convention, one data set;
/// every variable of the law present; values finite and positive; no run twice; C within a factor
/// of 2 of 6ND where it claims to be that; at least one row and one distinct point more than the
/// law has parameters and parameters, respectively; losses not all equal.
void require_fittable(const std::vector<Observation>& rows, const std::string& law_name);

/// The rows that share their loss to the last digit, two or more together, in their order: where
/// a run that was written down twice must be.
std::vector<std::vector<size_t>> rows_of_one_loss(const std::vector<Observation>& rows);

/// Takes the rows that do not pass out of the table, into left_out.
void apply_filter(Observations& observations, const RowFilter& filter);

/// Leaves out the `count` rows of highest loss; of equal ones, the earlier.
void drop_worst(Observations& observations, int count);

/// The value of a key of the column map, as text; empty if the row has none or the key is unknown.
std::string text_of(const Observation& row, const std::string& key);

/// The coordinates of a row; absent ones are 0; U is D where it is
/// absent.
Point point_of(const Observation& row);

/// "a, b, c and 4 more".
std::string some_of(const std::vector<std::string>& names);

/// "untuned: a, b and 3 more, reason", a line for each kind and reason.
std::string flags_text(const std::vector<Flag>& flags);

/// "left out: a, b (reason)", a line for each reason.
std::string left_out_text(const std::vector<LeftOut>& left_out);

/// For people: at most `shown` rows, then how many more; flags and what was left out, by reason.
std::string observations_table(const Observations& observations, size_t shown = 200);

}  // namespace windtunnel::scaling
