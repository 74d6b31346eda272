#pragma once
// The best size for a budget, from a law of size and tokens under C = 6 N D.
//
//   L = E + A N^-alpha + B D^-beta,  N D = C/6:   N* = G (C/6)^(beta / (alpha + beta)),
//   G = (alpha A / (beta B))^(1 / (alpha + beta))       Hoffmann et al. 2022, eq. (4)
//
// Every law whose terms are powers of N and of D has this form; the others have none.

#include <optional>

#include "scaling/law_fit.h"

namespace windtunnel::scaling {

struct Optimum {
  double a = 0;
  double G = 0;

  double parameters(double flops) const;
  double tokens(double flops) const { return flops / 6 / parameters(flops); }
};

/// nullopt if the law has no closed form: it needs one term of N alone and one of D alone.
std::optional<Optimum> optimum_of(const Law& law, const std::vector<double>& coefficients,
                                  const std::vector<double>& exponents);

/// Of a fit, with the interval of a from its draws; nullopt if the law has none.
std::optional<OptimumCurve> optimum_curve(const LawFit& fit);

/// The numbers of a fit in the law's own order and signs.
Minimum minimum_of(const LawFit& fit);
/// The same of one bootstrap draw.
Minimum minimum_of_draw(const LawFit& fit, const std::vector<double>& draw);

}  // namespace windtunnel::scaling
