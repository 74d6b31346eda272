#include "study/experiment.h"

namespace windtunnel::study {

std::string family_of(const Proposal& proposal) {
  if (!proposal.family.empty()) return proposal.family;
  if (proposal.patch.empty()) return "unknown";
  const std::string path = proposal.patch.begin().key();
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(0, dot);
}

}  // namespace windtunnel::study

WINDTUNNEL_COMPILE_FIELDS(, windtunnel::study::Proposal)
WINDTUNNEL_COMPILE_FIELDS(, windtunnel::study::Decision)
