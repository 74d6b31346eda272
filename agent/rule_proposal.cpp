#include "agent/rule_proposal.h"

#include <algorithm>
#include <cmath>

#include "agent/forecast.h"
#include "agent/veto.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Json;
using base::RandomStream;

namespace {

constexpr double kTwoPathsProbability = 0.25;

/// To three significant digits.
double rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 2);
  return std::stod(base::format_number(std::round(value / unit) * unit, 3));
}

bool is_whole(const MutablePath& entry) {
  const auto schema = run_config_schema_at(entry.path);
  return schema && schema->value("type", Json()) == "integer";
}

Json draw_number(const MutablePath& entry, const Json* current, RandomStream& random) {
  const bool is_log = entry.scale == "log";
  const auto forward = [&](double x) { return is_log ? std::log(x) : x; };
  double low = forward(*entry.minimum);
  double high = forward(*entry.maximum);
  const bool is_local = random.uniform() < 0.5;
  const double position = random.uniform();
  if (is_local && current && current->is_number()) {
    const double reach = (high - low) / 4;
    const double center =
        forward(std::clamp(current->get<double>(), *entry.minimum, *entry.maximum));
    low = std::max(low, center - reach);
    high = std::min(high, center + reach);
  }
  const double drawn = low + (high - low) * position;
  return settable(entry, is_log ? std::exp(drawn) : drawn);
}

Json draw_value(const MutablePath& entry, const Json* current, RandomStream& random) {
  if (entry.choices.empty()) return draw_number(entry, current, random);
  return entry.choices[random.below(entry.choices.size())];
}

std::string describe_change(const Json& incumbent, const std::string& path, const Json& value) {
  const Json* current = base::find_path(incumbent, path);
  return path + (current ? " from " + current->dump() : "") + " to " + value.dump();
}

std::string hypothesis(const ProposalContext& context, const Json& patch) {
  std::vector<std::string> changes;
  std::vector<std::string> evidence;
  for (const auto& [path, value] : patch.items()) {
    changes.push_back(describe_change(context.incumbent, path, value));
    const PathRecord record = path_record(context.history, path);
    if (record.mean_delta) {
      evidence.push_back(std::to_string(record.trials) + " earlier change" +
                         (record.trials == 1 ? "" : "s") + " of " + path + " moved it by " +
                         base::format_number(*record.mean_delta, 2) + " on average, " +
                         std::to_string(record.kept) + " kept");
    } else {
      evidence.push_back(path + " has not been measured away from the incumbent");
    }
  }
  return "Changing " + base::join(changes, " and ") +
         " lowers validation bits per byte: " + base::join(evidence, "; ") + ".";
}

std::string diagnostic(const Json& patch) {
  const auto touches = [&](std::string_view part) {
    for (const auto& [path, ignored] : patch.items()) {
      if (path.find(part) != std::string::npos) return true;
    }
    return false;
  };
  if (touches("model.layers.E") || touches("model.pattern")) {
    return "Largest expert share and load entropy per layer; a busier expert than the incumbent's "
           "speaks against the change.";
  }
  if (touches("train.optimizer") || touches("train.schedule")) {
    return "Gradient norm over the last tenth of the run; a growing norm speaks against the "
           "change.";
  }
  return "Tokens per second; a loss above the incumbent's at the same number of tokens means that "
         "any gain is speed, not learning.";
}

}  // namespace

Json settable(const MutablePath& entry, double value) {
  if (is_whole(entry)) {
    return static_cast<int64_t>(
        std::clamp(std::round(value), std::ceil(*entry.minimum), std::floor(*entry.maximum)));
  }
  return std::clamp(rounded(value), *entry.minimum, *entry.maximum);
}

Json changes_only(const Json& config, Json patch) {
  for (auto item = patch.begin(); item != patch.end();) {
    const Json* current = base::find_path(config, item.key());
    item = current && *current == item.value() ? patch.erase(item) : std::next(item);
  }
  return patch;
}

Json draw_patch(const Program& program, const Json& around, RandomStream& random) {
  const auto& paths = program.mutable_paths;
  const size_t count = paths.size() > 1 && random.uniform() < kTwoPathsProbability ? 2 : 1;
  Json patch = Json::object();
  while (patch.size() < count) {
    const MutablePath& entry = paths[random.below(paths.size())];
    patch[entry.path] = draw_value(entry, base::find_path(around, entry.path), random);
  }
  return changes_only(around, std::move(patch));
}

bool is_refused(const ProposalContext& context, const Json& patch) {
  const Candidate candidate = make_candidate(context.program, context.incumbent, patch);
  return !refusals(BeforeRun{context.program, context.incumbent, context.history, patch, candidate})
              .empty();
}

study::Proposal rule_proposal(const ProposalContext& context, const Json& patch,
                              const std::string& reason) {
  std::vector<std::string> paths;
  for (const auto& [path, ignored] : patch.items()) paths.push_back(path);
  return {.patch = patch,
          .hypothesis = (reason.empty() ? "" : reason + " ") + hypothesis(context, patch),
          .prediction = forecast(context.history, paths, context.noise_bits_per_byte,
                                 context.program.decision),
          .diagnostic = diagnostic(patch)};
}

}  // namespace windtunnel::agent
