#include "agent/token_estimate.h"

#include <algorithm>

namespace windtunnel::agent {

int64_t most_tokens(std::string_view text) {
  const int64_t foreign = std::count_if(text.begin(), text.end(), [](char letter) {
    return static_cast<unsigned char>(letter) >= 0x80;
  });
  const int64_t ascii = static_cast<int64_t>(text.size()) - foreign;
  return foreign + (2 * ascii + 4) / 5;
}

int64_t fewest_tokens(std::string_view text) { return static_cast<int64_t>(text.size()) / 8; }

}  // namespace windtunnel::agent
