#pragma once
// What files that see LibTorch may use; precompiled once. torch/torch.h would cost five times as
// much.

#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "base/common_headers.h"
