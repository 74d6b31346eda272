#include "corpus/batches.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/random.h"

namespace windtunnel::corpus {
namespace {

/// Batches made ahead of their use.
constexpr size_t kPrefetched = 4;

/// `count` numbers from 0 in a random order.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, const std::string& name) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  base::RandomStream(seed, name).shuffle(order);
  return order;
}

/// One epoch: the documents of the split in a random order, and the rows cut from them in another.
class Epoch {
 public:
  Epoch(const TokenStream& tokens, int64_t context_tokens, uint64_t seed, int64_t number)
      : number_(number),
        context_tokens_(context_tokens),
        rows_(
            shuffled(rows_of(tokens, context_tokens), seed, "data/rows" + std::to_string(number))) {
    const std::vector<int64_t>& starts = tokens.document_starts();
    documents_ = shuffled(static_cast<int64_t>(starts.size()) - 1, seed,
                          "data/epoch" + std::to_string(number));
    ends_.reserve(documents_.size());
    int64_t end = 0;
    for (const int64_t document : documents_) {
      const auto at = static_cast<size_t>(document);
      ends_.push_back(end += starts[at + 1] - starts[at]);
    }
  }

  /// Rows of one epoch. A tail shorter than a row is left for other epochs, which cut elsewhere.
  static int64_t rows_of(const TokenStream& tokens, int64_t context_tokens) {
    return std::max<int64_t>(1, tokens.size() / context_tokens);
  }

  int64_t number() const { return number_; }

  /// The T + 1 tokens of row `row`; at the end of the split it continues from the beginning.
  void copy_row(const TokenStream& tokens, int64_t row, std::span<int64_t> out) const {
    int64_t position = rows_[static_cast<size_t>(row)] * context_tokens_;
    while (!out.empty()) {
      position %= tokens.size();
      const auto place = static_cast<size_t>(
          std::upper_bound(ends_.begin(), ends_.end(), position) - ends_.begin());
      const int64_t left = ends_[place] - position;
      const auto document = static_cast<size_t>(documents_[place]);
      const size_t count = std::min(out.size(), static_cast<size_t>(left));
      tokens.copy(tokens.document_starts()[document + 1] - left, out.first(count));
      out = out.subspan(count);
      position += static_cast<int64_t>(count);
    }
  }

 private:
  int64_t number_;
  int64_t context_tokens_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> documents_;
  /// Where the i-th document of the order ends, counted in tokens of the epoch.
  std::vector<int64_t> ends_;
};

}  // namespace

struct BatchStream::Parts {
  TokenStream tokens;
  BatchShape shape;
  uint64_t seed;
  int64_t rows_per_epoch;
  Epoch epoch;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Batch> ready;
  std::exception_ptr failure;
  bool is_stopping = false;
  /// Last, so that it ends before what it uses.
  std::thread thread;

  Parts(const std::filesystem::path& folder, const BatchShape& batch_shape, uint64_t run_seed)
      : tokens(folder, Split::kTrain),
        shape(batch_shape),
        seed(run_seed),
        rows_per_epoch(Epoch::rows_of(tokens, shape.context_tokens)),
        epoch(tokens, shape.context_tokens, seed, 0) {}

  Batch make(int64_t index) {
    Batch batch{
        .tokens = {}, .rows = shape.rows, .columns = shape.context_tokens + 1, .index = index};
    const auto columns = static_cast<size_t>(batch.columns);
    batch.tokens.resize(static_cast<size_t>(batch.rows) * columns);
    for (int64_t row = 0; row < shape.rows; ++row) {
      const int64_t of_run = index * shape.rows + row;
      const int64_t number = of_run / rows_per_epoch;
      if (epoch.number() != number) epoch = Epoch(tokens, shape.context_tokens, seed, number);
      epoch.copy_row(tokens, of_run % rows_per_epoch,
                     {batch.tokens.data() + static_cast<size_t>(row) * columns, columns});
    }
    return batch;
  }

  void prefetch(int64_t index) {
    try {
      for (;; ++index) {
        Batch batch = make(index);
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_stopping || ready.size() < kPrefetched; });
        if (is_stopping) return;
        ready.push_back(std::move(batch));
        changed.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      changed.notify_all();
    }
  }
};

BatchStream::BatchStream(const std::filesystem::path& corpus_folder, const BatchShape& shape,
                         uint64_t seed, int64_t first_batch) {
  if (shape.rows <= 0 || shape.context_tokens <= 0 || first_batch < 0) {
    throw base::Error("a batch of " + std::to_string(shape.rows) + " rows of " +
                      std::to_string(shape.context_tokens) + " tokens from batch " +
                      std::to_string(first_batch) + " on cannot be made; rows and context must " +
                      "be at least 1");
  }
  parts_ = std::make_unique<Parts>(corpus_folder, shape, seed);
  parts_->thread = std::thread([this, first_batch] { parts_->prefetch(first_batch); });
}

BatchStream::~BatchStream() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->is_stopping = true;
    parts_->changed.notify_all();
  }
  parts_->thread.join();
}

Batch BatchStream::next() {
  std::unique_lock lock(parts_->mutex);
  parts_->changed.wait(lock, [&] { return !parts_->ready.empty() || parts_->failure; });
  if (parts_->ready.empty()) std::rethrow_exception(parts_->failure);
  Batch batch = std::move(parts_->ready.front());
  parts_->ready.pop_front();
  parts_->changed.notify_all();
  return batch;
}

double BatchStream::epochs(int64_t batches) const {
  return static_cast<double>(batches * parts_->shape.rows) /
         static_cast<double>(parts_->rows_per_epoch);
}

}  // namespace windtunnel::corpus
