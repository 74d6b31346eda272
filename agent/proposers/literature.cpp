// The ranked queue of the study's literature tournament (literature.h), in order, each with the
// papers it comes from. It asks no model itself: `windtunnel literature` does, before the night.
//
// A change is used up once an experiment of the history carries it, as with `queue`.

#include "agent/literature.h"

#include <algorithm>

#include "agent/proposer.h"

namespace windtunnel::agent {
namespace {

class LiteratureQueue : public Proposer {
 public:
  explicit LiteratureQueue(ProposerServices services) : services_(std::move(services)) {}

  std::optional<study::Proposal> propose(const ProposalContext& context) override {
    const auto literature = stored_literature(services_);
    if (!literature || !literature->is_done()) {
      if (!is_noted_) {
        services_.add_event("literature_off",
                            "the study's tournament is not done; run `windtunnel literature " +
                                context.program.name + " --papers FOLDER` first");
      }
      is_noted_ = true;
      return std::nullopt;
    }
    for (const study::Proposal& idea : literature->queue) {
      const bool is_used = std::any_of(context.history.begin(), context.history.end(),
                                       [&](const study::Experiment& experiment) {
                                         return experiment.proposal.proposer == "literature" &&
                                                experiment.proposal.patch == idea.patch;
                                       });
      if (!is_used) return idea;
    }
    return std::nullopt;
  }

 private:
  ProposerServices services_;
  bool is_noted_ = false;
};

const base::Registration<ProposerKind> registration{
    {.name = "literature",
     .summary = "the ranked queue that a tournament over a folder of papers ended in",
     .options = base::schema_of<LiteratureOptions>(),
     .entry = {.make = [](const base::Json&,
                          const ProposerServices& services) -> std::unique_ptr<Proposer> {
                 return std::make_unique<LiteratureQueue>(services);
               },
               .problems =
                   [](const base::Json& options) {
                     return base::from_trusted_json<LiteratureOptions>(options).address.problems();
                   }}}};

}  // namespace
}  // namespace windtunnel::agent
