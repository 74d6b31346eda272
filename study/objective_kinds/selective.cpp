#include "study/objective_kinds/selective.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

const base::Registration<ObjectiveKind> registration{{
    .name = "selective",
    .summary = "cross-entropy over the share of a step's tokens with the largest loss",
    .source = "after Lin et al. 2024, arXiv:2404.07965",
    .options = base::schema_of<SelectiveOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.selective.keep < 1; },
              .weighs_by_loss = true},
}};

}  // namespace
}  // namespace windtunnel::study
