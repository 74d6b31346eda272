#pragma once
// The `complete` entry of a kind whose options are one flat struct.

#include "base/config.h"

namespace windtunnel::model {

/// All options with their defaults, laid over by those given.
template <class Options>
base::Json complete_options(const base::Json& given) {
  return base::to_json(base::from_trusted_json<Options>(given));
}

}  // namespace windtunnel::model
