#include "base/hash_cache.h"

#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fingerprint.h"

namespace windtunnel::base {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int64_t kTooFreshNanoseconds = 2 * kNanosecondsPerSecond;

int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

int64_t now_nanoseconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

}  // namespace

HashCache::Identity HashCache::identity_of(const std::filesystem::path& file) {
  struct stat stat = {};
  if (::stat(file.c_str(), &stat) != 0) {
    throw Error("cannot read " + file.string() + ": " + std::strerror(errno));
  }
  return {.device = stat.st_dev,
          .inode = stat.st_ino,
          .size = static_cast<uint64_t>(stat.st_size),
          .modified_ns = nanoseconds(stat.st_mtim),
          .changed_ns = nanoseconds(stat.st_ctim)};
}

std::string HashCache::of(const std::filesystem::path& file) {
  const Identity identity = identity_of(file);
  const auto found = entries_.find(file.string());
  if (found != entries_.end() && found->second.identity == identity &&
      found->second.hashed_ns - identity.changed_ns > kTooFreshNanoseconds) {
    return found->second.hash;
  }
  const int64_t start = now_nanoseconds();
  const std::string hash = sha256_of_file(file);
  entries_[file.string()] = {.identity = identity, .hashed_ns = start, .hash = hash};
  return hash;
}

}  // namespace windtunnel::base
