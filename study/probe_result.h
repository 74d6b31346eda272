#pragma once
// What an evaluating process found when it tried whether the scores are what they must be:
// log-probabilities of a causal model (evaluation/probes.h). quarantine.h judges them.

#include <cstdint>

#include "base/config.h"

namespace windtunnel::study {

struct ProbeResult {
  int64_t rows = 0;
  int64_t cuts = 0;
  int64_t rows_moved = 0;
  double largest_move_nats = 0;
  double largest_sum_error = 0;
  double largest_score_error_nats = 0;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("rows", self.rows, {.help = "rows of the text that were tried"});
    visit("cuts", self.cuts, {.help = "places in each row after which all tokens were changed"});
    visit("rows_moved", self.rows_moved,
          {.help = "rows in which that moved an earlier log-probability beyond rounding"});
    visit("largest_move_nats", self.largest_move_nats,
          {.help = "of an earlier log-probability", .unit = "nats"});
    visit("largest_sum_error", self.largest_sum_error,
          {.help = "distance from 1 of the sum of a position's probabilities"});
    visit("largest_score_error_nats", self.largest_score_error_nats,
          {.help = "distance of a token's score from its log-probability in double precision",
           .unit = "nats"});
  }
};

}  // namespace windtunnel::study
