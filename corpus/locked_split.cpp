#include "corpus/locked_split.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "corpus/packed_corpus.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
namespace {

fs::path accesses_file(const fs::path& corpus) { return corpus / kLockedFolder / "accesses.jsonl"; }

}  // namespace

int64_t count_locked_access(const fs::path& corpus, const std::string& who,
                            const std::string& run) {
  const CorpusManifest manifest = read_manifest(corpus);
  split_of(manifest, Split::kLocked, corpus);
  const LockedAccess access{
      .at = base::utc_now(), .who = who, .run = run, .text_sha256 = manifest.locked_text_sha256};
  const std::string line = base::to_json(access).dump() + "\n";
  const fs::path file = accesses_file(corpus);
  // One write of a short line at the end: whole or not there, also if two look at once.
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool is_written =
      fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
      ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_written) base::throw_file_error("write", file, error);
  return static_cast<int64_t>(locked_accesses(corpus).size());
}

std::vector<LockedAccess> locked_accesses(const fs::path& corpus) {
  std::vector<LockedAccess> result;
  const CorpusManifest manifest = read_manifest(corpus);
  const fs::path file = accesses_file(corpus);
  if (!manifest.locked || !fs::exists(file)) return result;
  std::istringstream lines(base::read_file(file));
  for (std::string line; std::getline(lines, line);) {
    auto access = base::from_trusted_json<LockedAccess>(base::parse_json(line, file.string()));
    if (access.text_sha256 == manifest.locked_text_sha256) result.push_back(std::move(access));
  }
  return result;
}

}  // namespace windtunnel::corpus
