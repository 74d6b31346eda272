#include "base/file_access.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/error.h"

namespace windtunnel::base {
namespace fs = std::filesystem;
namespace {

// Younger than the headers of Debian 12 (Linux 6.2, version 3 of the interface).
constexpr uint64_t kTruncate = 1ULL << 14;

constexpr uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
/// What a rule for a file, not a folder, may speak of.
constexpr uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                              LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

long interface_version() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/// Renames and links between folders (REFER) stay forbidden: a name inside `writable` for a file
/// outside would make it writable.
uint64_t write_rights() { return kWrite | (interface_version() >= 3 ? kTruncate : 0); }

void allow(int ruleset, const fs::path& path, uint64_t rights) {
  // A link is followed to what it names, which has its own place and its own rule.
  const int fd = ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  struct stat stat = {};
  if (fd < 0) return;
  const bool is_usable = ::fstat(fd, &stat) == 0 && !S_ISLNK(stat.st_mode);
  landlock_path_beneath_attr rule = {};
  rule.parent_fd = fd;
  rule.allowed_access = S_ISDIR(stat.st_mode) ? rights : rights & kOfFiles;
  if (is_usable && rule.allowed_access != 0) {
    ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }
  ::close(fd);
}

/// Allows reading everything below `folder` but `hidden`. `on_the_way` has all folders above those.
void allow_around(int ruleset, const fs::path& folder, const std::set<fs::path>& hidden,
                  const std::set<fs::path>& on_the_way) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path& path = entry.path();
    if (hidden.contains(path)) continue;
    if (on_the_way.contains(path)) {
      allow_around(ruleset, path, hidden, on_the_way);
    } else {
      allow(ruleset, path, kRead);
    }
  }
}

/// Writing to devices, not to files in memory that lie in the same folder.
void allow_devices(int ruleset) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const bool is_device = entry.is_character_file(error);
    if (is_device || entry.path().filename().string().starts_with("nvidia")) {
      allow(ruleset, entry.path(), kRead | LANDLOCK_ACCESS_FS_WRITE_FILE);
    }
  }
}

}  // namespace

bool can_restrict_files() { return interface_version() >= 1; }

FileRules::FileRules(const FileAccess& access) {
  landlock_ruleset_attr attributes = {};
  attributes.handled_access_fs = kRead | write_rights();
  ruleset_ =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (ruleset_ < 0) {
    throw Error(std::string("this kernel cannot restrict what a child does with files: ") +
                std::strerror(errno) + "; Landlock needs Linux 5.13");
  }
  std::set<fs::path> hidden, on_the_way;
  for (const fs::path& path : access.hidden) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error) continue;
    hidden.insert(real);
    for (fs::path above = real.parent_path(); on_the_way.insert(above).second;) {
      above = above.parent_path();
    }
  }
  if (hidden.empty()) {
    allow(ruleset_, "/", kRead);
  } else {
    allow(ruleset_, "/", LANDLOCK_ACCESS_FS_READ_DIR);
    allow_around(ruleset_, "/", hidden, on_the_way);
  }
  allow_devices(ruleset_);
  for (const fs::path& path : access.writable) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (!error) allow(ruleset_, real, kRead | write_rights());
  }
}

FileRules::~FileRules() {
  if (ruleset_ >= 0) ::close(ruleset_);
}

bool FileRules::restrict_this_process() const {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, ruleset_, 0) == 0;
}

}  // namespace windtunnel::base
