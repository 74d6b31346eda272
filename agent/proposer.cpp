#include "agent/proposer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "agent/research_space.h"

namespace windtunnel::agent {

using study::Proposal;

base::RandomStream proposal_stream(const ProposalContext& context, std::string_view proposer) {
  const size_t number = context.history.size() + 1;
  return {static_cast<uint64_t>(context.program.night.seed),
          "proposal/" + std::string(proposer) + "/" + std::to_string(number)};
}

ProposerServices journal_services(study::Journal& journal) {
  return {
      .add_llm_call = [&journal](const study::LlmCall& call) { journal.add_llm_call(call); },
      .add_event = [&journal](const std::string& kind,
                              const std::string& text) { journal.add_event(kind, text); },
      .fact =
          [&journal](const std::string& name) { return journal.fact(name).value_or(base::Json()); },
      .set_fact = [&journal](const std::string& name,
                             const base::Json& value) { journal.set_fact(name, value); },
      .reflect = [&journal](int64_t experiment,
                            const study::Reflection& word) { journal.reflect(experiment, word); }};
}

struct ProposerLineup::Member {
  std::string kind;
  /// "" if it asks none.
  std::string model;
  double share = 1;
  bool is_rule_based = true;
  std::unique_ptr<Proposer> proposer;

  std::string author() const { return Proposal{.proposer = kind, .model = model}.author(); }
};

ProposerLineup::ProposerLineup(const Program& program, ProposerServices services)
    : services_(std::move(services)) {
  const auto add = [&](const base::Json& entry) {
    const std::string name = entry.at("kind");
    const auto& kind = ProposerKinds::instance().get(name, "proposer");
    base::Json options = entry;
    options.erase("kind");
    options.erase("share");
    members_.push_back({.kind = name,
                        .model = entry.value("model", ""),
                        .share = entry.value("share", 1.0),
                        .is_rule_based = kind.entry.is_rule_based,
                        .proposer = kind.entry.make(options, services_)});
  };
  for (const base::Json& entry : program.proposers) add(entry);
  const auto is_random = [](const Member& member) { return member.kind == "random"; };
  if (std::none_of(members_.begin(), members_.end(), is_random)) {
    add({{"kind", "random"}, {"share", 0}});
  }
}

ProposerLineup::~ProposerLineup() = default;
ProposerLineup::ProposerLineup(ProposerLineup&&) noexcept = default;

std::optional<Proposal> ProposerLineup::propose(const ProposalContext& context) {
  std::map<std::string, double> proposed;
  for (const study::Experiment& experiment : context.history) {
    proposed[experiment.proposal.author()] += 1;
  }
  double shares = 0;
  double turns = 1;
  for (const Member& member : members_) {
    if (member.kind == "queue") continue;
    shares += member.share;
    turns += proposed[member.author()];
  }
  // How far each is behind its share; the queue goes before everyone.
  const auto arrears = [&](const Member* member) {
    if (member->kind == "queue") return HUGE_VAL;
    return member->share / std::max(shares, 1e-9) * turns - proposed[member->author()];
  };
  std::vector<const Member*> order;
  for (const Member& member : members_) order.push_back(&member);
  std::stable_sort(order.begin(), order.end(),
                   [&](const Member* a, const Member* b) { return arrears(a) > arrears(b); });

  const Member* failed = nullptr;
  for (const Member* member : order) {
    // Two language models that fail in one turn would leave the device idle for two deadlines.
    if (failed && !failed->is_rule_based && !member->is_rule_based) continue;
    ProposalContext asked = context;
    asked.author = member->author();
    std::optional<Proposal> proposal = member->proposer->propose(asked);
    if (proposal) {
      proposal->proposer = member->kind;
      proposal->model = member->model;
      if (failed) {
        services_.add_event("fallback", failed->author() + " has no proposal; " + member->author() +
                                            " proposes instead");
      }
      return proposal;
    }
    if (member->kind != "queue") failed = member;
  }
  return std::nullopt;
}

}  // namespace windtunnel::agent
