#pragma once
// Run records with chosen figures, for tests of statistics.

#include <string>

#include "study/run_record.h"

namespace windtunnel::agent {

inline study::RunRecord record_with(const std::string& config, int64_t seed, double bits_per_byte,
                                    const std::string& key = "key") {
  study::RunRecord record;
  record.id = config + "-s" + std::to_string(seed);
  record.seed = seed;
  record.config_fingerprint = config;
  record.data_fingerprint = "data";
  record.comparability_key = key;
  record.train.outcome = study::outcome::kCompleted;
  record.train.tokens_per_second = 1000;
  record.train.loss_nats_per_token = 2.5;
  record.evaluation.emplace();
  record.evaluation->bits_per_byte = bits_per_byte;
  return record;
}

}  // namespace windtunnel::agent
