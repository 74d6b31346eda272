#include "cli/fit_data.h"
#include "scaling/quality.h"

namespace windtunnel::cli {
namespace {

struct Options {
  FitData data;
  bool json = false;
};

int observations(const Options& options) {
  scaling::Observations rows = read_fit_data(options.data, "loss_c");
  rows.flags = scaling::flags_of(rows.rows);
  if (options.json) {
    print(base::to_json(rows));
  } else {
    print(scaling::observations_table(rows));
  }
  return base::kExitDone;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_fit_data(app, options->data);
  add_json_flag(app, options->json);
  return [options] { return observations(*options); };
}

const base::Registration<Command> registration{
    {.name = "observations",
     .summary = "the table that a fit would see, with what is odd about its rows",
     .entry = {.group = "Looking",
               .example = "windtunnel observations runs.csv --map N=params,D=tokens,L=loss",
               .setup = setup}}};

}  // namespace
}  // namespace windtunnel::cli
