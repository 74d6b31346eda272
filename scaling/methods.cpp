// The methods paragraph of law_fit.h: what the survey of Li et al. 2025 (arXiv:2502.18969) found
// missing in most published fits.

#include "base/text.h"
#include "scaling/row_noise.h"

namespace windtunnel::scaling {
namespace {

using base::format_number;

std::string known_or(size_t known, size_t all, const char* what) {
  if (known == all) return std::string(what) + " for every run";
  if (known == 0) return std::string(what) + " not recorded";
  return std::string(what) + " for " + std::to_string(known) + " of " + std::to_string(all) +
         " runs";
}

}  // namespace

std::string methods_paragraph(const LawFit& fit) {
  const Diagnostics& d = fit.diagnostics;
  const FitOptions& options = fit.options;
  size_t finished = 0, tuned = 0, errors = 0;
  for (const Observation& row : fit.rows) {
    finished += row.schedule_finished.value_or(false) ? 1 : 0;
    tuned += row.learning_rate_tuned.value_or(false) ? 1 : 0;
    errors += row.loss_standard_error ? 1 : 0;
  }
  const size_t kept = fit.rows.size();
  std::string text = "Methods: " + fit.formula + " (" + law_named(fit.law).source +
                     "), fitted to " + std::to_string(d.rows) + " rows";
  if (!fit.left_out.empty()) {
    text += " (" + std::to_string(fit.left_out.size()) + " left out, listed with reasons)";
  }
  const auto& response = law_named(fit.law).entry.response;
  text += "; " + (response ? variable_name(*response) + "*" : std::string("loss")) + " in " +
          fit.loss_unit + ", C " +
          (fit.flops_convention == convention::kAsGiven ? fit.flops_convention
                                                        : "counted as " + fit.flops_convention) +
          "; " + known_or(finished, kept, "schedule finished") + ", " +
          known_or(tuned, kept, "learning rate tuned") + ", " +
          known_or(errors, kept, "evaluation error known") + ". ";
  const std::string described = response ? variable_name(*response) + "*" : "L";
  const std::string residual = options.on == "log" ? "ln " + described : described;
  text += options.objective == "huber"
              ? "Sum of Huber losses, delta " + format_number(options.huber_delta) +
                    ", of the residuals of " + residual
              : "Half the sum of squared residuals of " + residual;
  text +=
      ", " + row_noise_text(fit.row_noise) + ". Coefficients as logarithms, exponents positive; " +
      std::to_string(d.starts) +
      " starts from variable projection over a grid of exponents, each by Newton's method "
      "with analytic derivatives; the best restarted and checked by Ceres (Levenberg-Marquardt, "
      "function tolerance " +
      format_number(d.tolerance) + "). ";
  text += "Profile-likelihood intervals at " + format_number(100 * options.confidence) + " %";
  if (options.bootstrap > 0) {
    text += " and percentiles of " + std::to_string(options.bootstrap) +
            " bootstrap draws of whole runs (seed " + std::to_string(options.seed) + ", " +
            std::to_string(d.bootstrap_failures.value_or(0)) + " failed)";
  }
  text += ".";
  if (fit.gate.tested > 0) {
    text += " Tested on its own larger rows in " + std::to_string(fit.gate.windows.size()) +
            " expanding windows: " + std::to_string(fit.gate.covered) + " of " +
            std::to_string(fit.gate.tested) + " covered, up to " +
            format_number(fit.gate.tested_ratio, 3) + " times the fitted compute.";
  }
  return text;
}

}  // namespace windtunnel::scaling
