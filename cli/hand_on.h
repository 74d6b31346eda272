#pragma once
// Commands that need LibTorch become windtunnel-train: this process is replaced by it.

#include <string>
#include <vector>

namespace windtunnel::cli {

/// Replaces this process by `windtunnel-train arguments...`; returns only by throwing Error.
[[noreturn]] void hand_on(const std::vector<std::string>& arguments);

}  // namespace windtunnel::cli
