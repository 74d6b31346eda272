#include "study/objective_kinds/row_weights.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

const base::Registration<ObjectiveKind> registration{{
    .name = "row_weights",
    .summary = "rows count as the exponential of their loss",
    .source = "Li et al. 2021, arXiv:2007.01162; Sow et al. 2025, arXiv:2502.06733",
    .options = base::schema_of<RowWeightsOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.row_weights.strength != 0; },
              .weighs_by_loss = true},
}};

}  // namespace
}  // namespace windtunnel::study
