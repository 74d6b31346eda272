#include "trainer/machine.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/Utils.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/text.h"

#ifdef WINDTUNNEL_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#endif

namespace windtunnel::trainer {
namespace {

#ifdef WINDTUNNEL_CUDA
constexpr bool kCudaBuild = true;
#else
constexpr bool kCudaBuild = false;
#endif

bool has_cuda() { return kCudaBuild && at::hasCUDA(); }

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) {
      return std::string(base::trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return "CPU";
}

bool cpu_has(const std::string& capability) {
  const auto capabilities = at::cpu::get_cpu_capabilities();
  const auto found = capabilities.find(capability);
  return found != capabilities.end() && found->second.isBool() && found->second.toBool();
}

double memory_bytes() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

}  // namespace

torch::Device open_device(const std::string& name) {
  if (name == "cpu") return torch::Device(at::kCPU);
  if (!kCudaBuild) {
    throw Refused(
        "train.device = cuda: this build has no CUDA; use train.device=cpu, or build with "
        "WINDTUNNEL_CUDA=ON on a machine with an NVIDIA GPU");
  }
  if (!has_cuda()) {
    throw Refused(
        "train.device = cuda: no usable NVIDIA GPU on this machine; use train.device=cpu");
  }
  return torch::Device(at::kCUDA, 0);
}

std::string device_name(const torch::Device& device) {
#ifdef WINDTUNNEL_CUDA
  cudaDeviceProp properties;
  if (device.is_cuda() && cudaGetDeviceProperties(&properties, device.index()) == cudaSuccess) {
    return properties.name;
  }
#endif
  return device.is_cuda() ? "CUDA device" : cpu_name();
}

bool has_bfloat16(const torch::Device& device) {
#ifdef WINDTUNNEL_CUDA
  if (device.is_cuda()) {
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index());
    return major >= 8;
  }
#endif
  return device.is_cpu() && (cpu_has("avx512_bf16") || cpu_has("amx_bf16"));
}

void synchronize(const torch::Device& device) {
#ifdef WINDTUNNEL_CUDA
  if (device.is_cuda() && cudaDeviceSynchronize() != cudaSuccess) {
    throw base::Error(std::string("the GPU failed: ") + cudaGetErrorString(cudaGetLastError()));
  }
#else
  (void)device;
#endif
}

double peak_memory_bytes(const torch::Device& device) {
#ifdef WINDTUNNEL_CUDA
  if (device.is_cuda()) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
    return static_cast<double>(stats.allocated_bytes[0].peak);
  }
#else
  (void)device;
#endif
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

double process_age_seconds() {
  // Field 22 of /proc/self/stat, counted after the name, which may hold spaces: clock ticks from
  // boot to start.
  const std::string stat = base::read_file("/proc/self/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  struct timespec now = {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void prepare_threads(int threads) {
  at::set_num_threads(threads);
  // Can be set only once, and counts nothing here: operations run one after the other.
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
  // Second moments of rare rows decay into denormals, which cost a hundred times a normal number.
  at::globalContext().setFlushDenormal(true);
}

base::Json describe_machine() {
  const torch::Device cpu(at::kCPU);
  base::Json machine = {
      {"device_name", cpu_name()},         {"cpu_threads", std::thread::hardware_concurrency()},
      {"cpu_bfloat16", has_bfloat16(cpu)}, {"cpu_instructions", at::get_cpu_capability()},
      {"memory_bytes", memory_bytes()},    {"cuda_build", kCudaBuild},
      {"cuda_device_name", nullptr},       {"cuda_bfloat16", nullptr}};
  if (has_cuda()) {
    const torch::Device gpu(at::kCUDA, 0);
    machine["cuda_device_name"] = device_name(gpu);
    machine["cuda_bfloat16"] = has_bfloat16(gpu);
  }
  return machine;
}

}  // namespace windtunnel::trainer
