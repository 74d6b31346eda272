#include "trainer/embedding_noise.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "base/random.h"

namespace windtunnel::trainer {
namespace {

using model::NoiseSite;
using torch::Tensor;

NoiseSite site_of(const std::string& name) {
  if (name == "embedding") return NoiseSite::kEmbedding;
  if (name == "normalized") return NoiseSite::kNormalized;
  base::check(name == "hidden", "a noise site that the schema does not know");
  return NoiseSite::kHidden;
}

/// Its own, so that noise takes nothing from other users of LibTorch's generator.
at::Generator new_generator(const torch::Device& device) {
  if (device.is_cpu()) return at::detail::createCPUGenerator();
  return at::globalContext().defaultGenerator(device).clone();
}

}  // namespace

model::Disturbance EmbeddingNoise::of_rows(int64_t step, int64_t first_row) const {
  if (config_.site == "none") return {};
  const std::string stream = "embedding_noise/" + std::to_string(step) + "/";
  return [stream, first_row, seed = seed_, scale = config_.scale, wanted = site_of(config_.site)](
             NoiseSite site, const Tensor& x_BTD) {
    if (site != wanted) return x_BTD;
    const auto values = static_cast<double>(x_BTD.size(1) * x_BTD.size(2));
    const double size = scale / std::sqrt(values);
    at::Generator generator = new_generator(x_BTD.device());
    // Drawn in fp32 whatever the type of the activations.
    const Tensor noise_BTD = at::empty(x_BTD.sizes(), x_BTD.options().dtype(at::kFloat));
    for (int64_t row = 0; row < x_BTD.size(0); ++row) {
      base::RandomStream random(seed, stream + std::to_string(first_row + row));
      generator.set_current_seed(random.next());
      noise_BTD[row].uniform_(-size, size, generator);
    }
    return x_BTD + noise_BTD.to(x_BTD.scalar_type());
  };
}

}  // namespace windtunnel::trainer
