#pragma once
// Training batches: documents packed one after the other into rows, rows in a random order.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "corpus/packed_corpus.h"

namespace windtunnel::corpus {

struct BatchShape {
  int64_t rows = 8;
  /// T; a row holds T + 1 tokens: inputs are the first T, targets the last T.
  int64_t context_tokens = 256;
};

struct Batch {
  /// rows x (T + 1), row-major.
  std::vector<int64_t> tokens;
  int64_t rows = 0;
  int64_t columns = 0;
  /// Which batch of the run this is, from 0.
  int64_t index = 0;
};

/// Batches of a run. Each epoch puts the documents in a random order one after the other, cuts them
/// into rows every T tokens (a row's last target is the first input of the next piece of text), and
/// draws the rows in a second random order: a batch of neighbouring rows would be one long
/// document, whose gradient says little about the rest.
///
/// Both orders are functions of (seed, epoch), so any batch can be made from its index: resuming at
/// batch k gives the bits an uninterrupted run would have seen. A thread prepares the next batches
/// while the current one is in use.
class BatchStream {
 public:
  /// Errors: as TokenStream; Error if the shape has no rows or no context.
  BatchStream(const std::filesystem::path& corpus_folder, const BatchShape& shape, uint64_t seed,
              int64_t first_batch = 0);
  ~BatchStream();

  /// Waits for the thread if it has to. Errors: what went wrong in the thread.
  Batch next();

  /// Passes over the training split that the first `batches` batches make.
  double epochs(int64_t batches) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace windtunnel::corpus
