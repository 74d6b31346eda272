// The tables about the ladder and about what the numbers hold for; declared in tables.h.

#include <fmt/format.h>

#include <map>

#include "base/fingerprint.h"
#include "base/text.h"
#include "report/html.h"
#include "report/tables.h"
#include "report/wording.h"

namespace windtunnel::report {
namespace {

constexpr const char* kNotAvailable = "not available";

std::string yes_no(std::optional<bool> value) {
  if (!value) return kNotAvailable;
  return *value ? "yes" : "no";
}

}  // namespace

std::string rungs_table(const LadderView& ladder) {
  const std::string flops =
      ladder.flops_convention.empty() ? "FLOPs" : "FLOPs (" + ladder.flops_convention + ")";
  HtmlTable table("Rungs of the ladder", HtmlTable::Columns{{"Rung"},
                                                            {"Role"},
                                                            {"Active parameters", true},
                                                            {"Tokens", true},
                                                            {flops, true},
                                                            {"Learning rate", true},
                                                            {"Planned time", true},
                                                            {"Measured time", true},
                                                            {"Bits per byte", true},
                                                            {"State"}});
  for (const RungView& rung : ladder.rungs) {
    table.add({rung.name, rung.is_held_out ? "held out" : "fitted", count(rung.parameters_active),
               count(rung.tokens), number(rung.flops, 3),
               rung.learning_rate ? number(rung.learning_rate, 4) + " (" + rung.rate_status + ")"
                                  : kNotAvailable,
               duration(rung.planned_seconds), duration(rung.measured_seconds),
               bits(rung.bits_per_byte), rung.state},
              rung.is_held_out ? "held-out" : "");
  }
  return table.html();
}

std::string pairs_table(const LadderView& ladder) {
  if (ladder.pairs.empty()) return "";
  HtmlTable table("Variants against the base, size by size",
                  HtmlTable::Columns{{"Rung"},
                                     {"Against"},
                                     {"Difference in bits per byte", true},
                                     {"Relative, %", true},
                                     {"Standard deviation over seeds", true},
                                     {"Seeds", true}});
  for (const PairView& pair : ladder.pairs) {
    table.add({pair.rung, pair.base_rung,
               pair.difference ? fmt::format("{:+.4f}", *pair.difference) : kNotAvailable,
               pair.relative ? fmt::format("{:+.2f}", 100 * *pair.relative) : kNotAvailable,
               bits(pair.standard_deviation), count(pair.pairs)},
              "");
  }
  return table.html();
}

std::string gains_table(const LadderView& ladder) {
  if (ladder.gains.empty()) return "";
  HtmlTable table("Do the variants' gains scale?",
                  HtmlTable::Columns{{"Variant"},
                                     {"Against"},
                                     {"Verdict"},
                                     {"Gain at the largest size, %", true},
                                     {"Trend per e-fold of compute, %", true},
                                     {"Worth in compute, factor", true},
                                     {"Why", false, true}});
  const auto with_interval = [](std::optional<double> value, std::optional<double> low,
                                std::optional<double> high, const auto& text) {
    if (!value) return std::string(kNotAvailable);
    const auto end = [&](std::optional<double> side) { return side ? text(*side) : "open"; };
    return text(*value) + " [" + end(low) + ", " + end(high) + "]";
  };
  const auto as_percent = [](double value) { return fmt::format("{:+.2f}", 100 * value); };
  const auto as_factor = [](double value) { return base::format_number(value, 3); };
  for (const GainView& gain : ladder.gains) {
    table.add(
        {gain.changed, gain.baseline, gain.verdict,
         with_interval(gain.at_largest, gain.at_largest_low, gain.at_largest_high, as_percent),
         with_interval(gain.slope, gain.slope_low, gain.slope_high, as_percent),
         with_interval(gain.compute_factor, gain.compute_low, gain.compute_high, as_factor),
         base::join(gain.reasons, "; ")});
  }
  return table.html() +
         paragraph("The rule, as it was before the numbers: " + ladder.gains.front().rule, "note");
}

std::string law_table(const LadderView& ladder) {
  if (!ladder.law) return "";
  const LawView& law = *ladder.law;
  const std::string interval =
      law.confidence ? fmt::format("{:.0f} % interval", *law.confidence * 100) : "Interval";
  HtmlTable table("Fitted law: " + law.formula, HtmlTable::Columns{{"Parameter"},
                                                                   {"Value", true},
                                                                   {interval, true},
                                                                   {"Identified"},
                                                                   {"Why not more", false, true}});
  for (const LawParameter& parameter : law.parameters) {
    const bool has_interval = finite(parameter.low) || finite(parameter.high);
    const auto end = [](std::optional<double> value) {
      return finite(value) ? number(value) : std::string("unbounded");
    };
    table.add(
        {parameter.name, number(parameter.value, 5),
         has_interval ? "[" + end(parameter.low) + ", " + end(parameter.high) + "]" : kNotAvailable,
         parameter.verdict.empty() ? kNotAvailable : words(parameter.verdict),
         base::join(parameter.reasons, "; ")});
  }
  std::string html = table.html();
  for (const std::string& warning : law.warnings) html += paragraph(warning, "warning");
  return html;
}

std::string alternatives_table(const LadderView& ladder) {
  HtmlTable table("What the offset does to the forecast: the same runs under other assumptions",
                  HtmlTable::Columns{{"Size"}, {"Assumption"}, {"Predicted", true}});
  for (const AlternativeView& alternative : ladder.alternatives) {
    table.add({alternative.forecast, alternative.assumption, bits(alternative.predicted)});
  }
  return table.html();
}

namespace {

std::string outcomes_table(const std::string& title, const std::vector<HeldOutView>& outcomes) {
  HtmlTable table(title, HtmlTable::Columns{{"Size"},
                                            {"FLOPs", true},
                                            {"Predicted", true},
                                            {"Interval", true},
                                            {"Measured", true},
                                            {"Error", true},
                                            {"Inside the interval"}});
  for (const HeldOutView& held_out : outcomes) {
    table.add({held_out.name, number(held_out.flops, 3), bits(held_out.predicted),
               bits_interval(held_out.low, held_out.high), bits(held_out.measured),
               percent(held_out.relative_error, true),
               held_out.measured ? yes_no(held_out.covered) : "not measured yet"});
  }
  return table.html();
}

}  // namespace

std::string held_out_table(const LadderView& ladder) {
  return outcomes_table("Held-out sizes: predicted by the law from the smaller ones, then measured",
                        ladder.held_out);
}

std::string planned_table(const LadderView& ladder) {
  if (ladder.planned.empty()) return "";
  return outcomes_table("Planned sizes: predicted before they were added to the ladder",
                        ladder.planned);
}

std::string provenance_table(const StudyData& data) {
  std::map<std::string, std::map<std::string, int64_t>> seen;
  for (const auto& run : data.runs) {
    if (!run.record) continue;
    const study::RunRecord& record = *run.record;
    const auto note = [&](const char* what, const std::string& value) {
      if (!value.empty()) ++seen[what][value];
    };
    note("Data fingerprint", record.data_fingerprint);
    note("Code version", record.code_version);
    note("Device", record.train.device_name);
    note("Precision", record.train.precision);
    if (record.evaluation) {
      note("Validation text SHA-256", record.evaluation->validation_text_sha256);
      note("Validation bytes", std::to_string(record.evaluation->bytes));
    }
  }
  HtmlTable table("Data and environment, as recorded with the runs",
                  HtmlTable::Columns{{"What"}, {"Value", false, true}, {"Runs", true}});
  if (const base::Json* name =
          data.fact("corpus") ? base::find_path(*data.fact("corpus"), "name") : nullptr;
      name != nullptr && name->is_string()) {
    table.add({"Corpus", name->get<std::string>(), ""});
  }
  const std::pair<const char*, const char*> sizes[] = {{"Training tokens", "train.tokens"},
                                                       {"Training bytes", "train.bytes"},
                                                       {"Vocabulary", "vocabulary_size"}};
  for (const auto& [title, path] : sizes) {
    if (const auto value = data.fact_number("corpus", path))
      table.add({title, number(value, 9), ""});
  }
  for (const auto& [what, values] : seen) {
    for (const auto& [value, runs] : values) table.add({what, value, std::to_string(runs)});
  }
  return table.html();
}

}  // namespace windtunnel::report
