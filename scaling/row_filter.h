#pragma once
// Which rows: "C<1e21 and dataset=rpj or N>=1e9". "and" binds tighter than "or"; there are no
// brackets.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::scaling {

struct Condition {
  std::string name;
  /// "<", "<=", ">", ">=", "=" or "!=".
  std::string comparison;
  std::string value;
  /// `value` as a number, if it is one.
  std::optional<double> number;
};

struct RowFilter {
  /// A row passes if every condition of one group holds. No groups: every row passes.
  std::vector<std::vector<Condition>> groups;
  std::string text;

  /// Errors: UsageError naming the part that is wrong.
  static RowFilter parse(const std::string& text);

  bool empty() const { return groups.empty(); }
  /// `value_of` gives the text of a name; empty where the row has none: no comparison holds there
  /// but "!=". Numbers compare as numbers, everything else as text, which only = and != do; text in
  /// quotes is never a number.
  bool passes(const std::function<std::string(const std::string&)>& value_of) const;
  /// Every name once, in order.
  std::vector<std::string> names() const;
};

}  // namespace windtunnel::scaling
