#pragma once
// Independent items on a few threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace windtunnel::corpus {

/// Threads worth starting for `items` pieces of work.
inline size_t worker_count(size_t items) {
  const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
  return std::max<size_t>(1, std::min({cores, items, size_t{8}}));
}

/// Calls work(item, worker) once for each item in [0, items), worker in [0, worker_count(items)).
/// The first exception stops the handing out of items and is rethrown here.
template <class Work>
void parallel_for(size_t items, const Work& work) {
  const size_t workers = worker_count(items);
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto loop = [&](size_t worker) {
    try {
      for (size_t item; (item = next.fetch_add(1)) < items;) work(item, worker);
    } catch (...) {
      next = items;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t worker = 1; worker < workers; ++worker) threads.emplace_back(loop, worker);
    loop(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace windtunnel::corpus
