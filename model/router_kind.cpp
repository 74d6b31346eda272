#include "model/router_kind.h"

namespace windtunnel::model {

base::Json routers_schema() {
  base::Json properties = {
      {"kind",
       {{"type", "string"},
        {"enum", RouterKinds::instance().names()},
        {"default", "softmax"},
        {"description", "the rule by which a token chooses; its options lie under its name"}}}};
  for (const auto& kind : RouterKinds::instance().kinds()) {
    properties[kind.name] = kind.options;
    properties[kind.name]["description"] = kind.summary;
    properties[kind.name]["x-source"] = kind.source;
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

base::Json complete_router(const base::Json& router) {
  const std::string name = router.value("kind", "softmax");
  const auto& kind = RouterKinds::instance().get(name, "router");
  return {{"kind", name}, {name, kind.entry.complete(router.value(name, base::Json::object()))}};
}

}  // namespace windtunnel::model
