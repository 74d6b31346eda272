#include "corpus/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace windtunnel::corpus {
namespace {

/// Window bits of zlib for "gzip header expected".
constexpr int kGzipWindow = 15 + 16;

/// Enough to tell how compressible a text is, in a fraction of a second.
constexpr size_t kDeflatedBytes = 4 << 20;

/// All members, one after the other. False if the data is no whole gzip stream.
bool inflate_all(const std::string& packed, std::string& content) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return false;
  size_t taken = 0;
  int status = Z_OK;
  char block[1 << 16];
  while (taken < packed.size()) {
    const auto available = static_cast<uInt>(std::min<size_t>(packed.size() - taken, INT_MAX));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
    stream.avail_in = available;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block);
      stream.avail_out = sizeof block;
      status = inflate(&stream, Z_NO_FLUSH);
      content.append(block, sizeof block - stream.avail_out);
    } while (status == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    taken += available - stream.avail_in;
    if (status == Z_STREAM_END) {
      // Zero padding may follow the last member; another member starts with the magic bytes.
      if (packed.compare(taken, 2, "\x1f\x8b") != 0) break;
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      break;
    }
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END;
}

}  // namespace

std::string read_source_file(const std::filesystem::path& file) {
  std::string bytes = base::read_file(file);
  const std::string suffix = file.extension().string();
  const bool is_gzip = (suffix == ".gz" || suffix == ".dz") && bytes.compare(0, 2, "\x1f\x8b") == 0;
  if (!is_gzip) return bytes;
  std::string content;
  if (!inflate_all(bytes, content)) {
    throw base::Error(file.string() +
                      " is not a whole gzip file; fetch it again, or leave it out of the patterns "
                      "with '!" +
                      file.string() + "'");
  }
  return content;
}

double deflated_bits_per_byte(const std::filesystem::path& file) {
  std::string text = base::read_file(file);
  if (text.empty()) throw base::Error(file.string() + " is empty: there is nothing to compress");
  text.resize(std::min(text.size(), kDeflatedBytes));
  uLongf size = compressBound(text.size());
  std::vector<Bytef> compressed(size);
  const int status =
      compress2(compressed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(),
                Z_BEST_COMPRESSION);
  base::check(status == Z_OK, "deflate failed on a buffer that was large enough");
  return 8.0 * static_cast<double>(size) / static_cast<double>(text.size());
}

}  // namespace windtunnel::corpus
