#pragma once
// How the bytes of a file become text. One kind per file in corpus/extractors/.

#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"

namespace windtunnel::corpus {

/// The documents of one file: usually one, many for a collection such as a dictionary. Takes any
/// bytes, also invalid UTF-8, and never throws; text without content gives no document.
struct Extractor {
  std::vector<std::string> (*documents)(std::string_view bytes);
};

using ExtractorRegistry = base::Registry<Extractor>;

}  // namespace windtunnel::corpus
