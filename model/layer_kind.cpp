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

}  // namespace windtunnel::model
