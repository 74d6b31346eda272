#pragma once
// The runs in flight as one line: "w32 31 %, step 240, 61.2k tokens/s, loss 4.32".

#include <map>
#include <string>

#include "study/runner.h"

namespace windtunnel::cli {

std::string text_of(const std::vector<study::RunProgress>& runs);

}  // namespace windtunnel::cli
