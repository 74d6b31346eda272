#pragma once
// What a literature tournament asks, and how its answers are read.

#include <set>
#include <string>
#include <vector>

#include "agent/chat_client.h"
#include "agent/literature.h"

namespace windtunnel::agent {

/// A question and the form of its answer.
struct LiteratureQuestion {
  std::vector<ChatMessage> messages;
  base::Json schema;
};

/// `shown` are the round's papers; `paper_bytes` of each text are quoted.
LiteratureQuestion round_question(const Program& program, const Literature& so_far,
                                  const std::vector<const Paper*>& shown, int64_t paper_bytes);

/// Fills in ideas and next keywords; returns everything that is wrong with the answer, and then
/// fills in nothing. A citation must be among `round.shown`.
std::vector<std::string> read_round(const base::Json& answer, LiteratureRound& round);

/// Over all ideas so far; with the last usable pass, if there is one.
LiteratureQuestion synthesis_question(const Program& program, const Literature& so_far);

/// The filter: a hypothesis of at most two sentences; changes of at most four mutable paths, each
/// with a numeric prediction, one diagnostic of one sentence, and citations among the papers that
/// the ideas cite; nothing twice, nothing that a veto would refuse on the baseline.
std::vector<std::string> read_synthesis(const base::Json& answer, const Program& program,
                                        const Literature& so_far, SynthesisPass& pass);

/// Sentences of a text, by their ends: a full stop, question or exclamation mark before a space and
/// a capital letter, or at the end. Common abbreviations do not count.
int num_sentences(std::string_view text);

}  // namespace windtunnel::agent
