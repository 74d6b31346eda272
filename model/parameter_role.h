#pragma once
// What a parameter is for. Optimizers choose their groups by it, the census counts by it; names are
// for people and checkpoints.

#include <array>
#include <string_view>

namespace windtunnel::model {

enum class ParameterRole {
  kEmbedding,
  kHead,
  /// A matrix every token passes, [outputs, inputs].
  kMatrix,
  /// One matrix for each expert, [experts, outputs, inputs].
  kExpertMatrices,
  /// The matrix that scores experts.
  kRouter,
  /// A matrix whose few outputs scale others, e.g. the gates of attention heads.
  kGate,
  /// Gains, biases, mixing weights: everything of less than two dimensions.
  kScalar
};

inline constexpr std::array kParameterRoles = {
    ParameterRole::kEmbedding,      ParameterRole::kHead,   ParameterRole::kMatrix,
    ParameterRole::kExpertMatrices, ParameterRole::kRouter, ParameterRole::kGate,
    ParameterRole::kScalar};

/// Whether the optimizer of matrices trains it; the rest is AdamW's.
constexpr bool trains_as_matrix(ParameterRole role) {
  return role == ParameterRole::kMatrix || role == ParameterRole::kExpertMatrices ||
         role == ParameterRole::kRouter;
}

/// As the census and exported weights spell it.
constexpr std::string_view name_of(ParameterRole role) {
  switch (role) {
    case ParameterRole::kEmbedding:
      return "embedding";
    case ParameterRole::kHead:
      return "head";
    case ParameterRole::kMatrix:
      return "matrix";
    case ParameterRole::kExpertMatrices:
      return "expert";
    case ParameterRole::kRouter:
      return "router";
    case ParameterRole::kGate:
      return "gate";
    case ParameterRole::kScalar:
      return "scalar";
  }
  return "unknown";
}

}  // namespace windtunnel::model
