#pragma once
// silu(gate) * up times an optional weight per row, in fp32 on a CPU core. Rows of gate_up hold H
// gates, then H ups.

#include <cstdint>

namespace windtunnel::kernels::loops {

/// y = w silu(gate) up; `weight` may be null, which stands for 1.
void swiglu_forward(const float* gate_up, const float* weight, int64_t rows, int64_t H, float* y);

/// Also grad_weight = sum of grad_y silu(gate) up, where `weight` is given.
void swiglu_backward(const float* gate_up, const float* weight, const float* grad_y, int64_t rows,
                     int64_t H, float* grad_gate_up, float* grad_weight);

}  // namespace windtunnel::kernels::loops
