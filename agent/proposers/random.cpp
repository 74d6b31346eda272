// One or two mutable paths, drawn with their values; what everything cleverer must beat.
//
// Draws that a veto would refuse are drawn again.
//
// Source: Bergstra & Bengio 2012, "Random search for hyper-parameter optimization"; differs: local
// half of the time, because the incumbent is known to be good.

#include "agent/rule_proposal.h"

namespace windtunnel::agent {
namespace {

constexpr int kMaxDraws = 64;

class Random : public Proposer {
 public:
  std::optional<study::Proposal> propose(const ProposalContext& context) override {
    if (context.program.mutable_paths.empty()) return std::nullopt;
    base::RandomStream random = proposal_stream(context, "random");
    for (int draw = 0; draw < kMaxDraws; ++draw) {
      const base::Json patch = draw_patch(context.program, context.incumbent, random);
      if (!is_refused(context, patch)) return rule_proposal(context, patch);
    }
    return std::nullopt;
  }
};

const base::Registration<ProposerKind> registration{
    {.name = "random",
     .summary = "one or two mutable paths with drawn values, half of the time near the incumbent",
     .source = "Bergstra & Bengio 2012",
     .entry = {.make = [](const base::Json&, const ProposerServices&) -> std::unique_ptr<Proposer> {
       return std::make_unique<Random>();
     }}}};

}  // namespace
}  // namespace windtunnel::agent
