#include "study/objective_kinds/byte_weights.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

const base::Registration<ObjectiveKind> registration{{
    .name = "byte_weights",
    .summary = "cross-entropy in which a token counts as its bytes to a power; special tokens do "
               "not count",
    .source = "no paper: an idea of the fixed-wall study",
    .options = base::schema_of<ByteWeightsOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.byte_weights.power > 0; }},
}};

}  // namespace
}  // namespace windtunnel::study
