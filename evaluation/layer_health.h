#pragma once
// What the layers of a model tell about themselves, as records keep it.

#include <vector>

#include "model/language_model.h"
#include "study/run_record.h"

namespace windtunnel::evaluation {

/// Of the tokens since the last reset. Waits for the device.
std::vector<study::LayerHealth> router_health(const model::LanguageModel& model);

/// The same with the other figures of layers, by position. Waits for the device.
std::vector<study::LayerPoint> layer_points(const model::LanguageModel& model);

}  // namespace windtunnel::evaluation
