#include "model/layer_kind.h"

namespace windtunnel::model {

const base::Kind<LayerKind>& layer_kind(char letter) {
  std::vector<std::string> known;
  for (const auto& kind : LayerKinds::instance().kinds()) {
    if (kind.entry.letter == letter) return kind;
    known.push_back(std::string(1, kind.entry.letter) + " (" + kind.name + ")");
  }
  throw base::Error("layer letter '" + std::string(1, letter) +
                    "' does not exist; known: " + base::join(known, ", "));
}

std::vector<LayerPlace> layer_places(std::string_view letters) {
  std::vector<LayerPlace> places;
  int counts[2] = {0, 0};  // feed-forward, attention
  for (const char letter : letters) {
    int& count = counts[layer_kind(letter).entry.is_attention];
    places.push_back({.position = static_cast<int>(places.size()), .ordinal = count++});
  }
  for (LayerPlace& place : places) {
    place.count =
        counts[layer_kind(letters[static_cast<size_t>(place.position)]).entry.is_attention];
  }
  return places;
}

void LayerCensus::add(ParameterRole role, int64_t total, std::optional<int64_t> active) {
  parameters[role].total += total;
  parameters[role].active += active.value_or(total);
}

ParameterCount LayerCensus::sum() const {
  ParameterCount sum;
  for (const auto& [role, count] : parameters) {
    sum.total += count.total;
    sum.active += count.active;
  }
  return sum;
}

}  // namespace windtunnel::model
