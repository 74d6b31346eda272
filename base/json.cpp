#include "base/json.h"

#include "base/error.h"
#include "base/files.h"

template class nlohmann::basic_json<>;

namespace windtunnel::base {

Json encode_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

std::optional<double> decode_number(const Json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::nan("");
  if (value == "Infinity") return HUGE_VAL;
  if (value == "-Infinity") return -HUGE_VAL;
  throw Error("expected a number, null, \"NaN\" or \"Infinity\", found " + value.dump());
}

Json parse_json(std::string_view text, const std::string& subject) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(subject + ": not valid JSON at byte " + std::to_string(error.byte) +
                (text.empty() ? " (it is empty)" : ""));
  }
}

Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.string());
}

void write_json(const std::filesystem::path& file, const Json& value) {
  write_file_atomic(file, value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

const Json* find_path(const Json& document, std::string_view dotted_path) {
  const Json* node = &document;
  while (!dotted_path.empty()) {
    const size_t dot = dotted_path.find('.');
    const std::string key(dotted_path.substr(0, dot));
    if (!node->is_object()) return nullptr;
    const auto found = node->find(key);
    if (found == node->end()) return nullptr;
    node = &*found;
    dotted_path = dot == std::string_view::npos ? std::string_view() : dotted_path.substr(dot + 1);
  }
  return node;
}

void set_path(Json& document, std::string_view dotted_path, Json value) {
  Json* node = &document;
  for (;;) {
    const size_t dot = dotted_path.find('.');
    const std::string key(dotted_path.substr(0, dot));
    if (!node->is_object()) *node = Json::object();
    node = &(*node)[key];
    if (dot == std::string_view::npos) break;
    dotted_path = dotted_path.substr(dot + 1);
  }
  *node = std::move(value);
}

void apply_override(Json& document, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError("override '" + assignment +
                     "': must look like path=value, e.g. train.optimizer.learning_rate=0.01");
  }
  const std::string text = assignment.substr(equals + 1);
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) value = text;
  set_path(document, assignment.substr(0, equals), std::move(value));
}

Json apply_patch(Json document, const Json& patch) {
  for (const auto& [path, value] : patch.items()) set_path(document, path, value);
  return document;
}

namespace {

void collect_difference(const Json& from, const Json& to, const std::string& path, Json& patch) {
  if (from == to) return;
  if (!from.is_object() || !to.is_object()) {
    patch[path] = to;
    return;
  }
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : to.items()) {
    if (from.contains(key)) {
      collect_difference(from[key], value, prefix + key, patch);
    } else {
      patch[prefix + key] = value;
    }
  }
  for (const auto& [key, value] : from.items()) {
    if (!to.contains(key)) patch[prefix + key] = nullptr;
  }
}

}  // namespace

Json difference(const Json& from, const Json& to) {
  Json patch = Json::object();
  collect_difference(from, to, "", patch);
  return patch;
}

Json merge(Json under, const Json& over) {
  if (!under.is_object() || !over.is_object()) return over;
  for (const auto& [key, value] : over.items()) {
    under[key] = under.contains(key) ? merge(under[key], value) : value;
  }
  return under;
}

}  // namespace windtunnel::base
