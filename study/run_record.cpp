#include "study/run_record.h"

#include "base/fingerprint.h"
#include "study/run_config.h"

namespace windtunnel::study {

std::string comparability_key(const RunConfig& config, const std::string& data_fingerprint,
                              const std::string& code_version) {
  const base::Json parts = {
      {"data", data_fingerprint},        {"budget", base::to_json(config.train.budget)},
      {"device", config.train.device},   {"precision", config.train.precision},
      {"threads", config.train.threads}, {"code", code_version}};
  return base::short_fingerprint(base::fingerprint(parts));
}

}  // namespace windtunnel::study

WINDTUNNEL_COMPILE_FIELDS(, windtunnel::study::RunRecord)
