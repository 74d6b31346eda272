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
// Cost:   one pass over the record; a few resolved configurations for each point of the replay that
//         is not in it, which are those that a veto refuses. After kMaxRefusals of them in one turn
//         there is no proposal.
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
/// Points that a veto refuses in one turn: each costs resolved configurations.
constexpr int kMaxRefusals = 24;
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

std::vector<Coordinate> axes_of(const ProposalContext& context) {
  std::vector<Coordinate> found;
  for (const MutablePath& entry : context.program.mutable_paths) {
    const Json* now = base::find_path(context.incumbent, entry.path);
    if (entry.choices.empty() && now && !value_problem(entry, *now)) found.push_back({entry});
  }
  return found;
}

using Axes = std::vector<Coordinate>;
using Values = std::vector<double>;

/// The values of a configuration along the axes; nullopt if it lacks one, or has one out of range.
std::optional<Values> values_of(const Json& config, const Axes& axes) {
  Values values;
  for (const Coordinate& axis : axes) {
    const Json* value = base::find_path(config, axis.entry.path);
    if (!value || value_problem(axis.entry, *value)) return std::nullopt;
    values.push_back(value->get<double>());
  }
  return values;
}

/// All of a configuration that the axes are not: two points with the same rest are on one surface.
Json rest_of(Json config, const Axes& axes) {
  for (const Coordinate& axis : axes) base::set_path(config, axis.entry.path, nullptr);
  base::set_path(config, "train.seed", nullptr);
  return config;
}

struct Start {
  std::string name;
  Values values;
};

/// What is known of the incumbent's surface.
class Record {
 public:
  Record(const ProposalContext& context, const Axes& axes)
      : axes_(axes), rest_(rest_of(context.incumbent, axes)) {
    const Candidate baseline = baseline_candidate(context.program, context.incumbent);
    add(baseline.resolved, baseline.fingerprint, 0, "the baseline");
    std::map<int64_t, double> level_of = {{0, 0.0}};
    for (const Experiment& experiment : context.history) {
      if (experiment.config.is_null() || !study::may_be_kept(experiment.proposal.kind)) continue;
      const auto parent = level_of.find(experiment.parent);
      const double from = parent == level_of.end() ? 0 : parent->second;
      const bool is_kept = experiment.is_kept();
      add(experiment.config, experiment.config_fingerprint, level(experiment, from),
          is_kept ? "experiment " + std::to_string(experiment.number) : "");
      // One that is doubted gained nothing.
      level_of[experiment.number] = from + (is_kept ? gain(*experiment.decision) : 0);
    }
  }

  /// The earliest incumbent on this surface, or the one now.
  Start start(const Json& incumbent) const {
    return start_.value_or(Start{"the incumbent", *values_of(incumbent, axes_)});
  }
  /// By its values, or by a configuration's fingerprint: what a value brings with it elsewhere in
  /// the configuration makes no other surface.
  std::optional<double> level(const Values& values) const {
    const auto found = points_.find(values);
    return found == points_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<double> level(const std::string& fingerprint) const {
    const auto found = levels_.find(fingerprint);
    return found == levels_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void add(const Json& config, const std::string& fingerprint, double level,
           const std::string& incumbent) {
    levels_[fingerprint] = level;
    const auto values = values_of(config, axes_);
    if (!values || rest_of(config, axes_) != rest_) return;
    points_[*values] = level;
    if (!start_ && !incumbent.empty()) start_ = {incumbent, *values};
  }

  static double gain(const study::Decision& decision) {
    return decision.expected_delta_bits_per_byte.value_or(decision.delta_bits_per_byte.value_or(0));
  }

  static double level(const Experiment& experiment, double from) {
    if (!experiment.decision) return from + experiment.proposal.prediction.delta_bits_per_byte;
    if (!experiment.doubt.empty()) return from;
    const study::Decision& decision = *experiment.decision;
    const bool is_fit = decision.delta_bits_per_byte &&
                        std::isfinite(*decision.delta_bits_per_byte) &&
                        decision.verdict != study::verdict::kRepair;
    return is_fit ? from + *decision.delta_bits_per_byte : kUnfit;
  }

  const Axes& axes_;
  Json rest_;
  std::map<Values, double> points_;
  std::map<std::string, double> levels_;
  std::optional<Start> start_;
};

class Replay {
 public:
  Replay(const ProposalContext& context, const LocalSearchOptions& options)
      : context_(context), options_(options), axes_(axes_of(context)), record_(context, axes_) {}

  std::optional<study::Proposal> run() {
    if (axes_.empty()) return std::nullopt;
    const Start start = record_.start(context_.incumbent);
    std::vector<double> point;
    for (size_t i = 0; i < axes_.size(); ++i) point.push_back(axes_[i].position(start.values[i]));
    minimise(point);
    if (!unknown_) return std::nullopt;
    return rule_proposal(context_, *unknown_,
                         "Point " + std::to_string(values_.size()) + " of a subplex search over " +
                             std::to_string(axes_.size()) + " numeric path" +
                             (axes_.size() == 1 ? "" : "s") + " from " + start.name + ".");
  }

 private:
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
    if (replay.is_stopped_ || replay.failure_) return HUGE_VAL;
    try {
      if (const auto value = replay.value(point)) return *value;
    } catch (...) {
      replay.failure_ = std::current_exception();
    }
    nlopt_force_stop(replay.method_);
    return HUGE_VAL;
  }

  /// nullopt at a point that has to be measured, and where too many were refused.
  std::optional<double> value(const double* point) {
    Json patch = Json::object();
    Values values;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const Json value = axes_[i].value(point[i]);
      patch[axes_[i].entry.path] = value;
      values.push_back(value.get<double>());
    }
    const auto [place, is_new] = values_.try_emplace(values, kUnfit);
    if (!is_new) return place->second;
    auto level = record_.level(values);
    if (level) return place->second = *level;
    patch = changes_only(context_.incumbent, std::move(patch));
    level = record_.level(make_candidate(context_.program, context_.incumbent, patch).fingerprint);
    if (level) return place->second = *level;
    const bool is_fit = !is_refused(context_, patch);
    if (is_fit) unknown_ = patch;
    is_stopped_ = is_fit || ++refusals_ >= kMaxRefusals;
    return is_stopped_ ? std::nullopt : std::optional(kUnfit);
  }

  const ProposalContext& context_;
  const LocalSearchOptions& options_;
  Axes axes_;
  Record record_;
  nlopt_opt method_ = nullptr;
  /// What the points of the replay had.
  std::map<Values, double> values_;
  std::optional<Json> unknown_;
  int refusals_ = 0;
  bool is_stopped_ = false;
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
