#include "agent/boundary.h"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "base/error.h"

namespace windtunnel::agent {

namespace {

constexpr int kIntervals = 160;     // even, for Simpson's rule
constexpr double kLowestSds = 8.0;  // the density further down is nothing

double upper_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }
double density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2.0 * M_PI); }

/// The motion's density at one look, on a grid up to the boundary, times Simpson's weights.
struct Mass {
  std::vector<double> place;
  std::vector<double> weight;
};

template <class Density>
Mass mass_below(double boundary, double sd, const Density& at) {
  const double low = -kLowestSds * sd;
  const double step = (boundary - low) / kIntervals;
  Mass mass;
  for (int index = 0; index <= kIntervals; ++index) {
    const double place = low + step * index;
    const double simpson = index == 0 || index == kIntervals ? 1 : (index % 2 == 1 ? 4 : 2);
    mass.place.push_back(place);
    mass.weight.push_back(at(place) * simpson * step / 3);
  }
  return mass;
}

}  // namespace

std::vector<double> nominal_levels(const std::vector<double>& information_at_looks, double alpha) {
  base::check(!information_at_looks.empty() && information_at_looks.front() > 0,
              "a sequential test needs a look");
  base::check(alpha > 0 && alpha < 1, "the error of a sequential test lies in (0, 1)");
  std::vector<double> levels;
  Mass mass;
  double before = 0;  // information of the previous look
  for (const double absolute : information_at_looks) {
    const double information = absolute / information_at_looks.back();
    base::check(information > before, "looks of a sequential test rise");
    const double spend = alpha * (information * information - before * before);
    const double sd = std::sqrt(information);
    const double step_sd = std::sqrt(information - before);
    if (before == 0) {
      const double z = boost::math::quantile(complement(boost::math::normal(), spend));
      levels.push_back(spend);
      mass = mass_below(z * sd, sd, [&](double place) { return density(place / sd) / sd; });
    } else {
      const auto crossing = [&](double boundary) {
        double sum = 0;
        for (size_t index = 0; index < mass.place.size(); ++index) {
          sum += mass.weight[index] * upper_tail((boundary - mass.place[index]) / step_sd);
        }
        return sum;
      };
      uintmax_t rounds = 100;
      const auto bracket = boost::math::tools::toms748_solve(
          [&](double boundary) { return crossing(boundary) - spend; }, -kLowestSds * sd,
          kLowestSds * sd, boost::math::tools::eps_tolerance<double>(40), rounds);
      const double high = bracket.second;
      levels.push_back(upper_tail(high / sd));
      mass = mass_below(high, sd, [&](double place) {
        double sum = 0;
        for (size_t index = 0; index < mass.place.size(); ++index) {
          sum += mass.weight[index] * density((place - mass.place[index]) / step_sd);
        }
        return sum / step_sd;
      });
    }
    before = information;
  }
  return levels;
}

}  // namespace windtunnel::agent
