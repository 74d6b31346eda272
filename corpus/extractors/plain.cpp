// Text as it is, byte for byte: also binary files and invalid UTF-8. Use it for text without
// markup.

#include "corpus/extractor.h"
#include "corpus/markup.h"

namespace windtunnel::corpus {
namespace {

std::vector<std::string> documents(std::string_view bytes) {
  if (is_blank(bytes)) return {};
  return {std::string(bytes)};
}

const base::Registration<Extractor> registration{
    {.name = "plain", .summary = "the file's bytes as they are", .entry = {documents}}};

}  // namespace
}  // namespace windtunnel::corpus
