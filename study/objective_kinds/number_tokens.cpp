#include "study/objective_kinds/number_tokens.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

const base::Registration<ObjectiveKind> registration{{
    .name = "number_tokens",
    .summary = "loss on the numeric values of digit tokens",
    .source = "Zausinger et al. 2025, arXiv:2411.02083",
    .options = base::schema_of<NumberTokensOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.number_tokens.weight > 0; }},
}};

}  // namespace
}  // namespace windtunnel::study
