#pragma once
// What the tests of this folder share: files of one test, and what a failed call says.

#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::corpus {

class ScratchFolder : public tests::TemporaryFolder {
 public:
  void write(const std::string& name, std::string_view content) const {
    base::write_file_atomic(path() / name, content);
  }
};

/// What a call throws says; "" if it throws nothing.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace windtunnel::corpus
