#pragma once
// Training objectives beside plain cross-entropy, all off by default: `train.objectives`. One
// member for each kind in study/objective_kinds/, under the kind's name; they compose.

#include "base/config.h"
#include "study/objective_kinds/byte_weights.h"
#include "study/objective_kinds/future_bag.h"
#include "study/objective_kinds/future_hidden.h"
#include "study/objective_kinds/multi_token.h"
#include "study/objective_kinds/number_tokens.h"
#include "study/objective_kinds/output_centering.h"
#include "study/objective_kinds/row_weights.h"
#include "study/objective_kinds/selective.h"
#include "study/objective_kinds/sequence_warm_up.h"
#include "study/objective_kinds/token_order.h"

namespace windtunnel::study {

struct ObjectivesConfig {
  ByteWeightsOptions byte_weights;
  FutureBagOptions future_bag;
  FutureHiddenOptions future_hidden;
  MultiTokenOptions multi_token;
  NumberTokensOptions number_tokens;
  OutputCenteringOptions output_centering;
  RowWeightsOptions row_weights;
  SelectiveOptions selective;
  SequenceWarmUpOptions sequence_warm_up;
  TokenOrderOptions token_order;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("byte_weights", self.byte_weights, {.help = "cross-entropy weighted by bytes"});
    visit("future_bag", self.future_bag, {.help = "predicts which tokens come soon"});
    visit("future_hidden", self.future_hidden, {.help = "predicts a later hidden state"});
    visit("multi_token", self.multi_token, {.help = "heads that predict further tokens"});
    visit("number_tokens", self.number_tokens, {.help = "loss on the values of number tokens"});
    visit("output_centering", self.output_centering, {.help = "keeps the head's mean row at zero"});
    visit("row_weights", self.row_weights, {.help = "rows weighted by their loss"});
    visit("selective", self.selective, {.help = "trains on the hardest tokens only"});
    visit("sequence_warm_up", self.sequence_warm_up, {.help = "short rows first"});
    visit("token_order", self.token_order, {.help = "ranks upcoming tokens"});
  }
};

}  // namespace windtunnel::study
