#pragma once
// The fields of a JSON Schema by their dotted paths, as people type them: looked up, listed, and
// the nearest ones where a path does not exist.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace windtunnel::base {

/// `schema` points into the schema that was asked.
struct SchemaField {
  /// From the root, e.g. "train.budget.amount".
  std::string path;
  const Json* schema = nullptr;

  /// An object with fields of its own.
  bool is_group() const;
};

/// All fields of an object's schema, each group before what is in it.
std::vector<SchemaField> schema_fields(const Json& schema);

/// The schema at a path, or nullptr. In lists any part stands for the items. By parts for paths
/// whose keys may hold dots.
const Json* schema_at(const Json& schema, std::string_view path);
const Json* schema_at(const Json& schema, const std::vector<std::string>& parts);

/// What a path may stand for: the field at it, else all fields whose path has the same last part
/// and the others in the same order, with further ones anywhere before the last.
std::vector<SchemaField> fields_named(const Json& schema, std::string_view path);

/// Paths that a wrong one may have meant, the likeliest kind of slip only: misspelt parts, parts
/// left out, the right name in another place, parts left out and the last misspelt. Empty if
/// nothing is near.
std::vector<std::string> nearest_paths(const Json& schema, std::string_view path);

/// "did you mean 'train.optimizer.learning_rate'?", or "" if nothing is near. `prefix` is put
/// before each path.
std::string path_suggestion(const Json& schema, std::string_view path,
                            std::string_view prefix = "");

/// Names of the fields an object has.
std::vector<std::string> field_names(const Json& schema);

/// "integer", "number or null"; "" if the schema says nothing.
std::string type_text(const Json& schema);

/// "> 0 and <= 10", or "" if every value of the type is allowed.
std::string range_text(const Json& schema);

/// The values an enumerated field takes; empty if it is not enumerated.
std::vector<std::string> choices_of(const Json& schema);

}  // namespace windtunnel::base
