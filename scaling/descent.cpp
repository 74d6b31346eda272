// Newton's method on the objective: Objective::descend of objective.h.

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "scaling/objective.h"
#include "scaling/objective_terms.h"

namespace windtunnel::scaling {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// ln c_k, centred, stays within this of the logarithm of the loss.
constexpr double kLogSpan = 25;
/// Below this share of the smallest loss a vanishing coefficient is tried at exactly 0.
constexpr double kVanishing = 1e-3;
constexpr int kMaximumIterations = 400;
/// Newton's steps begin once a step of the safe kind takes less than this share off.
constexpr double kSwitchingGain = 0.05;
/// A minimum at a kink (a row at the end of Huber's quadratic zone) has no Newton step; after so
/// many the safe kind finishes.
constexpr int kExactFailures = 3;
constexpr double kLongestStretch = 64;
/// So many steps in a row that take less than this share off end a descent.
constexpr int kSettledSteps = 5;
constexpr double kSettledGain = 1e-11;
constexpr double kCreepingGain = 1e-8;
/// Huber's widths narrow by this factor each time the wider objective is all but flat.
constexpr double kNarrowing = 10;
constexpr double kNarrowingGain = 1e-5;
/// A coefficient changes by these shares of itself at most in one step.
constexpr double kSteepestFall = -0.9;
constexpr double kSteepestRise = 50;
/// A start's coefficient at 0 that would grow begins at this share of the smallest loss.
constexpr double kLift = 0.1;

}  // namespace

/// One descent: where it is and how it steps.
class Objective::Descent {
 public:
  Descent(const Objective& objective, const Pins& pins, const Minimum& start, double widening);

  /// Until no step helps; stops early at a coefficient that vanishes, whose index it returns.
  std::optional<size_t> run(bool stop_when_vanishing);
  Minimum result() const;

 private:
  enum class Outcome { kMoved, kArrived, kStuck };

  void evaluate(Vector& vector, RowSums& sums);
  void restart(Curvature curvature);
  void reduced_system(Vector& gradient, Matrix& hessian) const;
  Outcome step();
  bool settled(int& steps) const;
  std::optional<size_t> vanishing() const;

  const Objective& objective_;
  const Pins& pins_;
  int terms_, exponents_, all_;
  /// Indices of the parameters that move.
  std::vector<int> free_;
  Vector low_, high_, at_;
  /// From the free parameters to all: a pinned coefficient is fixed as it stands, so its centred
  /// form moves with the exponents.
  Matrix lift_;
  Curvature curvature_;
  double widening_;
  double damping_ = 0;
  /// Share of the objective that the last step took off.
  double gain_ = 1;
  bool converged_ = false;
  /// With steps of the safe kind alone, which fall short the closer a kink is: the stretch doubles
  /// while that helps.
  bool finishing_ = false;
  double stretch_ = 1;
  RowSums sums_, trial_;
};

Objective::Descent::Descent(const Objective& objective, const Pins& pins, const Minimum& start,
                            double widening)
    : objective_(objective),
      pins_(pins),
      terms_(objective.columns_.terms),
      exponents_(objective.columns_.exponents),
      all_(terms_ + exponents_),
      low_(all_),
      high_(all_),
      at_(objective.to_vector(start)),
      curvature_(widening > 1 ? Curvature::kReweighted : Curvature::kExact),
      widening_(objective.huber_delta_ ? widening : 1) {
  const double log_loss = std::log(objective.smallest_loss_);
  for (int k = 0; k < terms_; ++k) {
    const bool zero = start.coefficients[static_cast<size_t>(k)] == 0;
    if (!pin_of(pins.coefficients, static_cast<size_t>(k)) && !zero) free_.push_back(k);
    low_(k) = log_loss - kLogSpan;
    high_(k) = log_loss + kLogSpan;
  }
  for (int j = 0; j < exponents_; ++j) {
    if (!pin_of(pins.exponents, static_cast<size_t>(j))) free_.push_back(terms_ + j);
    low_(terms_ + j) = objective.law_->exponents[static_cast<size_t>(j)].minimum;
    high_(terms_ + j) = objective.law_->exponents[static_cast<size_t>(j)].maximum;
  }
  for (const int p : free_) at_(p) = std::clamp(at_(p), low_(p), high_(p));
  lift_ = Matrix::Zero(all_, static_cast<int>(free_.size()));
  for (size_t f = 0; f < free_.size(); ++f) lift_(free_[f], static_cast<int>(f)) = 1;
  evaluate(at_, sums_);
}

void Objective::Descent::evaluate(Vector& vector, RowSums& sums) {
  if (!pins_.coefficients.empty()) {
    LogTerms centre;
    Slopes slopes;
    objective_.law_->log_terms(objective_.middle_, vector.data() + terms_, centre.data(),
                               slopes.data());
    for (int k = 0; k < terms_; ++k) {
      const auto pin = pin_of(pins_.coefficients, static_cast<size_t>(k));
      if (!pin) continue;
      vector(k) = *pin > 0 ? std::log(*pin) + centre[static_cast<size_t>(k)] : kLogOfZero;
      for (size_t f = 0; f < free_.size(); ++f) {
        const int j = free_[f] - terms_;
        if (j < 0) continue;
        const int entry = k * exponents_ + j;
        lift_(k, static_cast<int>(f)) = *pin > 0 ? slopes[static_cast<size_t>(entry)] : 0;
      }
    }
  }
  objective_.fill_terms(vector.data() + terms_);
  sum_rows(objective_.columns_, vector.data(), curvature_, widening_, sums);
}

void Objective::Descent::restart(Curvature curvature) {
  curvature_ = curvature;
  damping_ = 0;
  evaluate(at_, sums_);
}

void Objective::Descent::reduced_system(Vector& gradient, Matrix& hessian) const {
  Vector whole(all_);
  Matrix square(all_, all_);
  for (int a = 0; a < all_; ++a) {
    whole(a) = sums_.gradient[static_cast<size_t>(a)];
    for (int b = a; b < all_; ++b) {
      const int entry = a * kMaximumParameters + b;
      square(a, b) = square(b, a) = sums_.hessian[static_cast<size_t>(entry)];
    }
  }
  gradient.noalias() = lift_.transpose() * whole;
  hessian.noalias() = lift_.transpose() * square * lift_;
  // Steps are taken in c / c_here, not in ln c: the law is linear in its coefficients, so that
  // valleys along which one gives way to another are straight. The gradient is the same.
  for (int f = 0; curvature_ == Curvature::kExact && f < gradient.size(); ++f) {
    if (free_[static_cast<size_t>(f)] < terms_) hessian(f, f) -= gradient(f);
  }
  // At a bound and pushed against it: held for this step.
  for (int f = 0; f < gradient.size(); ++f) {
    const int p = free_[static_cast<size_t>(f)];
    const bool held =
        (at_(p) <= low_(p) && gradient(f) > 0) || (at_(p) >= high_(p) && gradient(f) < 0);
    if (!held) continue;
    gradient(f) = 0;
    hessian.row(f).setZero();
    hessian.col(f).setZero();
    hessian(f, f) = 1;
  }
}

Objective::Descent::Outcome Objective::Descent::step() {
  const auto count = static_cast<int>(free_.size());
  Vector gradient(count);
  Matrix hessian(count, count);
  reduced_system(gradient, hessian);
  const double rounding = 1e-24 * static_cast<double>(objective_.columns_.rows());
  for (int attempt = 0; attempt < 40; ++attempt) {
    Matrix damped = hessian;
    for (int f = 0; f < count; ++f) damped(f, f) += damping_ * std::abs(hessian(f, f)) + 1e-300;
    const Eigen::LLT<Matrix> factor(damped);
    if (factor.info() != Eigen::Success) {
      // An indefinite Hessian, far from the minimum: the other kind never is.
      if (curvature_ == Curvature::kExact) return Outcome::kStuck;
      damping_ = std::max(10 * damping_, 1e-6);
      continue;
    }
    const Vector step = -factor.solve(gradient);
    const double expected = -gradient.dot(step) / 2;
    // What a damped step promises says nothing about how far the minimum is.
    const Outcome nothing_left = damping_ == 0 ? Outcome::kArrived : Outcome::kStuck;
    if (!(expected > 1e-15 * sums_.objective + rounding)) {
      if (attempt > 0 || damping_ == 0) return nothing_left;
      damping_ = 0;
      continue;
    }
    Vector next = at_;
    for (int f = 0; f < count; ++f) {
      const int p = free_[static_cast<size_t>(f)];
      const double limit = std::max(0.75 * at_(p), 1e-3);
      const double far = stretch_ * step(f);
      const double move = p < terms_ ? std::log1p(std::clamp(far, kSteepestFall, kSteepestRise))
                                     : std::clamp(far, -limit, limit);
      next(p) = std::clamp(at_(p) + move, low_(p), high_(p));
    }
    evaluate(next, trial_);
    if (trial_.objective < sums_.objective) {
      gain_ = (sums_.objective - trial_.objective) / sums_.objective;
      at_ = next;
      std::swap(sums_, trial_);
      damping_ = damping_ < 1e-8 ? 0 : damping_ / 10;
      if (finishing_) stretch_ = std::min(2 * stretch_, kLongestStretch);
      return Outcome::kMoved;
    }
    if (stretch_ > 1) {
      stretch_ = 1;
      continue;
    }
    // Rounding decides about so small a difference.
    if (expected < 1e-12 * sums_.objective) return nothing_left;
    damping_ = std::max(10 * damping_, 1e-4);
  }
  return Outcome::kStuck;
}

std::optional<size_t> Objective::Descent::vanishing() const {
  const double low = std::log(objective_.smallest_loss_) + std::log(kVanishing);
  for (const int p : free_) {
    if (p >= terms_ || at_(p) >= low) continue;
    if (objective_.law_->coefficients[static_cast<size_t>(p)].may_vanish) {
      return static_cast<size_t>(p);
    }
  }
  return std::nullopt;
}

/// Towards a kink steps become small without end.
bool Objective::Descent::settled(int& steps) const {
  steps = gain_ < kSettledGain ? steps + 1 : 0;
  return steps >= kSettledSteps;
}

std::optional<size_t> Objective::Descent::run(bool stop_when_vanishing) {
  converged_ = free_.empty();
  int exact_failures = 0, settled_steps = 0;
  for (int iteration = 0; iteration < kMaximumIterations && !converged_; ++iteration) {
    if (!std::isfinite(sums_.objective)) return std::nullopt;
    const Outcome outcome = step();
    const bool wide = widening_ > 1;
    if (wide && (outcome != Outcome::kMoved || gain_ < kNarrowingGain)) {
      widening_ = std::max(1.0, widening_ / kNarrowing);
      restart(Curvature::kExact);
    } else if (outcome == Outcome::kStuck && curvature_ == Curvature::kExact) {
      finishing_ = ++exact_failures >= kExactFailures;
      restart(Curvature::kReweighted);
    } else if (outcome != Outcome::kMoved || settled(settled_steps)) {
      converged_ = true;
    } else if (curvature_ == Curvature::kReweighted && gain_ < kSwitchingGain && !finishing_) {
      restart(Curvature::kExact);
    }
    if (!stop_when_vanishing) continue;
    if (const auto found = vanishing()) {
      converged_ = true;
      return found;
    }
  }
  // Between kinks the minimum may be all but flat: nothing is left there that an interval would
  // see.
  converged_ = converged_ || gain_ < kCreepingGain;
  return std::nullopt;
}

Minimum Objective::Descent::result() const {
  const Law& law = *objective_.law_;
  Minimum result;
  result.converged = converged_ && std::isfinite(sums_.objective);
  result.objective = result.converged ? sums_.objective : kInfinity;
  LogTerms centre;
  Slopes unused;
  law.log_terms(objective_.middle_, at_.data() + terms_, centre.data(), unused.data());
  for (int k = 0; k < terms_; ++k) {
    const auto index = static_cast<size_t>(k);
    const auto pin = pin_of(pins_.coefficients, index);
    const bool zero = at_(k) <= kLogOfZero / 2;
    result.coefficients.push_back(pin ? *pin : zero ? 0 : std::exp(at_(k) - centre[index]));
  }
  for (int j = 0; j < exponents_; ++j) result.exponents.push_back(at_(terms_ + j));
  for (const int p : free_) {
    const std::string& name = p < terms_ ? law.coefficients[static_cast<size_t>(p)].name
                                         : law.exponents[static_cast<size_t>(p - terms_)].name;
    if (at_(p) <= low_(p)) result.bounds_hit.push_back(name + " at its lower bound");
    if (at_(p) >= high_(p)) result.bounds_hit.push_back(name + " at its upper bound");
  }
  return result;
}

Minimum Objective::descend(const Pins& pins, const Minimum& start, double widening) const {
  Minimum from = start;
  for (size_t k = 0; k < from.coefficients.size(); ++k) {
    if (const auto pin = pin_of(pins.coefficients, k)) from.coefficients[k] = *pin;
  }
  for (size_t j = 0; j < from.exponents.size(); ++j) {
    if (const auto pin = pin_of(pins.exponents, j)) from.exponents[j] = *pin;
  }
  for (size_t k = 0; k < from.coefficients.size(); ++k) {
    const bool zero = from.coefficients[k] == 0 && !pin_of(pins.coefficients, k);
    if (zero && grows(from, k)) from.coefficients[k] = lifted(from, k, kLift);
  }
  Descent descent(*this, pins, from, widening);
  const std::optional<size_t> vanishing = descent.run(true);
  Minimum found = descent.result();
  const auto descend_from = [&](const Minimum& place) {
    Descent next(*this, pins, place, 1);
    next.run(false);
    return next.result();
  };
  if (vanishing) {
    // No logarithm reaches 0, and the descent would creep towards it.
    Minimum dropped = found;
    dropped.coefficients[*vanishing] = 0;
    dropped = descend_from(dropped);
    found = dropped.converged && !grows(dropped, *vanishing) ? dropped : descend_from(found);
  }
  for (size_t k = 0; k < found.coefficients.size(); ++k) {
    if (found.coefficients[k] != 0 || pin_of(pins.coefficients, k)) continue;
    if (found.converged && grows(found, k)) {
      Minimum raised = found;
      raised.coefficients[k] = lifted(found, k, 2 * kVanishing);
      const Minimum inside = descend_from(raised);
      if (inside.converged && inside.objective < found.objective) found = inside;
    }
    if (found.coefficients[k] == 0) found.bounds_hit.push_back(law_->coefficients[k].name + " = 0");
  }
  return found;
}

}  // namespace windtunnel::scaling
