#pragma once
// The LibTorch-free half of a router kind: its name and options. Its other half, the computation,
// is in model/routers/ and registered as a RouterFactory (router.h).

#include <string>

#include "base/config.h"
#include "base/registry.h"

namespace windtunnel::model {

/// Registered under its name; one file each in model/router_kinds/.
struct RouterKind {
  /// All options with their defaults, laid over by those given.
  base::Json (*complete)(const base::Json& given);
};

using RouterKinds = base::Registry<RouterKind>;

/// {"kind": one of the names, and the options of each kind under its name}.
base::Json routers_schema();

/// {"kind": "x", "x": {every option}}; options of other kinds are left out. `router` must follow
/// the schema; an absent kind is softmax.
base::Json complete_router(const base::Json& router);

/// The options of the chosen kind in a completed router.
template <class Options>
Options router_options(const base::Json& router) {
  return base::from_trusted_json<Options>(router.at(router.at("kind").get<std::string>()));
}

}  // namespace windtunnel::model
