// The ranked ideas of the program, in order.
//
// An idea is used up once an experiment of the history carries it, whatever became of it, so that
// an interrupted study continues where it was and an edited queue is taken up where it changed.

#include <algorithm>

#include "agent/proposer.h"

namespace windtunnel::agent {
namespace {

class Queue : public Proposer {
 public:
  std::optional<study::Proposal> propose(const ProposalContext& context) override {
    for (const study::Proposal& idea : context.program.queue) {
      const bool is_used = std::any_of(context.history.begin(), context.history.end(),
                                       [&](const study::Experiment& experiment) {
                                         return experiment.proposal.proposer == "queue" &&
                                                experiment.proposal.patch == idea.patch;
                                       });
      if (!is_used) return idea;
    }
    return std::nullopt;
  }
};

const base::Registration<ProposerKind> registration{
    {.name = "queue",
     .summary = "the ranked ideas listed in the program, in order",
     .entry = {.make = [](const base::Json&, const ProposerServices&) -> std::unique_ptr<Proposer> {
       return std::make_unique<Queue>();
     }}}};

}  // namespace
}  // namespace windtunnel::agent
