#pragma once
// The outside world's time enters as a parameter, so that tests can turn it.

#include <chrono>
#include <string>

namespace windtunnel::base {

/// Seconds since an arbitrary start, never going back.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Now, as "2026-01-31T12:34:56Z".
std::string utc_now();

}  // namespace windtunnel::base
