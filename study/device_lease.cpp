#include "study/device_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"

namespace windtunnel::study {
namespace fs = std::filesystem;
namespace {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// All users of the machine share the folder and its files, as they share the device.
class Guard {
 public:
  explicit Guard(const fs::path& folder) {
    std::error_code ignored;
    if (fs::create_directories(folder, ignored)) ::chmod(folder.c_str(), 0777);
    const fs::path file = folder / "lock";
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) base::throw_file_error("open", file, errno);
    ::fchmod(descriptor_, 0666);
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Guard() { ::close(descriptor_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  int descriptor_;
};

/// Whoever holds the lease now. A file that was cut short is nobody's.
std::optional<LeaseOwner> owner_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const base::Json json = base::Json::parse(stream, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  LeaseOwner owner = base::from_trusted_json<LeaseOwner>(json);
  const bool holds = owner.expires_at > seconds_since_1970() && base::is_alive(owner.process);
  return holds ? std::optional(owner) : std::nullopt;
}

}  // namespace

std::string LeaseOwner::text() const {
  return "study " + study + ", process " + std::to_string(process.pid) + ", since " + taken_at;
}

fs::path lease_folder() {
  const char* folder = std::getenv("WINDTUNNEL_LEASES");
  return folder != nullptr ? fs::path(folder) : fs::temp_directory_path() / "windtunnel-leases";
}

int places_of(const std::string& device) {
  return device == "cpu" ? std::max(1, static_cast<int>(std::thread::hardware_concurrency())) : 1;
}

DeviceLease::DeviceLease(fs::path folder, std::string study)
    : folder_(std::move(folder)),
      self_{.process = base::this_process(), .study = std::move(study), .taken_at = {}} {}

DeviceLease::~DeviceLease() {
  try {
    give_back();
  } catch (const base::Error&) {
    // It expires by itself.
  }
}

std::optional<LeaseOwner> DeviceLease::take(const std::string& device, int places) {
  if (is_held()) return std::nullopt;
  const Guard guard(folder_);
  const int all = places_of(device);
  std::vector<fs::path> free;
  std::optional<LeaseOwner> other;
  for (int place = 0; place < all; ++place) {
    const fs::path file = folder_ / (device + "-" + std::to_string(place) + ".json");
    const auto owner = owner_of(file);
    if (!owner) free.push_back(file);
    if (owner && !other) other = owner;
  }
  const auto wanted = static_cast<size_t>(std::clamp(places, 1, all));
  if (free.size() < wanted) return other;
  free.resize(wanted);
  self_.taken_at = base::utc_now();
  self_.expires_at = seconds_since_1970() + kSeconds;
  for (const fs::path& file : free) write(file);
  held_ = std::move(free);
  renewed_ = base::monotonic_seconds();
  return std::nullopt;
}

void DeviceLease::renew() {
  if (!is_held() || base::monotonic_seconds() - renewed_ < kSeconds / 4) return;
  const Guard guard(folder_);
  self_.expires_at = seconds_since_1970() + kSeconds;
  for (const fs::path& file : held_) {
    // One that expired meanwhile may be somebody else's now.
    const auto owner = owner_of(file);
    if (!owner || is_own(*owner)) write(file);
  }
  renewed_ = base::monotonic_seconds();
}

void DeviceLease::give_back() {
  if (!is_held()) return;
  const std::vector<fs::path> files = std::exchange(held_, {});
  const Guard guard(folder_);
  for (const fs::path& file : files) {
    const auto owner = owner_of(file);
    if (owner && is_own(*owner)) {
      [[maybe_unused]] const int cut = ::truncate(file.c_str(), 0);
    }
  }
}

/// One process may work on two studies.
bool DeviceLease::is_own(const LeaseOwner& owner) const {
  return base::to_json(owner.process) == base::to_json(self_.process) &&
         owner.study == self_.study && owner.taken_at == self_.taken_at;
}

void DeviceLease::write(const fs::path& file) const {
  // In place: in a folder that all users share, only its owner may replace a file.
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << base::to_json(self_).dump() << "\n";
  stream.close();
  if (!stream) base::throw_file_error("write", file, errno);
  ::chmod(file.c_str(), 0666);
}

}  // namespace windtunnel::study
