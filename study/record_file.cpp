#include "study/record_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/files.h"
#include "base/fingerprint.h"

namespace windtunnel::study {
namespace fs = std::filesystem;
namespace {

constexpr size_t kKeyBytes = 32;

/// The study's key, or "" if it has none.
std::string read_key(const fs::path& study) {
  const fs::path file = study / kSealKeyFile;
  return fs::exists(file) ? base::read_file(file) : std::string();
}

std::string make_key(const fs::path& study) {
  const fs::path file = study / kSealKeyFile;
  std::string key(kKeyBytes, '\0');
  base::check(::getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()),
              "the system gives no random bytes");
  fs::create_directories(study);
  base::write_file_atomic(file, [&](const fs::path& temporary) {
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool is_written =
        fd >= 0 && ::write(fd, key.data(), key.size()) == static_cast<ssize_t>(key.size());
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (!is_written) base::throw_file_error("write", file, error);
  });
  return key;
}

}  // namespace

void make_seal_key(const fs::path& study) {
  if (read_key(study).empty()) make_key(study);
}

void write_record(const fs::path& study, const RunRecord& record) {
  std::string key = read_key(study);
  if (key.empty()) key = make_key(study);
  const fs::path folder = study / "runs" / record.id;
  const base::Json json = base::to_json(record);
  base::write_file_atomic(folder / "record.seal",
                          base::hmac_sha256(key, base::fingerprint(json)) + "\n");
  base::write_json(folder / "record.json", json);
}

std::optional<RunRecord> read_record(const fs::path& run_folder) {
  const fs::path file = run_folder / "record.json";
  if (!fs::exists(file)) return std::nullopt;
  return base::from_trusted_json<RunRecord>(base::read_json(file));
}

std::optional<RunRecord> read_sealed_record(const fs::path& study, const std::string& id) {
  const fs::path folder = study / "runs" / id;
  const std::string key = read_key(study);
  if (key.empty() || !fs::exists(folder / "record.json") || !fs::exists(folder / "record.seal")) {
    return std::nullopt;
  }
  const base::Json json = base::read_json(folder / "record.json");
  const std::string seal = base::hmac_sha256(key, base::fingerprint(json)) + "\n";
  if (base::read_file(folder / "record.seal") != seal) return std::nullopt;
  return base::from_trusted_json<RunRecord>(json);
}

}  // namespace windtunnel::study
