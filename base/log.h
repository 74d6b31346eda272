#pragma once
// Lines for the log of a process, on stderr with time and level; a run's go to its stdout.log.
// Progress for people is progress.h, results go to stdout. Only log.cpp sees spdlog: LibTorch
// carries headers of another fmt, which spdlog does not build against.

#include <string>

namespace windtunnel::base {

/// The name in front of every line; call once at the start of main.
void start_log(const std::string& program);

void log_info(const std::string& text);
void log_error(const std::string& text);

}  // namespace windtunnel::base
