#include "corpus/debian_package.h"

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
using base::Error;
namespace {

constexpr const char* kOwnText =
    "; your own text needs no apt: windtunnel corpus --files 'notes/**/*.txt'";

std::string megabytes(double bytes) { return base::format_number(bytes / 1e6, 3) + " MB"; }

/// What a failed command said: its last lines, errors first choice.
std::string last_words(const fs::path& log) {
  std::vector<std::string> errors;
  std::string last;
  for (const std::string& line : base::split(base::read_file(log), '\n')) {
    if (line.rfind("E: ", 0) == 0 || line.find("error: ") != std::string::npos) {
      errors.push_back(line);
    }
    if (!base::trim(line).empty()) last = line;
  }
  if (errors.empty()) return last;
  return base::join(
      {errors.end() - std::min<long>(2, static_cast<long>(errors.size())), errors.end()}, " ");
}

uint64_t bytes_below(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (error) break;
    const auto size = entry->file_size(error);
    if (!error) bytes += size;  // apt renames files while we look
    error.clear();
  }
  return bytes;
}

class Apt {
 public:
  explicit Apt(const fs::path& cache) : cache_(cache), log_(cache / "apt.log") {}

  /// From here on with package lists kept by us instead of the system's.
  void use_own_lists(const PhaseProgress& progress) {
    const fs::path own = cache_ / "apt";
    fs::create_directories(own / "lists" / "partial");
    fs::create_directories(own / "cache" / "archives" / "partial");
    options_ = {"-o", "Dir::State::Lists=" + (own / "lists").string(), "-o",
                "Dir::Cache=" + (own / "cache").string()};
    // One archive of several may be down without need; whether it was needed shows in the download.
    run("update", {"-o", "Acquire::Languages=none", "-o", "APT::Update::Error-Mode=any"}, own, [&] {
      progress(0, "reading package lists, " +
                      megabytes(static_cast<double>(bytes_below(own / "lists"))));
    });
  }

  /// Into `folder`, all or nothing.
  bool download(const std::vector<std::string>& packages, const fs::path& folder,
                const PhaseProgress& progress) {
    std::vector<std::string> ask = packages;
    ask.emplace_back("--print-uris");
    if (!run("download", ask, folder, {})) return false;
    const double total = total_bytes();
    return run("download", packages, folder, [&] {
      const auto done = static_cast<double>(bytes_below(folder));
      progress(total > 0 ? std::min(1.0, done / total) : 0,
               megabytes(done) + " of " + megabytes(total) + " from the Debian archive");
    });
  }

  /// What went wrong first with the lists in use.
  const std::string& failure() const { return failure_; }

 private:
  bool run(const std::string& verb, const std::vector<std::string>& arguments,
           const fs::path& folder, const std::function<void()>& watch) {
    // The sandbox user of apt may not write below the folders of this user.
    std::vector<std::string> command = {"apt-get",
                                        verb,
                                        "-q",
                                        "-o",
                                        "APT::Sandbox::User=root",
                                        "-o",
                                        "Acquire::Retries=3",
                                        "-o",
                                        "Acquire::http::Timeout=30"};
    command.insert(command.end(), options_.begin(), options_.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    if (verb == "update") failure_.clear();
    fs::remove(log_);
    const base::ExitStatus status = base::run_child({.command = command,
                                                     .output_file = log_,
                                                     .working_folder = folder,
                                                     .environment = {{"LC_ALL", "C.UTF-8"}}},
                                                    {}, std::chrono::seconds(5), [&] {
                                                      if (watch) watch();
                                                      return !base::interrupt_requested();
                                                    });
    base::stop_if_interrupted();
    if (!status.ok() && failure_.empty()) {
      failure_ = "apt-get " + verb + " failed with " + status.text() + ": " + last_words(log_);
    }
    return status.ok();
  }

  /// Sum of the sizes in the log of --print-uris: 'uri' file size hash.
  double total_bytes() const {
    double total = 0;
    for (const std::string& line : base::split(base::read_file(log_), '\n')) {
      const std::vector<std::string> words = base::split(line, ' ');
      if (line.rfind('\'', 0) == 0 && words.size() >= 3) total += std::atof(words[2].c_str());
    }
    return total;
  }

  fs::path cache_;
  fs::path log_;
  std::vector<std::string> options_;
  std::string failure_;
};

fs::path cached_package(const std::string& package, const fs::path& cache) {
  fs::path found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(package + "_", 0) == 0 && entry.path().extension() == ".deb" && name > found) {
      found = entry.path();
    }
  }
  return found;
}

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : base::split(path == nullptr ? "/usr/bin" : path, ':')) {
    std::error_code error;
    if (fs::exists(fs::path(folder) / program, error)) return true;
  }
  return false;
}

}  // namespace

std::map<std::string, fs::path> fetch_packages(const std::vector<std::string>& packages,
                                               const fs::path& cache_folder,
                                               const PhaseProgress& progress) {
  const fs::path cache = fs::absolute(cache_folder);
  std::map<std::string, fs::path> debs;
  std::vector<std::string> missing;
  for (const std::string& package : packages) {
    debs[package] = cached_package(package, cache);
    if (debs[package].empty()) missing.push_back(package);
  }
  if (missing.empty()) return debs;
  for (const char* program : {"apt-get", "dpkg-deb"}) {
    if (!is_installed(program)) {
      throw Error(std::string(program) + " is not on this machine, so the package " + missing[0] +
                  " cannot be fetched" + kOwnText);
    }
  }
  const base::FolderLock lock(cache);
  base::remove_leftovers(cache);
  const fs::path temporary = base::temporary_name(cache / "download");
  fs::create_directories(temporary);
  Apt apt(cache);
  progress(0, "asking apt for " + base::join(missing, ", "));
  if (!apt.download(missing, temporary, progress)) {
    apt.use_own_lists(progress);
    if (!apt.download(missing, temporary, progress)) throw Error(apt.failure() + kOwnText);
  }
  base::sync_folder(temporary);
  for (const auto& entry : fs::directory_iterator(temporary)) {
    if (entry.path().extension() == ".deb") {
      fs::rename(entry.path(), cache / entry.path().filename());
    }
  }
  fs::remove_all(temporary);
  for (const std::string& package : missing) {
    debs[package] = cached_package(package, cache);
    if (debs[package].empty()) {
      throw Error("apt-get reported success but left no file for " + package + " in " +
                  cache.string());
    }
  }
  return debs;
}

void unpack_package(const fs::path& deb, const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path log = folder.string() + ".log";
  const base::ExitStatus status = base::run_child(
      {.command = {"dpkg-deb", "-x", deb.string(), folder.string()}, .output_file = log}, {},
      std::chrono::seconds(1), [] { return !base::interrupt_requested(); });
  base::stop_if_interrupted();
  if (!status.ok()) {
    const std::string words = last_words(log);
    fs::remove(deb);
    throw Error("cannot unpack " + deb.string() + ": " + words +
                "; it was removed, run the same command to fetch it again");
  }
  fs::remove(log);
}

}  // namespace windtunnel::corpus
