#pragma once
// A tournament over a folder of papers that ends in one hypothesis and a ranked queue.
//
//   round      ten papers, those not seen first, nearest to the keywords (paper_ranking.h)
//                -> two one-sentence ideas, each with the reason against the other papers,
//                   and the next keywords
//   synthesis  all ideas -> one hypothesis and a ranked queue of changes; a few passes, each over
//              the last one's result, as long as there is time
//
// The rounds force a wide look before anything is decided. Every idea, hypothesis and change names
// the papers it comes from, and only papers that were shown can be named.
//
// State is one fact of the study's journal, written after each round and pass, so a tournament that
// was killed anywhere goes on with the next.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/chat_address.h"
#include "agent/papers.h"
#include "agent/proposer.h"

namespace windtunnel::agent {

struct LiteratureOptions {
  ChatAddress address;
  int64_t rounds = 20;
  int64_t papers_per_round = 10;
  int64_t paper_bytes = 1500;
  int64_t synthesis_passes = 3;
  double synthesis_seconds = 900;
  /// Words of the first round; empty: the program's prose.
  std::vector<std::string> keywords;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    ChatAddress::describe(self.address, visit);
    visit("rounds", self.rounds,
          {.help = "rounds of reading before the synthesis", .minimum = 1, .maximum = 1000});
    visit("papers_per_round", self.papers_per_round,
          {.help = "papers that a round's ideas are chosen from", .minimum = 3, .maximum = 50});
    visit("paper_bytes", self.paper_bytes,
          {.help = "of each paper's text that is shown", .unit = "bytes", .minimum = 200});
    visit("synthesis_passes", self.synthesis_passes,
          {.help = "passes over the ideas at most", .minimum = 1, .maximum = 20});
    visit("synthesis_seconds", self.synthesis_seconds,
          {.help = "no further pass begins after this long",
           .unit = "seconds",
           .exclusive_minimum = 0});
    visit("keywords", self.keywords,
          {.help = "what to look for first; empty: the words of the program"});
  }
};

/// One idea with its place in the literature.
struct Finding {
  std::string idea;
  std::vector<std::string> citations;
  std::string why;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("idea", self.idea, {.help = "one sentence"});
    visit("citations", self.citations, {.help = "keys of the papers that it comes from"});
    visit("why", self.why, {.help = "why it rather than the other papers of the round"});
  }
};

struct LiteratureRound {
  std::string keywords;
  std::vector<std::string> shown;
  std::vector<Finding> ideas;
  std::vector<std::string> next_keywords;
  /// Why there are no ideas; empty: there are.
  std::string problem;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("keywords", self.keywords, {.help = "what was looked for"});
    visit("shown", self.shown, {.help = "keys of the papers, nearest first"});
    visit("ideas", self.ideas, {.help = "chosen ones"});
    visit("next_keywords", self.next_keywords, {.help = "what to look for next"});
    visit("problem", self.problem, {.help = "why the answer could not be used"});
  }
};

struct SynthesisPass {
  std::string hypothesis;
  std::vector<std::string> citations;
  /// The best first.
  std::vector<study::Proposal> queue;
  std::string problem;
  double seconds = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("hypothesis", self.hypothesis, {.help = "one or two sentences"});
    visit("citations", self.citations, {.help = "keys of the papers that it comes from"});
    visit("queue", self.queue, {.help = "ranked changes"});
    visit("problem", self.problem, {.help = "why the answer could not be used"});
    visit("seconds", self.seconds, {.help = "that the pass took", .unit = "seconds"});
  }
};

struct Literature {
  /// Fingerprint of the papers.
  std::string papers;
  int64_t num_papers = 0;
  std::vector<LiteratureRound> rounds;
  std::vector<SynthesisPass> passes;
  /// Of the last usable pass, once all are done; until then empty.
  std::string hypothesis;
  std::vector<std::string> citations;
  std::vector<study::Proposal> queue;
  /// Titles of all papers that an idea cites.
  std::map<std::string, std::string> cited;

  bool is_done() const { return !queue.empty(); }
  int64_t num_ideas() const;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("papers", self.papers, {.help = "fingerprint of what was read"});
    visit("num_papers", self.num_papers, {.help = "in the folder"});
    visit("rounds", self.rounds, {.help = "of reading"});
    visit("passes", self.passes, {.help = "of synthesis"});
    visit("hypothesis", self.hypothesis, {.help = "what all ideas together suggest"});
    visit("citations", self.citations, {.help = "of the hypothesis"});
    visit("queue", self.queue, {.help = "ranked changes; empty until the tournament is done"});
    visit("cited", self.cited, {.help = "key -> title"});
  }
};

/// What the study knows of its tournament; nullopt: none was begun.
std::optional<Literature> stored_literature(const ProposerServices& services);

/// The options of the program's first proposer of this kind. Errors: UsageError if it has none.
LiteratureOptions literature_options(const Program& program);

struct LiteratureView {
  std::function<void(double fraction, const std::string& detail)> update =
      [](double, const std::string&) {};
  std::function<void(const std::string& line)> line = [](const std::string&) {};
};

/// Does what is left of a tournament and returns all of it.
///
/// Cost:    one call of the language model for each round and pass, two where an answer needed
///          repair.
/// Errors:  Error if the study's tournament was begun on other papers, there are fewer than three,
///          the model fails, or three of its answers in a row cannot be used; the same call goes on
///          from there. Interrupted if a stop was asked for.
Literature run_literature(const Program& program, const LiteratureOptions& options,
                          const PaperFolder& papers, const ProposerServices& services,
                          const LiteratureView& view = {});

}  // namespace windtunnel::agent
