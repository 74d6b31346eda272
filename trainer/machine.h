#pragma once
// The hardware a process runs on, and what it can be asked for.

#include <torch/types.h>

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace windtunnel::trainer {

/// The configuration asks for what this machine or this corpus cannot give; the run's outcome is
/// "refused".
struct Refused : base::Error {
  using base::Error::Error;
};

/// The device by its name in the configuration, "cpu" or "cuda".
/// Errors: Refused if there is no such device or this build cannot use it.
torch::Device open_device(const std::string& name);

/// "Intel(R) Xeon(R) ...", "NVIDIA H200".
std::string device_name(const torch::Device& device);

/// True where matrix products in bfloat16 have instructions of their own.
bool has_bfloat16(const torch::Device& device);

/// Waits until the device has done everything it was given.
void synchronize(const torch::Device& device);

/// The most memory this process has held: resident on the CPU, allocated on a GPU.
double peak_memory_bytes(const torch::Device& device);

/// Since this process was started, before main too.
double process_age_seconds();

/// Threads of LibTorch's operations, denormals as zero: call once, before any other use of
/// LibTorch.
void prepare_threads(int threads);

/// What `windtunnel doctor` shows: names, memory, instructions, CUDA.
base::Json describe_machine();

}  // namespace windtunnel::trainer
