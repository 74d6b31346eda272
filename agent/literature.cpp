#include "agent/literature.h"

#include <algorithm>

#include "agent/facts.h"
#include "agent/literature_prompt.h"
#include "agent/paper_ranking.h"
#include "agent/strict_question.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/text.h"

namespace windtunnel::agent {

using base::Error;

namespace {

constexpr size_t kFewestPapers = 3;
/// Unusable answers in a row after which the model is not worth its calls.
constexpr size_t kPatience = 3;

class Tournament {
 public:
  Tournament(const Program& program, const LiteratureOptions& options, const PaperFolder& folder,
             const ProposerServices& services, const LiteratureView& view)
      : program_(program),
        options_(options),
        papers_(folder.papers),
        ranking_(folder.papers),
        services_(services),
        view_(view),
        model_(options.address.resolved(), services) {
    if (papers_.size() < kFewestPapers) {
      throw Error("a tournament needs at least " + std::to_string(kFewestPapers) +
                  " papers to choose from, not " + std::to_string(papers_.size()));
    }
    state_ = stored_literature(services).value_or(Literature{});
    const std::string fingerprint = folder.fingerprint();
    if (!state_.rounds.empty() && state_.papers != fingerprint) {
      throw Error("this study's tournament was begun on other papers (" +
                  std::to_string(state_.num_papers) + " then, " + std::to_string(papers_.size()) +
                  " now, or with other text); start it over with --fresh, or take another --study");
    }
    state_.papers = fingerprint;
    state_.num_papers = static_cast<int64_t>(papers_.size());
  }

  Literature run() {
    if (static_cast<int64_t>(state_.rounds.size()) < options_.rounds) reopen();
    while (static_cast<int64_t>(state_.rounds.size()) < options_.rounds) read_papers();
    if (state_.num_ideas() == 0) {
      throw Error("no round brought an idea, so there is nothing to put together; " + again());
    }
    while (!state_.is_done()) synthesise();
    return state_;
  }

 private:
  static std::string again() { return "the same command goes on from there"; }

  /// Further rounds make what was put together before out of date.
  void reopen() {
    state_.passes.clear();
    state_.hypothesis.clear();
    state_.citations.clear();
    state_.queue.clear();
  }

  std::string keywords() const {
    for (auto round = state_.rounds.rbegin(); round != state_.rounds.rend(); ++round) {
      if (!round->next_keywords.empty()) return base::join(round->next_keywords, ", ");
    }
    return options_.keywords.empty() ? program_.prose : base::join(options_.keywords, ", ");
  }

  void read_papers() {
    LiteratureRound round{.keywords = keywords()};
    std::set<std::string> seen;
    for (const LiteratureRound& earlier : state_.rounds) {
      seen.insert(earlier.shown.begin(), earlier.shown.end());
    }
    std::vector<const Paper*> shown;
    for (const size_t i :
         ranking_.nearest(round.keywords, seen, static_cast<size_t>(options_.papers_per_round),
                          static_cast<uint64_t>(program_.night.seed))) {
      shown.push_back(&papers_[i]);
      round.shown.push_back(papers_[i].key);
    }
    const std::string name = "round " + std::to_string(state_.rounds.size() + 1);
    const auto question = round_question(program_, state_, shown, options_.paper_bytes);
    round.problem =
        put(name, question, [&](const base::Json& answer) { return read_round(answer, round); });
    for (const Finding& finding : round.ideas) {
      for (const std::string& key : finding.citations) state_.cited[key] = title_of(key);
      view_.line(name + ": " + finding.idea + " [" + base::join(finding.citations, ", ") + "]");
    }
    state_.rounds.push_back(std::move(round));
    require_usable(state_.rounds, name);
    save();
  }

  void synthesise() {
    const std::string name = "synthesis " + std::to_string(state_.passes.size() + 1);
    SynthesisPass pass;
    const double start = base::monotonic_seconds();
    const auto question = synthesis_question(program_, state_);
    const std::string problem = put(name, question, [&](const base::Json& answer) {
      return read_synthesis(answer, program_, state_, pass);
    });
    pass.problem = problem;
    pass.seconds = base::monotonic_seconds() - start;
    if (problem.empty()) {
      view_.line(name + ": " + pass.hypothesis + " " + std::to_string(pass.queue.size()) +
                 " experiments");
    }
    state_.passes.push_back(std::move(pass));
    require_usable(state_.passes, name);
    close_if_done();
    save();
  }

  /// The last usable pass stands once there are enough, or no time is left for another.
  void close_if_done() {
    double seconds = 0;
    const SynthesisPass* last = nullptr;
    for (const SynthesisPass& pass : state_.passes) {
      seconds += pass.seconds;
      if (pass.problem.empty()) last = &pass;
    }
    const bool is_last = static_cast<int64_t>(state_.passes.size()) >= options_.synthesis_passes ||
                         seconds >= options_.synthesis_seconds;
    if (!last || !is_last) return;
    state_.hypothesis = last->hypothesis;
    state_.citations = last->citations;
    state_.queue = last->queue;
  }

  /// Returns why the answer cannot be used, or "". Errors: Error if the model fails.
  std::string put(const std::string& name, const LiteratureQuestion& question,
                  const std::function<std::vector<std::string>(const base::Json&)>& take) {
    base::stop_if_interrupted();
    const auto all = static_cast<double>(options_.rounds + options_.synthesis_passes);
    view_.update(static_cast<double>(state_.rounds.size() + state_.passes.size()) / all, name);
    const StrictAnswer answer =
        model_.ask("literature " + name, question.messages, question.schema, take);
    if (answer.is_taken) return "";
    if (!answer.is_unusable) {
      throw Error("literature " + name + ": " + answer.message + " (" + answer.outcome + "); " +
                  again());
    }
    view_.line(name + ": an answer that cannot be used: " + base::shorten(answer.message, 200));
    return answer.message;
  }

  /// A model that cannot keep to the form gets its questions again the next time, not fewer.
  template <class Step>
  void require_usable(std::vector<Step>& steps, const std::string& name) {
    size_t unusable = 0;
    while (unusable < steps.size() && !steps[steps.size() - 1 - unusable].problem.empty()) {
      ++unusable;
    }
    if (unusable < kPatience) return;
    const std::string problem = steps.back().problem;
    steps.resize(steps.size() - unusable);
    save();
    throw Error("literature " + name + ": the model's answers could not be used " +
                std::to_string(unusable) + " times in a row, last because: " +
                base::shorten(problem, 400) + "; take another model, then " + again());
  }

  std::string title_of(const std::string& key) const {
    const auto found = std::find_if(papers_.begin(), papers_.end(),
                                    [&](const Paper& paper) { return paper.key == key; });
    return found->title;
  }

  void save() { services_.set_fact(fact::kLiterature, base::to_json(state_)); }

  const Program& program_;
  const LiteratureOptions& options_;
  const std::vector<Paper>& papers_;
  PaperRanking ranking_;
  const ProposerServices& services_;
  const LiteratureView& view_;
  StrictModel model_;
  Literature state_;
};

}  // namespace

int64_t Literature::num_ideas() const {
  size_t ideas = 0;
  for (const LiteratureRound& round : rounds) ideas += round.ideas.size();
  return static_cast<int64_t>(ideas);
}

std::optional<Literature> stored_literature(const ProposerServices& services) {
  const base::Json stored = services.fact(fact::kLiterature);
  if (stored.is_null()) return std::nullopt;
  return base::from_trusted_json<Literature>(stored);
}

LiteratureOptions literature_options(const Program& program) {
  for (const ProposerConfig& entry : program.proposers) {
    if (entry.at("kind") != "literature") continue;
    base::Json options = entry;
    options.erase("kind");
    options.erase("share");
    return base::from_json<LiteratureOptions>(options, program.name + ": proposer literature");
  }
  throw base::UsageError("program '" + program.name +
                         "' has no proposer of kind literature; add one with its endpoint and "
                         "model, or begin with programs/literature_tournament.md");
}

Literature run_literature(const Program& program, const LiteratureOptions& options,
                          const PaperFolder& papers, const ProposerServices& services,
                          const LiteratureView& view) {
  return Tournament(program, options, papers, services, view).run();
}

}  // namespace windtunnel::agent
