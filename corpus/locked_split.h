#pragma once
// Who looked at the locked split of a corpus. Each look makes it a little more like the validation
// split, on which choices were made; so looks are counted, and the count is shown with each score.

#include <filesystem>
#include <string>
#include <vector>

#include "base/config.h"

namespace windtunnel::corpus {

struct LockedAccess {
  /// UTC.
  std::string at;
  std::string who;
  std::string run;
  /// SHA-256 of the text: a corpus that is built again with other text starts from none.
  std::string text_sha256;

  template <class Self, class Visitor>
  static void describe(Self& self, Visitor& visit) {
    visit("at", self.at, {.help = "UTC"});
    visit("who", self.who, {.help = "user who asked"});
    visit("run", self.run, {.help = "run that was scored"});
    visit("text_sha256", self.text_sha256, {.help = "of the locked text"});
  }
};

/// Adds a line to locked/accesses.jsonl and syncs it. Returns how many accesses that makes.
/// Errors: Error if the corpus has no locked split (split_of) or the line cannot be written.
int64_t count_locked_access(const std::filesystem::path& corpus, const std::string& who,
                            const std::string& run);

/// The accesses to the locked text that is there now, in order; none if there is no such split.
std::vector<LockedAccess> locked_accesses(const std::filesystem::path& corpus);

}  // namespace windtunnel::corpus
