#pragma once
// TensorBoard's event files, read by hand: records of length, checksum and a protocol buffer, of
// which only scalars matter here.
//
// Source:  TensorFlow, tensorflow/core/util/event.proto and the TFRecord format; checksums are
//          CRC-32C (Castagnoli), masked.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::scaling {

/// One folder of event files.
struct EventRun {
  /// Path of the folder under the one that was searched; the folder's own name if it is that.
  std::string name;
  /// Tag -> the value at its highest step.
  std::map<std::string, double> last;
  int64_t last_step = 0;
};

/// Every folder at or under `folder` that holds files with "tfevents" in their name, by name. A
/// record cut short at the end of a file, as a killed writer leaves it, ends that file.
/// Errors: Error naming the folder if there is none, and file and byte of a wrong checksum.
std::vector<EventRun> read_event_runs(const std::filesystem::path& folder);

/// CRC-32C.
uint32_t crc32c(std::string_view bytes);
/// As stored: rotated and shifted, so that a checksum of checksums is none.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace windtunnel::scaling
