#include "study/objective_kinds/output_centering.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

const base::Registration<ObjectiveKind> registration{{
    .name = "output_centering",
    .summary = "the mean row of the head is kept at zero, by subtraction or by a loss",
    .source = "Stollenwerk et al. 2026, arXiv:2601.02031",
    .options = base::schema_of<OutputCenteringOptions>(),
    .entry = {.is_on =
                  [](const ObjectivesConfig& all) { return all.output_centering.kind != "none"; }},
}};

}  // namespace
}  // namespace windtunnel::study
