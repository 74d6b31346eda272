#include "trainer/warm_up.h"

#include <algorithm>

#include "base/clock.h"
#include "trainer/machine.h"

namespace windtunnel::trainer {
namespace {

constexpr int kSteps = 4;

/// Seconds of the fastest step but the first, which pays for what the others find ready.
double measure(model::LanguageModel& model, Objectives& objectives, const corpus::Batch& batch,
               const study::TrainConfig& config, const StepOptions& options) {
  const auto optimizers = make_optimizers(trained_parameters(model, objectives), config.optimizer);
  double fastest = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double start = base::monotonic_seconds();
    training_step(model, objectives, optimizers, batch,
                  {.learning_rate = config.optimizer.learning_rate}, options);
    synchronize(options.device);
    const double seconds = base::monotonic_seconds() - start;
    fastest = i <= 1 ? seconds : std::min(fastest, seconds);
  }
  return fastest;
}

std::vector<std::string> candidates(const std::string& precision, const torch::Device& device) {
  if (precision == "float32") return {"float32"};
  if (has_bfloat16(device)) {
    return precision == "auto" ? std::vector<std::string>{"float32", "bfloat16"}
                               : std::vector<std::string>{"bfloat16"};
  }
  if (precision == "auto") return {"float32"};
  throw Refused("train.precision = bfloat16: " + device_name(device) +
                " has no bfloat16 arithmetic; use float32, or auto, which takes what is there");
}

}  // namespace

WarmUp warm_up(model::LanguageModel& model, Objectives& objectives, const corpus::Batch& batch,
               const study::TrainConfig& config, const torch::Device& device) {
  NamedTensors weights = weights_of(model);
  for (auto& entry : objectives.state()) weights.push_back(std::move(entry));
  std::vector<torch::Tensor> before;
  for (const auto& [name, tensor] : weights) before.push_back(tensor.detach().clone());

  const EmbeddingNoise noise(config.embedding_noise, static_cast<uint64_t>(config.seed));
  WarmUp best;
  for (const std::string& precision : candidates(config.precision, device)) {
    const double seconds = measure(model, objectives, batch, config,
                                   {.device = device,
                                    .precision = precision,
                                    .micro_batch_rows = config.micro_batch_rows,
                                    .gradient_clip_norm = config.optimizer.gradient_clip_norm,
                                    .noise = noise});
    if (best.precision.empty() || seconds < best.seconds_per_step) best = {precision, seconds};
  }

  for (size_t i = 0; i < weights.size(); ++i) weights[i].second.detach().copy_(before[i]);
  for (const auto& parameter : trained_parameters(model, objectives)) {
    torch::Tensor(parameter.tensor).mutable_grad().reset();
  }
  model.reset_router_health();
  return best;
}

}  // namespace windtunnel::trainer
