#pragma once
// What proposers without a language model share: values drawn from mutable paths, and the words and
// numbers of a proposal that come from the record alone.

#include <string>

#include "agent/proposer.h"

namespace windtunnel::agent {

/// The nearest value that the path can take: whole where its schema says so, else of three
/// significant digits, which is what a person would write and nothing that noise could tell apart.
base::Json settable(const MutablePath& entry, double value);

/// One or two mutable paths with drawn values, those that `around` has already left out; may be
/// empty.
///
/// A path is drawn evenly; a value evenly from its choices, or from its range on its scale, half of
/// the time within a quarter of the range around `around`, a resolved configuration.
base::Json draw_patch(const Program& program, const base::Json& around, base::RandomStream& random);

/// `patch` without what the configuration has already.
base::Json changes_only(const base::Json& config, base::Json patch);

/// Whether any veto speaks against a patch on the incumbent.
bool is_refused(const ProposalContext& context, const base::Json& patch);

/// A proposal of the patch: its hypothesis says what earlier changes of the paths did, after
/// `reason` if there is one; its prediction is forecast.h's.
study::Proposal rule_proposal(const ProposalContext& context, const base::Json& patch,
                              const std::string& reason = "");

}  // namespace windtunnel::agent
