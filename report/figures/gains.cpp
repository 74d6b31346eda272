// Whether the gains of a ladder's variants scale: the fact "ladder.gains", drawn.

#include "base/config.h"
#include "report/comparison_figures.h"

namespace windtunnel::report {
namespace {

std::optional<Figure> draw(const StudyData& data, const Layout& layout) {
  const base::Json* fact = data.fact("ladder.gains");
  if (fact == nullptr || !fact->is_array()) return std::nullopt;
  std::vector<scaling::GainVerdict> gains;
  for (const base::Json& item : *fact) {
    if (!item.is_object()) continue;
    gains.push_back(base::from_trusted_json<scaling::GainVerdict>(item));
  }
  return gains.empty() ? std::nullopt : gains_figure(gains, layout);
}

const base::Registration<FigureKind> registration{
    {.name = "gains",
     .summary = "gains of variants size by size, with their trends",
     .entry = {.order = 7,
               .title = "Gains of variants",
               .draw = draw,
               .absent = "Gains appear once the ladder has a variant with finished runs."}}};

}  // namespace
}  // namespace windtunnel::report
