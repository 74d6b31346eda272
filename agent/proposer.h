#pragma once
// The contract of a proposer: it turns what is known into the next proposal. One file each in
// agent/proposers/, registered at its bottom.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/budget.h"
#include "agent/chat_hooks.h"
#include "agent/program.h"
#include "base/random.h"
#include "base/registry.h"
#include "study/calibration.h"
#include "study/experiment.h"
#include "study/journal.h"

namespace windtunnel::agent {

/// All that a proposal may depend on: the same context gives the same proposal, so a resumed study
/// proposes what the interrupted one would have (a language model's answer excepted).
struct ProposalContext {
  const Program& program;
  /// Resolved RunConfig as JSON.
  const base::Json& incumbent;
  /// All experiments so far, vetoed ones too, by number. The next one is history.size() + 1.
  const std::vector<study::Experiment>& history;
  /// Standard deviation of one run over seeds; nullopt if not measured.
  std::optional<double> noise_bits_per_byte;
  /// Mean of the incumbent's runs.
  std::optional<double> incumbent_bits_per_byte;
  RemainingBudget remaining;
  /// How good the predictions were so far, by proposer and family of ideas.
  std::vector<study::Calibration> calibration = {};
  /// As whom the one who is asked proposes (Proposal::author); the lineup sets it.
  std::string author = {};
};

/// Draws for the next experiment, from the night's seed, the proposer and the experiment's number.
base::RandomStream proposal_stream(const ProposalContext& context, std::string_view proposer);

class Proposer {
 public:
  virtual ~Proposer() = default;
  /// The next proposal, or nullopt if this proposer has none (used up, or failed and said so
  /// through its services). Never touches what the program does not allow.
  virtual std::optional<study::Proposal> propose(const ProposalContext& context) = 0;
};

/// How a proposer leaves a trace and reads what it left; the research loop connects these to the
/// journal, the budget and the view.
struct ProposerServices {
  std::function<void(const study::LlmCall&)> add_llm_call = [](const study::LlmCall&) {};
  std::function<void(const std::string& kind, const std::string& text)> add_event =
      [](const std::string&, const std::string&) {};
  /// A fact of the study; null if there is none.
  std::function<base::Json(const std::string& name)> fact = [](const std::string&) {
    return base::Json();
  };
  std::function<void(const std::string& name, const base::Json& value)> set_fact =
      [](const std::string&, const base::Json&) {};
  /// A proposer's own word about a decided experiment.
  std::function<void(int64_t experiment, const study::Reflection&)> reflect =
      [](int64_t, const study::Reflection&) {};
  ChatHooks chat = {};
};

/// Services that write to a journal, which must outlive them.
ProposerServices journal_services(study::Journal& journal);

struct ProposerKind {
  /// `options` are valid and hold every option's default.
  std::unique_ptr<Proposer> (*make)(const base::Json& options, const ProposerServices& services);
  /// Rules beyond the schema; may be null. Paths are relative to the options.
  std::vector<base::Problem> (*problems)(const base::Json& options) = nullptr;
  /// Needs neither network nor luck: may stand in for another that failed.
  bool is_rule_based = true;
};

using ProposerKinds = base::Registry<ProposerKind>;

/// The proposers of a program, working in turn: `queue` first until it is used up, then each by its
/// share of the experiments so far. One that has no proposal is replaced by the next rule-based
/// one, at the end by `random`, so that the device never idles.
class ProposerLineup {
 public:
  ProposerLineup(const Program& program, ProposerServices services);
  ~ProposerLineup();
  ProposerLineup(ProposerLineup&&) noexcept;

  /// The next proposal with `proposer` set to the kind that made it; nullopt only if no proposer
  /// finds anything that is legal and not tried yet.
  /// Errors: Interrupted if a stop was asked for while waiting for a language model.
  std::optional<study::Proposal> propose(const ProposalContext& context);

 private:
  struct Member;
  std::vector<Member> members_;
  ProposerServices services_;
};

}  // namespace windtunnel::agent
