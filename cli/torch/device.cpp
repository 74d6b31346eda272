#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "trainer/machine.h"

namespace windtunnel::cli {
namespace {

Action setup(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  add_json_flag(app, *json);
  return [json] {
    const base::Json machine = trainer::describe_machine();
    if (*json) {
      print(machine);
    } else {
      std::vector<std::vector<std::string>> rows{{"what", "value"}};
      for (const auto& [key, value] : machine.items()) {
        rows.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
      }
      print(base::format_table(rows));
    }
    return base::kExitDone;
  };
}

const base::Registration<Command> registration{
    {.name = "device",
     .summary = "what hardware there is to train on",
     .entry = {.group = "Parts", .example = "windtunnel-train device --json", .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli
