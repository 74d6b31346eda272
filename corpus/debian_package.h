#pragma once
// Text from Debian packages, without installing them.

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace windtunnel::corpus {

/// Fraction done and a line for people.
using PhaseProgress = std::function<void(double fraction, const std::string& detail)>;

/// The .deb file of each package; those that are not in `cache` yet are fetched into it with
/// apt-get, all in one call. If the system's package lists do not help, lists of our own are read
/// into the cache, so no rights are needed. Errors: Error if apt-get is missing or fails;
/// Interrupted.
std::map<std::string, std::filesystem::path> fetch_packages(
    const std::vector<std::string>& packages, const std::filesystem::path& cache,
    const PhaseProgress& progress);

/// Unpacks a .deb file into `folder`. Errors: Error naming the file (which is removed, so that the
/// next call fetches it again).
void unpack_package(const std::filesystem::path& deb, const std::filesystem::path& folder);

}  // namespace windtunnel::corpus
