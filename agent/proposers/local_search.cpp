// Downhill over the numeric mutable paths: Rowan's subplex method, a Nelder-Mead simplex in
// subspaces, which compares values and takes no differences, so it stands noise.
//
//   f(x) = level of the incumbent that was changed + measured change, bits per byte
//
// Stateless by replay: the method runs on what the record holds and stops at the first point that
// has no value; that one is proposed. A night that goes on, or a change of the incumbent along
// these paths, continues the same search, whoever measured its points. It begins anew where
// another setting changes: that is another surface. Choices are left alone, and so is a path whose
// value now lies outside its range.
//
// A point that a veto refuses, or whose runs failed, is worse than all others; one whose result is
// doubted is no change; one still running is as predicted. When the simplex is smaller than the
// tolerance there is no proposal.
//
// Cost:   one resolved configuration for each point of the replay, at most kMaxPoints.
// Source: Rowan 1990, "Functional stability analysis of numerical algorithms"; NLopt's SBPLX
// (Johnson, "The NLopt nonlinear-optimization package"). Differs: values are rounded to what can be
// set.

#include <nlopt.h>

#include <cmath>
#include <map>

#include "agent/research_space.h"
#include "agent/rule_proposal.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using study::Experiment;

constexpr int kMaxPoints = 1000;
/// Worse than any change that is measured; a simplex compares, so how much does not matter.
constexpr double kUnfit = 100;

struct LocalSearchOptions {
  double step = 0.25;
  double tolerance = 0.01;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("step", self.step,
          {.help = "first step, as a share of each path's range on its scale",
           .exclusive_minimum = 0,
           .maximum = 0.5});
    visit("tolerance", self.tolerance,
          {.help = "the search ends when its simplex is smaller than this share of the ranges",
           .exclusive_minimum = 0,
           .maximum = 0.5});
  }
};

/// A numeric path as a coordinate in [0, 1].
struct Coordinate {
  const MutablePath& entry;

  double forward(double value) const { return entry.scale == "log" ? std::log(value) : value; }
  double low() const { return forward(*entry.minimum); }
  double width() const { return forward(*entry.maximum) - low(); }

  double position(double value) const { return (forward(value) - low()) / width(); }
  Json value(double position) const {
    const double there = low() + position * width();
    return settable(entry, entry.scale == "log" ? std::exp(there) : there);
  }
};

std::vector<Coordinate> coordinates(const ProposalContext& context) {
  std::vector<Coordinate> found;
  for (const MutablePath& entry : context.program.mutable_paths) {
    const Json* now = base::find_path(context.incumbent, entry.path);
    if (entry.choices.empty() && now && !value_problem(entry, *now)) found.push_back({entry});
  }
  return found;
}

/// What an incumbent was at its time.
struct Start {
  std::string name;
  Json config;
  std::string fingerprint;
};

/// What is known of configurations, by fingerprint.
class Record {
 public:
  explicit Record(const ProposalContext& context) {
    const Candidate baseline = baseline_candidate(context.program, context.incumbent);
    starts_.push_back({"the baseline", baseline.resolved, baseline.fingerprint});
    levels_[baseline.fingerprint] = 0;
    std::map<int64_t, double> level_of = {{0, 0.0}};
    for (const Experiment& experiment : context.history) {
      if (experiment.config.is_null() || !study::may_be_kept(experiment.proposal.kind)) continue;
      const auto parent = level_of.find(experiment.parent);
      const double from = parent == level_of.end() ? 0 : parent->second;
      levels_[experiment.config_fingerprint] = level(experiment, from);
      if (!experiment.decision || experiment.decision->verdict != study::verdict::kKeep) continue;
      const auto& decision = *experiment.decision;
      const auto gain = decision.expected_delta_bits_per_byte
                            ? decision.expected_delta_bits_per_byte
                            : decision.delta_bits_per_byte;
      level_of[experiment.number] = from + (experiment.doubt.empty() ? gain.value_or(0) : 0);
      if (!experiment.is_kept()) continue;
      starts_.push_back({"experiment " + std::to_string(experiment.number), experiment.config,
                         experiment.config_fingerprint});
    }
  }

  std::optional<double> level(const std::string& fingerprint) const {
    const auto found = levels_.find(fingerprint);
    return found == levels_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The baseline and what was kept, in order.
  const std::vector<Start>& starts() const { return starts_; }

 private:
  static double level(const Experiment& experiment, double from) {
    if (!experiment.decision) return from + experiment.proposal.prediction.delta_bits_per_byte;
    if (!experiment.doubt.empty()) return from;
    const auto& decision = *experiment.decision;
    const bool is_fit = decision.delta_bits_per_byte &&
                        std::isfinite(*decision.delta_bits_per_byte) &&
                        decision.verdict != study::verdict::kRepair;
    return is_fit ? from + *decision.delta_bits_per_byte : kUnfit;
  }

  std::map<std::string, double> levels_;
  std::vector<Start> starts_;
};

class Replay {
 public:
  Replay(const ProposalContext& context, const LocalSearchOptions& options)
      : context_(context), options_(options), axes_(coordinates(context)), record_(context) {}

  std::optional<study::Proposal> run() {
    if (axes_.empty()) return std::nullopt;
    const Start start = first_start();
    std::vector<double> point;
    for (const Coordinate& axis : axes_) {
      point.push_back(axis.position(base::find_path(start.config, axis.entry.path)->get<double>()));
    }
    minimise(point);
    if (!unknown_) return std::nullopt;
    return rule_proposal(context_, *unknown_,
                         "Point " + std::to_string(values_.size() + 1) +
                             " of a subplex search over " + std::to_string(axes_.size()) +
                             " numeric path" + (axes_.size() == 1 ? "" : "s") + " from " +
                             start.name + ".");
  }

 private:
  /// The earliest incumbent that differs from the one now along the coordinates only.
  Start first_start() const {
    for (const Start& start : record_.starts()) {
      Json patch = Json::object();
      for (const Coordinate& axis : axes_) {
        const Json* value = base::find_path(start.config, axis.entry.path);
        if (!value || value_problem(axis.entry, *value)) break;
        patch[axis.entry.path] = *value;
      }
      if (patch.size() < axes_.size()) continue;
      if (candidate(changes_only(context_.incumbent, patch)).fingerprint == start.fingerprint) {
        return start;
      }
    }
    return {"the incumbent", context_.incumbent, candidate(Json::object()).fingerprint};
  }

  void minimise(std::vector<double> point) {
    const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> method(
        nlopt_create(NLOPT_LN_SBPLX, static_cast<unsigned>(axes_.size())), nlopt_destroy);
    nlopt_set_lower_bounds1(method.get(), 0);
    nlopt_set_upper_bounds1(method.get(), 1);
    nlopt_set_initial_step1(method.get(), options_.step);
    nlopt_set_xtol_abs1(method.get(), options_.tolerance);
    nlopt_set_maxeval(method.get(), kMaxPoints);
    nlopt_set_min_objective(method.get(), evaluate, this);
    method_ = method.get();
    double least = 0;
    const nlopt_result result = nlopt_optimize(method.get(), point.data(), &least);
    if (failure_) std::rethrow_exception(failure_);
    base::check(result > 0 || result == NLOPT_FORCED_STOP || result == NLOPT_ROUNDOFF_LIMITED,
                "NLopt refuses its settings");
  }

  /// No exception may pass through a C library.
  static double evaluate(unsigned, const double* point, double*, void* self) {
    auto& replay = *static_cast<Replay*>(self);
    if (replay.unknown_ || replay.failure_) return HUGE_VAL;
    try {
      if (const auto value = replay.value(point)) return *value;
    } catch (...) {
      replay.failure_ = std::current_exception();
    }
    nlopt_force_stop(replay.method_);
    return HUGE_VAL;
  }

  /// nullopt at a point that has to be measured.
  std::optional<double> value(const double* point) {
    Json patch = Json::object();
    for (size_t i = 0; i < axes_.size(); ++i) patch[axes_[i].entry.path] = axes_[i].value(point[i]);
    patch = changes_only(context_.incumbent, std::move(patch));
    const auto [place, is_new] = values_.try_emplace(patch.dump(), kUnfit);
    if (!is_new) return place->second;
    if (const auto level = record_.level(candidate(patch).fingerprint)) {
      place->second = *level;
    } else if (!is_refused(context_, patch)) {
      values_.erase(place);
      unknown_ = patch;
      return std::nullopt;
    }
    return place->second;
  }

  Candidate candidate(const Json& patch) const {
    return make_candidate(context_.program, context_.incumbent, patch);
  }

  const ProposalContext& context_;
  const LocalSearchOptions& options_;
  std::vector<Coordinate> axes_;
  Record record_;
  nlopt_opt method_ = nullptr;
  /// By patch on the incumbent.
  std::map<std::string, double> values_;
  std::optional<Json> unknown_;
  std::exception_ptr failure_;
};

class LocalSearch : public Proposer {
 public:
  explicit LocalSearch(const LocalSearchOptions& options) : options_(options) {}
  std::optional<study::Proposal> propose(const ProposalContext& context) override {
    return Replay(context, options_).run();
  }

 private:
  LocalSearchOptions options_;
};

const base::Registration<ProposerKind> registration{
    {.name = "local_search",
     .summary = "a subplex search downhill over the numeric mutable paths, by replay of the record",
     .source = "Rowan 1990; NLopt",
     .options = base::schema_of<LocalSearchOptions>(),
     .entry = {
         .make = [](const Json& options, const ProposerServices&) -> std::unique_ptr<Proposer> {
           return std::make_unique<LocalSearch>(
               base::from_json<LocalSearchOptions>(options, "local search"));
         }}}};

}  // namespace
}  // namespace windtunnel::agent
