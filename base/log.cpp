#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/secrets.h"

namespace windtunnel::base {

void start_log(const std::string& program) {
  auto logger = spdlog::stderr_color_mt(program);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S %n %^%l%$: %v");
  spdlog::set_default_logger(std::move(logger));
}

// As an argument, not as the format: the text may hold braces.
void log_info(const std::string& text) { spdlog::info("{}", redact(text)); }
void log_error(const std::string& text) { spdlog::error("{}", redact(text)); }

}  // namespace windtunnel::base
