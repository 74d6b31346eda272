#pragma once
// What a model is, as data. Free of LibTorch: the control program reads, checks and counts models
// without building one.

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "model/depth_scaling.h"

namespace windtunnel::model {

/// The JSON Schema of `model.layers`, made from the registry of layer kinds (layer_kind.h).
base::Json layers_schema();

/// A decoder-only language model.
struct ModelConfig {
  /// One letter per position, each attention or feed-forward; see pattern.h.
  std::string pattern = "*D*E";
  int64_t dense_stem = 0;
  int64_t width = 64;
  int64_t context_tokens = 256;
  /// 0 stands for the corpus's; a resolved configuration always has the number.
  int64_t vocabulary_size = 0;
  std::string initialization = "fan_in";
  std::string depth_scaling = "none";
  /// Options of each layer kind under its letter: {"*": {...}, "E": {...}}.
  base::Json layers = base::Json::object();

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("pattern", self.pattern,
          {.help = "layer kinds in order, one letter each, e.g. *D*E or *D(*E)3; windtunnel list "
                   "layers names them"});
    visit("dense_stem", self.dense_stem,
          {.help = "the first so many feed-forward layers of the pattern become dense (D); 0: as "
                   "the pattern has them",
           .unit = "layers",
           .source = "Dai et al. 2024, arXiv:2401.06066",
           .minimum = 0,
           .maximum = 1024});
    visit(
        "width", self.width,
        {.help = "size of the residual stream", .unit = "values", .minimum = 8, .maximum = 65536});
    visit("context_tokens", self.context_tokens,
          {.help = "tokens a row holds, T", .unit = "tokens", .minimum = 2, .maximum = 1 << 20});
    visit("vocabulary_size", self.vocabulary_size,
          {.help = "tokens the model knows; 0 takes the corpus's",
           .unit = "tokens",
           .minimum = 0,
           .maximum = 1 << 24});
    visit(
        "initialization", self.initialization,
        {.help = "standard deviation of the initial weights, normal and cut off at three of them: "
                 "1 / sqrt(fan in) or 1 / fan in",
         .choices = {"fan_in", "inverse_fan_in"}});
    visit(
        "depth_scaling", self.depth_scaling,
        {.help = "where layer l, counted from 1 among those of its sort, is scaled by 1 / sqrt(l), "
                 "inputs of feed-forward layers named so by l^(-1/4)",
         .choices = depth_scaling_names()});
    visit("layers", self.layers,
          {.help = "options of each layer kind, under its letter", .schema = layers_schema()});
  }
};

/// Fills in every default: canonical pattern with the dense stem in it (dense_stem is 0 then), all
/// options of the kinds the pattern uses (and only
/// those), the vocabulary if `corpus_vocabulary` > 0 and none is set. Sizes that are 0 and follow
/// the width (heads, hidden units) stay 0, so that a resolved model can still be given another
/// width. The vocabulary stays 0 where neither tells it; such a model can be checked but not built.
/// Errors: ConfigError with every rule broken (illegal letters, heads that do not divide, K > E,
/// a stem longer than the stack ...).
ModelConfig resolve(const ModelConfig& config, int64_t corpus_vocabulary = 0);

}  // namespace windtunnel::model

WINDTUNNEL_COMPILE_FIELDS(extern, windtunnel::model::ModelConfig)
