#include "cli/run_progress.h"

#include <fmt/format.h>

#include "base/text.h"

namespace windtunnel::cli {
namespace {

std::string text_of(const study::RunProgress& run) {
  if (run.latest.step == 0) return run.id + " " + run.phase;
  std::string text =
      fmt::format("{} {:.0f} %, step {}, {} tokens/s", run.id, run.latest.progress * 100,
                  run.latest.step, base::format_count(run.latest.tokens_per_second));
  if (run.latest.loss_nats_per_token) {
    text += fmt::format(", loss {:.3f}", *run.latest.loss_nats_per_token);
  }
  return run.phase == "evaluating" ? run.id + " evaluating" : text;
}

}  // namespace

std::string text_of(const std::vector<study::RunProgress>& runs) {
  std::vector<std::string> parts;
  for (const study::RunProgress& run : runs) parts.push_back(text_of(run));
  return base::join(parts, " | ");
}

}  // namespace windtunnel::cli
