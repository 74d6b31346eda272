#pragma once
// Who has a device. Two studies on one device slow each other down, and a budget in seconds then
// buys both less: a study takes a lease before its first run and keeps it while runs are in flight.
//
// A device has places: a GPU one, the CPU one for each hardware thread. Each is a file
// <device>-<place>.json in a folder that all studies of the machine share; it names the owner and
// the moment at which the lease expires unless it is renewed. A lease is void when its owner has
// ended (process number and start time, boot) or has not renewed it in time, as one that is stopped
// or hung does not. All looking and taking happens under one lock of the folder.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/processes.h"

namespace windtunnel::study {

struct LeaseOwner {
  base::ProcessName process;
  std::string study;
  /// UTC.
  std::string taken_at;
  /// Seconds since 1970.
  double expires_at = 0;

  /// "study logs/night, process 123, since 2026-01-31T12:34:56Z".
  std::string text() const;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("process", self.process, {.help = "that has it"});
    visit("study", self.study, {.help = "folder of the study that the process works on"});
    visit("taken_at", self.taken_at, {.help = "UTC"});
    visit("expires_at", self.expires_at,
          {.help = "when it is void if not renewed", .unit = "seconds since 1970"});
  }
};

/// WINDTUNNEL_LEASES, or windtunnel-leases in the system's folder for temporary files.
std::filesystem::path lease_folder();

class DeviceLease {
 public:
  /// How long a lease holds without being renewed.
  static constexpr double kSeconds = 120;

  DeviceLease(std::filesystem::path folder, std::string study);
  /// Gives it back.
  ~DeviceLease();
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;

  /// Takes `places` of a device, at most all it has, or none: then it returns who holds one that is
  /// missing. A lease that is held already stays as it is.
  /// Errors: Error if the folder cannot be used.
  std::optional<LeaseOwner> take(const std::string& device, int places);
  /// To be called often; writes at most every quarter of kSeconds.
  void renew();
  void give_back();
  bool is_held() const { return !held_.empty(); }

 private:
  bool is_own(const LeaseOwner& owner) const;
  void write(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  LeaseOwner self_;
  std::vector<std::filesystem::path> held_;
  double renewed_ = 0;
};

/// How many places a device has: "cpu" one for each hardware thread, others one.
int places_of(const std::string& device);

}  // namespace windtunnel::study
