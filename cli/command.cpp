#include "cli/command.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/secrets.h"

namespace windtunnel::cli {

void add_json_flag(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "print JSON instead of a table");
}

CLI::Validator positive_number() {
  const auto check = [](const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && std::isfinite(value) && value > 0
               ? std::string()
               : "'" + text + "' must be a number above 0";
  };
  return {check, "POSITIVE"};
}

void add_dry_run_flag(CLI::App& app, bool& dry_run) {
  app.add_flag("--dry-run", dry_run, "say what would be done and what it costs, and do nothing");
}

void add_overrides(CLI::App& app, std::vector<std::string>& overrides) {
  app.add_option("overrides", overrides, "fields to change, as path=value")
      ->type_name("PATH=VALUE");
}

int64_t parse_number(const std::string& text, const std::string& what) {
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && number >= 0) {
    return number;
  }
  throw base::UsageError("'" + text + "' is not " + what);
}

void print(const std::string& text) {
  std::fputs(base::redact(text).c_str(), stdout);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stdout);
}

void print(const base::Json& value) {
  print(value.dump(2, ' ', false, base::Json::error_handler_t::replace));
}

}  // namespace windtunnel::cli
