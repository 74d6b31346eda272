#include "agent/confirmation.h"

#include <fmt/format.h>

#include "agent/decision.h"

namespace windtunnel::agent {

std::vector<ConfirmingPair> confirmation_of(int64_t kept, const NightState& state) {
  const int64_t parent = state.experiment(kept).parent;
  const study::RunConfig own = runnable(state.config_of(kept));
  const study::RunConfig reference = runnable(state.config_of(parent));
  const bool depends_on_when = reference.train.budget.kind == "seconds";
  std::vector<ConfirmingPair> pairs;
  for (int64_t seed = state.first_seed(kept); state.is_measured_seed(kept, seed); ++seed) {
    pairs.push_back({.own = planned_run(kept, own, seed),
                     .reference = depends_on_when ? reference_run(kept, reference, seed)
                                                  : planned_run(parent, reference, seed)});
  }
  return pairs;
}

std::optional<std::string> unconfirmed(int64_t kept, const NightState& state, double confidence) {
  std::vector<Pair> pairs;
  const study::RunRecord* failed = nullptr;
  for (const ConfirmingPair& pair : confirmation_of(kept, state)) {
    const study::JournalRun* own = state.find_run(pair.own.request.id);
    const study::JournalRun* reference = state.find_run(pair.reference.request.id);
    if (!own || !own->record || !reference || !reference->record) continue;
    if (!own->record->completed()) {
      failed = &*own->record;
    } else if (reference->record->completed()) {
      require_comparable(*own->record, *reference->record);
      pairs.push_back({.candidate = *own->record, .incumbent = *reference->record});
    }
  }
  if (pairs.empty()) {
    if (!failed) return std::nullopt;
    return "on fresh seeds none of its runs completed: " + how_it_ended(*failed);
  }
  const Difference difference = paired_difference(pairs, state.noise(kept));
  const double upper = upper_end(difference, confidence);
  if (upper < 0) return std::nullopt;
  return fmt::format(
      "on {} fresh seeds, beside runs of its parent, it differs by {:+.4f} bits per byte: not "
      "below 0 with confidence {:.0f} % (upper end {:+.4f})",
      pairs.size(), difference.delta_bits_per_byte, 100 * confidence, upper);
}

}  // namespace windtunnel::agent
