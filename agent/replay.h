#pragma once
// A recorded night decided again, from its recorded proposals and runs, without network or
// training. The same rules must come to the same decisions; with changed rules it shows which
// decisions they change. Rule-based proposers are asked again too, so a change of theirs shows as
// well.

#include <filesystem>
#include <string>
#include <vector>

#include "agent/program.h"
#include "study/journal.h"

namespace windtunnel::agent {

struct ReplayedExperiment {
  int64_t number = 0;
  std::string kind;
  std::string hypothesis;
  /// Verdicts; "" where there is none: the other night had no such experiment.
  std::string recorded;
  std::string replayed;
  std::optional<double> recorded_delta, replayed_delta;
  /// The whole decision is the same, to the last bit.
  bool is_same = false;
  /// What is to be said besides: a run that was never made, a proposer that now says otherwise.
  std::string note;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("number", self.number, {.help = "of the experiment"});
    visit("kind", self.kind, {.help = "what it is for"});
    visit("hypothesis", self.hypothesis, {.help = "why it should help"});
    visit("recorded", self.recorded, {.help = "verdict of the record"});
    visit("replayed", self.replayed, {.help = "verdict of the replay"});
    visit("recorded_delta", self.recorded_delta, {.help = "bits per byte"});
    visit("replayed_delta", self.replayed_delta, {.help = "bits per byte"});
    visit("is_same", self.is_same, {.help = "the decisions are equal in every field"});
    visit("note", self.note, {.help = "what is to be said besides"});
  }
};

struct Replay {
  std::vector<ReplayedExperiment> experiments;
  std::string recorded_stop;
  std::string replayed_stop;
  /// Recorded runs that the replay used.
  int64_t runs = 0;
  bool is_same() const;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("experiments", self.experiments, {.help = "one by one"});
    visit("recorded_stop", self.recorded_stop, {.help = "why the night ended"});
    visit("replayed_stop", self.replayed_stop, {.help = "why the replay ended"});
    visit("runs", self.runs, {.help = "recorded runs that were used"});
  }
};

/// `study` is the folder of the recorded night; nothing in it changes. `overrides` are fields of
/// its program to change, "decision.confidence=0.99" each. Errors: Error if the journal holds no
/// night.
Replay replay(const std::filesystem::path& study, const std::vector<std::string>& overrides = {});

}  // namespace windtunnel::agent
