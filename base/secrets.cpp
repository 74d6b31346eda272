#include "base/secrets.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace windtunnel::base {
namespace {

constexpr size_t kShortestSecret = 8;
/// Of what follows "sk-" or "Bearer ".
constexpr size_t kShortestToken = 20;

struct Secrets {
  std::mutex mutex;
  std::vector<std::string> values;
  std::vector<std::string> variables;
  /// All that is replaced, longest first, so that no form is left half.
  std::vector<std::string> forms;
};

Secrets& secrets() {
  static Secrets instance;
  return instance;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string base64(std::string_view bytes, std::string_view alphabet) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text += alphabet[bits >> (count - 6) & 63];
  }
  return text;  // whole digits only
}

/// The digits of base64 that depend on `secret` alone, when it starts `offset` bytes into a group.
std::string inner_base64(const std::string& secret, size_t offset, std::string_view alphabet) {
  const std::string digits = base64(std::string(offset, '\0') + secret, alphabet);
  return digits.substr((offset * 8 + 5) / 6);
}

std::string percent_encoded(const std::string& secret, std::string_view hex) {
  std::string text;
  for (const unsigned char byte : secret) {
    if (std::isalnum(byte) != 0 ||
        std::string_view("-_.~").find(static_cast<char>(byte)) != std::string_view::npos) {
      text += static_cast<char>(byte);
    } else {
      text += {'%', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return text;
}

std::vector<std::string> forms_of(const std::string& secret) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::vector<std::string> forms = {secret, percent_encoded(secret, "0123456789ABCDEF"),
                                    percent_encoded(secret, "0123456789abcdef")};
  for (const bool is_ascii : {false, true}) {
    const std::string quoted = Json(secret).dump(-1, ' ', is_ascii, Json::error_handler_t::replace);
    std::string escaped = quoted.substr(1, quoted.size() - 2);
    forms.push_back(escaped);
    replace_all(escaped, "/", "\\/");  // as some servers write it
    forms.push_back(escaped);
  }
  for (const size_t offset : {0U, 1U, 2U}) {
    forms.push_back(inner_base64(secret, offset, letters + "+/"));
    forms.push_back(inner_base64(secret, offset, letters + "-_"));
  }
  return forms;
}

void remember(const std::string& secret) {
  if (secret.size() < kShortestSecret) return;
  Secrets& known = secrets();
  const std::lock_guard lock(known.mutex);
  if (std::find(known.values.begin(), known.values.end(), secret) != known.values.end()) return;
  known.values.push_back(secret);
  for (std::string& form : forms_of(secret)) known.forms.push_back(std::move(form));
  std::sort(known.forms.begin(), known.forms.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  known.forms.erase(std::unique(known.forms.begin(), known.forms.end()), known.forms.end());
}

bool is_of_token(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("-_.~+/=").find(letter) != std::string_view::npos;
}

/// Replaces long tokens after `mark`, which must not stand inside a word ("task-...").
void replace_tokens(std::string& text, std::string_view mark, bool keep_mark) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0) continue;
    const size_t start = at + mark.size();
    size_t end = start;
    while (end < text.size() && is_of_token(text[end])) ++end;
    if (end - start < kShortestToken) continue;
    const size_t from = keep_mark ? start : at;
    text.replace(from, end - from, kRedacted);
  }
}

bool knows_none() {
  Secrets& known = secrets();
  const std::lock_guard lock(known.mutex);
  return known.forms.empty();
}

}  // namespace

std::string secret_from_environment(const std::string& variable) {
  if (variable.empty()) return "";
  Secrets& known = secrets();
  {
    const std::lock_guard lock(known.mutex);
    if (std::find(known.variables.begin(), known.variables.end(), variable) ==
        known.variables.end()) {
      known.variables.push_back(variable);
    }
  }
  const char* value = std::getenv(variable.c_str());
  const std::string secret(value ? trim(value) : std::string_view());
  remember(secret);
  return secret;
}

std::string secret_from_file(const std::filesystem::path& file) {
  const std::string secret(trim(read_file(file)));
  if (secret.empty()) throw Error("key file " + file.string() + " is empty");
  remember(secret);
  return secret;
}

std::string redact(std::string text) {
  Secrets& known = secrets();
  const std::lock_guard lock(known.mutex);
  for (const std::string& form : known.forms) replace_all(text, form, kRedacted);
  return text;
}

std::string redact_tokens(std::string text) {
  text = redact(std::move(text));
  replace_tokens(text, "Bearer ", /*keep_mark=*/true);
  replace_tokens(text, "sk-", /*keep_mark=*/false);
  return text;
}

Json redact(const Json& value) {
  if (knows_none()) return value;
  if (value.is_string()) return redact(value.get_ref<const std::string&>());
  if (value.is_array()) {
    Json array = Json::array();
    for (const Json& item : value) array.push_back(redact(item));
    return array;
  }
  if (value.is_object()) {
    Json object = Json::object();
    for (const auto& [key, item] : value.items()) object[redact(key)] = redact(item);
    return object;
  }
  return value;
}

std::vector<std::string> secret_variables() {
  Secrets& known = secrets();
  const std::lock_guard lock(known.mutex);
  return known.variables;
}

}  // namespace windtunnel::base
