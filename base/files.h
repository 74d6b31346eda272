#pragma once
// Files that are either complete or absent: everything that must survive a kill is written under a
// temporary name in the same folder, synced, and renamed.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace windtunnel::base {

/// The disk is full, or this user's share of it. The message says how much is free.
struct DiskFull : Error {
  using Error::Error;
};

/// Exit code of a program that ended by DiskFull; the others are in error.h.
inline constexpr int kExitDiskFull = 3;

/// The system's reason as an exception: DiskFull or Error, "cannot WHAT FILE: reason".
[[noreturn]] void throw_file_error(const std::string& what, const std::filesystem::path& file,
                                   int error);

/// The whole content, byte for byte. Errors: Error naming the file and the system's reason.
std::string read_file(const std::filesystem::path& file);

/// Temporary name, write, fsync, rename, fsync of the folder. The folder is made if absent.
/// Errors: Error naming the file and the system's reason, DiskFull if that is a full disk.
/// The old content stays and the temporary file is removed.
void write_file_atomic(const std::filesystem::path& file, std::string_view content);

/// Renames a folder that was written under a temporary name into place, replacing the old one, and
/// syncs the parent. Files inside must have been synced (sync_folder).
void replace_folder(const std::filesystem::path& temporary,
                    const std::filesystem::path& final_name);

/// Makes a folder that is complete or absent: `fill` gets a temporary sibling to write into, which
/// is then synced and renamed, replacing a folder of that name. Folders above it are made.
/// Errors: Error naming the folder and the system's reason, or what `fill` throws; what was there
/// before stays and the temporary folder is removed.
void write_folder_atomic(const std::filesystem::path& folder,
                         const std::function<void(const std::filesystem::path&)>& fill);

/// The same for one file that others write: `write` gets a temporary name beside it.
void write_file_atomic(const std::filesystem::path& file,
                       const std::function<void(const std::filesystem::path&)>& write);

/// fsync of every regular file in a folder and of the folder.
void sync_folder(const std::filesystem::path& folder);

/// Removes what an interrupted write left: entries of `folder` whose name contains ".tmp-".
void remove_leftovers(const std::filesystem::path& folder);

/// A temporary sibling name for `file`: its name + ".tmp-" + process id.
std::filesystem::path temporary_name(const std::filesystem::path& file);

/// Regular files that match a pattern with '*', '?' and '**' (any number of folders), sorted.
std::vector<std::filesystem::path> glob(const std::string& pattern);

/// Bytes free for this user where `path` lies (or would lie).
uint64_t free_bytes(const std::filesystem::path& path);

/// An exclusive lock on a folder, held by this process until destroyed; the system frees it on any
/// death. Errors: Error naming the folder and the process that holds it.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace windtunnel::base
