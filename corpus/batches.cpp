#include "corpus/batches.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/random.h"

namespace windtunnel::corpus {
namespace {

/// Batches made ahead of their use.
constexpr size_t kPrefetched = 4;

/// One epoch: the documents of the split in a random order.
class Epoch {
 public:
  Epoch(const TokenStream& tokens, uint64_t seed, int64_t number) : number_(number) {
    const std::vector<int64_t>& starts = tokens.document_starts();
    order_.resize(starts.size() - 1);
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int64_t>(i);
    base::RandomStream(seed, "data/epoch" + std::to_string(number)).shuffle(order_);
    ends_.reserve(order_.size());
    int64_t end = 0;
    for (const int64_t document : order_) {
      const auto at = static_cast<size_t>(document);
      ends_.push_back(end += starts[at + 1] - starts[at]);
    }
  }

  int64_t number() const { return number_; }

  /// Copies tokens from `position` of the epoch on, up to the end of a document; returns how many.
  size_t copy(const TokenStream& tokens, int64_t position, std::span<int64_t> out) const {
    const auto place =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), position) - ends_.begin());
    const int64_t left = ends_[place] - position;
    const auto document = static_cast<size_t>(order_[place]);
    const size_t count = std::min(out.size(), static_cast<size_t>(left));
    tokens.copy(tokens.document_starts()[document + 1] - left, out.first(count));
    return count;
  }

 private:
  int64_t number_;
  std::vector<int64_t> order_;
  /// Where the i-th document of the order ends, counted in tokens of the epoch.
  std::vector<int64_t> ends_;
};

}  // namespace

struct BatchStream::Parts {
  TokenStream tokens;
  BatchShape shape;
  uint64_t seed;
  Epoch epoch;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Batch> ready;
  std::exception_ptr failure;
  bool is_stopping = false;
  /// Last, so that it ends before what it uses.
  std::thread thread;

  Parts(const std::filesystem::path& folder, const BatchShape& batch_shape, uint64_t run_seed)
      : tokens(folder, Split::kTrain), shape(batch_shape), seed(run_seed), epoch(tokens, seed, 0) {}

  Batch make(int64_t index) {
    Batch batch{
        .tokens = {}, .rows = shape.rows, .columns = shape.context_tokens + 1, .index = index};
    batch.tokens.resize(static_cast<size_t>(batch.rows * batch.columns));
    for (int64_t row = 0; row < shape.rows; ++row) {
      int64_t position = (index * shape.rows + row) * shape.context_tokens;
      const auto columns = static_cast<size_t>(batch.columns);
      std::span<int64_t> out(batch.tokens.data() + static_cast<size_t>(row) * columns, columns);
      while (!out.empty()) {
        const int64_t number = position / tokens.size();
        if (epoch.number() != number) epoch = Epoch(tokens, seed, number);
        const size_t count = epoch.copy(tokens, position % tokens.size(), out);
        out = out.subspan(count);
        position += static_cast<int64_t>(count);
      }
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
  const BatchShape& shape = parts_->shape;
  return static_cast<double>(batches * shape.rows * shape.context_tokens) /
         static_cast<double>(parts_->tokens.size());
}

}  // namespace windtunnel::corpus
