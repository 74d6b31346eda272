#include "base/files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace windtunnel::base {
namespace fs = std::filesystem;
namespace {

/// A file descriptor that closes itself.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

void sync_path(const fs::path& path) {
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (descriptor.fd < 0) throw_file_error("open", path, errno);
  // Some file systems refuse fsync on a folder; the rename is still atomic there.
  if (::fsync(descriptor.fd) != 0 && errno != EINVAL && errno != EROFS)
    throw_file_error("sync", path, errno);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_file_error("make folder", folder, error.value());
}

void write_all(int fd, std::string_view content, const fs::path& file) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_file_error("write", file, errno);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void throw_file_error(const std::string& what, const fs::path& file, int error) {
  const std::string text = "cannot " + what + " " + file.string() + ": " + std::strerror(error);
  if (error != ENOSPC && error != EDQUOT) throw Error(text);
  throw DiskFull(text + " (" + format_count(static_cast<double>(free_bytes(file))) +
                 "B free); free some space and run the same command again");
}

std::string read_file(const fs::path& file) {
  const Descriptor descriptor{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (descriptor.fd < 0) throw_file_error("read", file, errno);
  std::string content;
  std::error_code ignored;
  const auto size = fs::file_size(file, ignored);
  if (!ignored) content.reserve(size);
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(descriptor.fd, block, sizeof block);
    if (count == 0) return content;
    if (count < 0) {
      if (errno == EINTR) continue;
      throw_file_error("read", file, errno);
    }
    content.append(block, static_cast<size_t>(count));
  }
}

fs::path temporary_name(const fs::path& file) {
  fs::path name = file;
  name += ".tmp-" + std::to_string(::getpid());
  return name;
}

void write_file_atomic(const fs::path& file, std::string_view content) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  make_folder(folder);
  const fs::path temporary = temporary_name(file);
  try {
    const Descriptor descriptor{
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (descriptor.fd < 0) throw_file_error("write", file, errno);
    write_all(descriptor.fd, content, file);
    if (::fsync(descriptor.fd) != 0) throw_file_error("sync", file, errno);
    if (::rename(temporary.c_str(), file.c_str()) != 0)
      throw_file_error("rename into", file, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_path(folder);
}

void write_folder_atomic(const fs::path& folder, const std::function<void(const fs::path&)>& fill) {
  // "name/" and "name" are one folder, but only of the second a sibling can be named.
  const fs::path target = folder.has_filename() ? folder : folder.parent_path();
  const fs::path temporary = temporary_name(target);
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  try {
    make_folder(temporary);
    fill(temporary);
    sync_folder(temporary);
    replace_folder(temporary, target);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
}

void write_file_atomic(const fs::path& file, const std::function<void(const fs::path&)>& write) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  make_folder(folder);
  const fs::path temporary = temporary_name(file);
  try {
    write(temporary);
    sync_path(temporary);
    if (::rename(temporary.c_str(), file.c_str()) != 0)
      throw_file_error("rename into", file, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_path(folder);
}

void sync_folder(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sync_path(entry.path());
  }
  sync_path(folder);
}

void replace_folder(const fs::path& temporary, const fs::path& final_name) {
  const auto sync_parent = [&] {
    sync_path(final_name.has_parent_path() ? final_name.parent_path() : fs::path("."));
  };
  // rename(2) cannot replace a folder that is not empty, but the two can change places at once: a
  // kill at any moment leaves one of them whole under the name.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final_name.c_str(), RENAME_EXCHANGE) ==
      0) {
    sync_parent();
    fs::remove_all(temporary);
    return;
  }
  // Nothing there to change places with, or a file system that cannot: the old one is moved aside
  // first, and a kill between the two renames leaves it under its ".tmp-" name.
  const fs::path old = final_name.string() + ".tmp-old-" + std::to_string(::getpid());
  const bool had_old = fs::exists(final_name);
  if (had_old && ::rename(final_name.c_str(), old.c_str()) != 0)
    throw_file_error("rename", final_name, errno);
  if (::rename(temporary.c_str(), final_name.c_str()) != 0)
    throw_file_error("rename into", final_name, errno);
  sync_parent();
  if (had_old) fs::remove_all(old);
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().find(".tmp-") != std::string::npos) {
      leftovers.push_back(entry.path());
    }
  }
  for (const fs::path& path : leftovers) fs::remove_all(path, error);
}

std::vector<fs::path> glob(const std::string& pattern) {
  // Walk from the longest prefix without a wildcard.
  const size_t wildcard = pattern.find_first_of("*?[");
  if (wildcard == std::string::npos) {
    return fs::is_regular_file(pattern) ? std::vector<fs::path>{pattern} : std::vector<fs::path>{};
  }
  const size_t slash = pattern.rfind('/', wildcard);
  const fs::path root =
      slash == std::string::npos ? fs::path(".") : fs::path(pattern.substr(0, slash + 1));
  std::string rest = slash == std::string::npos ? pattern : pattern.substr(slash + 1);

  // "**/" stands for any number of folders, also none; without it '*' stays within one folder.
  const bool deep = rest.find("**") != std::string::npos;
  std::vector<std::string> alternatives{rest};
  if (const size_t at = rest.find("**/"); at != std::string::npos) {
    alternatives.push_back(rest.substr(0, at) + rest.substr(at + 3));
  }
  std::vector<fs::path> found;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(root, options, error);
       entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (error) break;
    if (!entry->is_regular_file(error)) continue;
    const std::string relative = entry->path().lexically_relative(root).string();
    for (const std::string& alternative : alternatives) {
      if (fnmatch(alternative.c_str(), relative.c_str(), deep ? 0 : FNM_PATHNAME) == 0) {
        found.push_back(slash == std::string::npos ? fs::path(relative) : entry->path());
        break;
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

uint64_t free_bytes(const fs::path& path) {
  fs::path place = fs::absolute(path);
  std::error_code error;
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  const fs::space_info info = fs::space(place, error);
  return error ? 0 : static_cast<uint64_t>(info.available);
}

FolderLock::FolderLock(const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path file = folder / ".lock";
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw_file_error("lock", folder, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t count = ::read(descriptor_, holder, sizeof holder - 1);
    ::close(descriptor_);
    throw Error(folder.string() + " is in use by process " +
                (count > 0 ? std::string(trim(holder)) : "unknown") +
                "; wait for it to end, stop it, or choose another folder");
  }
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor_, 0) == 0) write_all(descriptor_, text, file);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace windtunnel::base
