#pragma once
// The one way to extend anything. A kind (layer, router, optimizer, law, proposer, veto ...) is one
// file that registers itself at its bottom:
//
//   const base::Registration<Law> registration{{
//       .name = "power_offset",
//       .summary = "L(C) = E + A C^-alpha",
//       .source = "Hoffmann et al. 2022, arXiv:2203.15556",
//       .options = schema_of<PowerOffsetOptions>(),
//       .entry = {...}}};
//
// Registries are complete before main and constant after. Libraries that hold kinds are linked
// whole (see cmake/Folders.cmake), and structure_test compares each registry with the files of its
// folder.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace windtunnel::base {

/// One registered kind; Entry is the contract's own part (a factory, or a table of functions).
template <class Entry>
struct Kind {
  std::string name;
  std::string summary;
  std::string source = {};
  /// JSON Schema of the kind's options, with defaults; an object without properties if it has none.
  Json options =
      Json{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  Entry entry;
};

template <class Entry>
class Registry {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  void add(Kind<Entry> kind) {
    check(find(kind.name) == nullptr, "a kind is registered twice");
    const auto place =
        std::lower_bound(kinds_.begin(), kinds_.end(), kind.name,
                         [](const auto& a, const std::string& b) { return a.name < b; });
    kinds_.insert(place, std::move(kind));
  }

  const Kind<Entry>* find(std::string_view name) const {
    for (const auto& kind : kinds_) {
      if (kind.name == name) return &kind;
    }
    return nullptr;
  }

  /// Errors: Error that names the known kinds; `what` is the word for them, e.g. "router".
  const Kind<Entry>& get(std::string_view name, std::string_view what) const {
    if (const auto* kind = find(name)) return *kind;
    throw Error(std::string(what) + " '" + std::string(name) +
                "' does not exist; known: " + join(names(), ", "));
  }

  /// Sorted by name.
  const std::vector<Kind<Entry>>& kinds() const { return kinds_; }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& kind : kinds_) result.push_back(kind.name);
    return result;
  }

 private:
  std::vector<Kind<Entry>> kinds_;
};

template <class Entry>
struct Registration {
  explicit Registration(Kind<Entry> kind) { Registry<Entry>::instance().add(std::move(kind)); }
};

}  // namespace windtunnel::base
