#pragma once
// Configuration structs. A struct is an aggregate with default member initialisers that lists its
// fields once; reading, writing, the JSON Schema and the checks all come from that list:
//
//   struct BudgetConfig {
//     std::string kind = "seconds";
//     double amount = 10;
//     template <class Self, class Visitor>
//     static void describe(Self& self, Visitor& visit) {
//       visit("kind", self.kind, {.help = "what the budget counts", .choices = {"seconds",
//       "steps"}}); visit("amount", self.amount, {.help = "how much of it", .exclusive_minimum =
//       0});
//     }
//   };
//
//   BudgetConfig budget = from_json<BudgetConfig>(json, "run.json");   // ConfigError with all
//   problems Json all = to_json(budget);                                        // every field,
//   defaults too Json schema = schema_of<BudgetConfig>();
//
// A default is written in one place: at the field.

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json.h"

namespace windtunnel::base {

/// What a field means and which values it may take; absent parts put no restriction.
struct FieldInfo {
  std::string help = {};
  std::string unit = {};
  std::string source = {};
  std::optional<double> minimum = {};
  std::optional<double> exclusive_minimum = {};
  std::optional<double> maximum = {};
  std::optional<double> exclusive_maximum = {};
  std::vector<std::string> choices = {};
  /// For a Json field: the schema of its value, e.g. generated from a registry.
  Json schema = nullptr;
};

namespace detail {

struct AnyVisitor {
  template <class T>
  void operator()(const char*, T&, const FieldInfo&) {}
};

template <class T>
concept Described = requires(T& value, AnyVisitor& visitor) {
  T::describe(value, visitor);
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
Json value_to_json(const T& value);
template <class T>
void value_from_json(const Json& json, T& value);
template <class T>
Json value_schema();

struct Writer {
  Json json = Json::object();
  template <class T>
  void operator()(const char* name, T& value, const FieldInfo&) {
    json[name] = value_to_json(value);
  }
};

struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value, const FieldInfo&) {
    const auto found = json.find(name);
    if (found != json.end()) value_from_json(*found, value);
  }
};

void add_restrictions(Json& schema, const FieldInfo& info);

struct SchemaWriter {
  Json properties = Json::object();
  template <class T>
  void operator()(const char* name, T& value, const FieldInfo& info) {
    Json schema = info.schema.is_null() ? value_schema<std::remove_const_t<T>>() : info.schema;
    add_restrictions(schema, info);
    if constexpr (!Described<T>) schema["default"] = value_to_json(value);
    properties[name] = std::move(schema);
  }
};

template <class T>
Json value_to_json(const T& value) {
  if constexpr (Described<T>) {
    Writer writer;
    T::describe(const_cast<T&>(value), writer);
    return std::move(writer.json);
  } else if constexpr (IsOptional<T>::value) {
    return value ? value_to_json(*value) : Json(nullptr);
  } else if constexpr (IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(value_to_json<typename T::value_type>(item));
    return array;
  } else if constexpr (IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, item] : value) object[key] = value_to_json(item);
    return object;
  } else if constexpr (std::is_floating_point_v<T>) {
    return encode_number(static_cast<double>(value));
  } else {
    return value;
  }
}

template <class T>
void value_from_json(const Json& json, T& value) {
  if constexpr (Described<T>) {
    Reader reader{json};
    T::describe(value, reader);
  } else if constexpr (IsOptional<T>::value) {
    value.reset();
    if (!json.is_null()) value_from_json(json, value.emplace());
  } else if constexpr (IsVector<T>::value) {
    value.clear();
    for (const Json& item : json) {
      typename T::value_type element{};
      value_from_json(item, element);
      value.push_back(std::move(element));
    }
  } else if constexpr (IsMap<T>::value) {
    value.clear();
    for (const auto& [key, item] : json.items()) value_from_json(item, value[key]);
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(decode_number(json).value_or(std::nan("")));
  } else {
    json.get_to(value);
  }
}

template <class T>
Json value_schema() {
  if constexpr (Described<T>) {
    T defaults{};
    SchemaWriter writer;
    T::describe(defaults, writer);
    return {{"type", "object"},
            {"additionalProperties", false},
            {"properties", std::move(writer.properties)}};
  } else if constexpr (IsOptional<T>::value) {
    Json schema = value_schema<typename T::value_type>();
    if (schema.contains("type") && schema["type"].is_string()) {
      schema["type"] = Json::array({schema["type"], "null"});
    }
    return schema;
  } else if constexpr (IsVector<T>::value) {
    return {{"type", "array"}, {"items", value_schema<typename T::value_type>()}};
  } else if constexpr (IsMap<T>::value) {
    return {{"type", "object"}, {"additionalProperties", value_schema<typename T::mapped_type>()}};
  } else if constexpr (std::is_same_v<T, Json>) {
    return Json::object();
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {{"type", "number"}};
  } else {
    return {{"type", "string"}};
  }
}

}  // namespace detail

/// All fields of a described struct, defaults included.
template <detail::Described T>
Json to_json(const T& value) {
  return detail::value_to_json(value);
}

/// The JSON Schema (draft 7) of a described struct, with help, unit, source and default per field.
template <detail::Described T>
Json schema_of() {
  return detail::value_schema<T>();
}

/// Every rule of `schema` that `document` breaks; empty means valid. Paths are dotted and start
/// after `prefix`. Checked with valijson.
std::vector<struct Problem> schema_problems(const Json& document, const Json& schema,
                                            const std::string& prefix = "");

/// Throws ConfigError(subject, ...) if schema_problems finds any.
void require_valid(const Json& document, const Json& schema, const std::string& subject);

/// Reads a described struct; absent keys keep their defaults, unknown keys are errors.
template <detail::Described T>
T from_json(const Json& document, const std::string& subject) {
  require_valid(document, schema_of<T>(), subject);
  T value{};
  detail::value_from_json(document, value);
  return value;
}

/// Reads a record that this project wrote, without the cost of validation; unknown keys are
/// ignored.
template <detail::Described T>
T from_trusted_json(const Json& document) {
  T value{};
  detail::value_from_json(document, value);
  return value;
}

}  // namespace windtunnel::base

/// For a large struct that many files read or write: `extern` in its header, outside of any
/// namespace, and nothing in one source file, which alone compiles what its fields take.
#define WINDTUNNEL_COMPILE_FIELDS(where, ...)                                                 \
  where template windtunnel::base::Json windtunnel::base::detail::value_to_json<__VA_ARGS__>( \
      const __VA_ARGS__&);                                                                    \
  where template void windtunnel::base::detail::value_from_json<__VA_ARGS__>(                 \
      const windtunnel::base::Json&, __VA_ARGS__&);                                           \
  where template windtunnel::base::Json windtunnel::base::detail::value_schema<__VA_ARGS__>();
