#include "corpus/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace windtunnel::corpus {

MappedFile::MappedFile(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  void* data = nullptr;
  bool ok = descriptor >= 0 && ::fstat(descriptor, &status) == 0;
  const auto size = static_cast<size_t>(status.st_size);
  if (ok && size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    ok = data != MAP_FAILED;
  }
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!ok) throw base::Error("cannot read " + file.string() + ": " + std::strerror(error));
  if (size > 0) bytes_ = {static_cast<const char*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace windtunnel::corpus
