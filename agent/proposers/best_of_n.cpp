// N draws around the baseline that no result can influence: the control. A proposer that learns
// must beat the best of as many.
//
//   draw i = baseline + one or two drawn paths, from the night's seed and i alone
//
// A draw is put as the patch that turns the incumbent into it, so it also takes back what was kept
// before; the gate then lets the best of all stay. Only what the baseline itself would be refused
// for is drawn again, and configurations that were tried already. A path whose value in the
// baseline lies outside its range stays as the incumbent has it: no patch may set it.
//
// Source: Bergstra & Bengio 2012, "Random search for hyper-parameter optimization", section 2.

#include <algorithm>

#include "agent/research_space.h"
#include "agent/rule_proposal.h"

namespace windtunnel::agent {
namespace {

using base::Json;

constexpr int kMaxDraws = 64;

struct BestOfNOptions {
  int64_t count = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("count", self.count,
          {.help = "N: draws before there are none left; 0: as many as the night asks for",
           .unit = "draws",
           .minimum = 0});
  }
};

/// What turns the incumbent into `config`, as far as the program lets it be set.
Json patch_to(const Program& program, const Json& incumbent, const Json& config) {
  Json patch = Json::object();
  for (const MutablePath& entry : program.mutable_paths) {
    const Json* value = base::find_path(config, entry.path);
    if (value && !value_problem(entry, *value)) patch[entry.path] = *value;
  }
  return changes_only(incumbent, std::move(patch));
}

class BestOfN : public Proposer {
 public:
  explicit BestOfN(int64_t count) : count_(count) {}

  std::optional<study::Proposal> propose(const ProposalContext& context) override {
    const Program& program = context.program;
    if (program.mutable_paths.empty()) return std::nullopt;
    const int64_t number = 1 + std::count_if(context.history.begin(), context.history.end(),
                                             [](const study::Experiment& experiment) {
                                               return experiment.proposal.proposer == "best_of_n";
                                             });
    if (count_ > 0 && number > count_) return std::nullopt;
    const Json baseline = baseline_candidate(program, context.incumbent).resolved;
    const std::vector<study::Experiment> nothing_tried;
    const ProposalContext at_baseline{
        .program = program, .incumbent = baseline, .history = nothing_tried};
    base::RandomStream random(static_cast<uint64_t>(program.night.seed),
                              "best_of_n/" + std::to_string(number));
    for (int draw = 0; draw < kMaxDraws; ++draw) {
      const Json drawn = draw_patch(program, baseline, random);
      if (is_refused(at_baseline, drawn)) continue;
      const Candidate candidate = make_candidate(program, baseline, drawn);
      const Json patch = patch_to(program, context.incumbent, candidate.resolved);
      if (is_refused(context, patch)) continue;
      study::Proposal proposal =
          rule_proposal(context, patch,
                        "Draw " + std::to_string(number) +
                            " around the baseline, whatever became of the others.");
      // Not even earlier results: the forecast of a control is the one without a record.
      proposal.prediction = rule_proposal({.program = program,
                                           .incumbent = baseline,
                                           .history = nothing_tried,
                                           .noise_bits_per_byte = context.noise_bits_per_byte},
                                          drawn)
                                .prediction;
      return proposal;
    }
    return std::nullopt;
  }

 private:
  int64_t count_;
};

const base::Registration<ProposerKind> registration{
    {.name = "best_of_n",
     .summary = "draws around the baseline that no result influences: the control for all others",
     .source = "Bergstra & Bengio 2012",
     .options = base::schema_of<BestOfNOptions>(),
     .entry = {
         .make = [](const Json& options, const ProposerServices&) -> std::unique_ptr<Proposer> {
           return std::make_unique<BestOfN>(
               base::from_json<BestOfNOptions>(options, "best of n").count);
         }}}};

}  // namespace
}  // namespace windtunnel::agent
