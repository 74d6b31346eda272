#pragma once
// record.json, and the proof that the control program wrote it.
//
// A control program that was killed between record.json and the journal takes the record over at
// its next start. A training process could write such a record of its own and kill its parent; so
// each record has a seal beside it, record.seal: an HMAC-SHA256 under a key in the study's folder,
// .seal-key, which the file rules hide from the processes of runs (job.cpp). Without file rules the
// key can be read by whoever can read the study.

#include <filesystem>
#include <optional>

#include "study/run_record.h"

namespace windtunnel::study {

/// Name of the key in a study's folder.
inline constexpr const char* kSealKeyFile = ".seal-key";

/// Makes the study's key if it has none: before the first process that must not see it starts.
void make_seal_key(const std::filesystem::path& study);

/// Writes <study>/runs/<id>/record.json, last, and its seal before it. Errors: Error naming the
/// file.
void write_record(const std::filesystem::path& study, const RunRecord& record);

/// The record of a finished run folder, whoever wrote it, or nullopt if there is none.
std::optional<RunRecord> read_record(const std::filesystem::path& run_folder);

/// The record of a run if write_record wrote it.
std::optional<RunRecord> read_sealed_record(const std::filesystem::path& study,
                                            const std::string& id);

}  // namespace windtunnel::study
