#include "base/fingerprint.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <fstream>
#include <memory>
#include <vector>

#include "base/error.h"

namespace windtunnel::base {
namespace {

std::string hex_digits(const unsigned char* bytes, unsigned int size) {
  static const char* const digits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "SHA-256 unavailable");
  }
  void update(std::string_view bytes) {
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }
  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    return hex_digits(digest, size);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

Json canonical(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const auto whole = static_cast<int64_t>(number);
    if (std::abs(number) < 9e15 && static_cast<double>(whole) == number) return whole;
    return value;
  }
  if (value.is_structured()) {
    Json copy = value;
    for (Json& item : copy) item = canonical(item);
    return copy;
  }
  return value;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  check(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest,
             &size) != nullptr,
        "HMAC unavailable");
  return hex_digits(digest, size);
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw Error("cannot read " + file.string() + ": it does not exist or is not readable");
  Sha256 hash;
  std::vector<char> block(1 << 20);
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) ||
         stream.gcount() > 0) {
    hash.update({block.data(), static_cast<size_t>(stream.gcount())});
  }
  return hash.hex();
}

std::string fingerprint(const Json& value) { return sha256(canonical(value).dump()); }

}  // namespace windtunnel::base
