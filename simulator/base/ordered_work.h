// Pieces of work on several threads, with results taken in the order of the pieces. So sums of floating-point numbers
// have the same bits on any number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "simulator/base/result.h"
#include "simulator/base/threads.h"

namespace kvplan {

/// Calls work(i) once for every i in [0, pieces) on up to `threads` threads, and take(i, result) in the order of i,
/// one at a time, on any of them. A result waits in memory until all before it were taken. After an error no later
/// piece begins. The error of the least failing i is returned, the same on any number of threads.
template <class Found>
Status work_in_order(int threads, std::size_t pieces, const std::function<Result<Found>(std::size_t)>& work,
                     const std::function<void(std::size_t, Found&&)>& take) {
  std::atomic<std::size_t> first_failed{pieces};  // written under the mutex
  std::mutex mutex;                               // protects the variables below
  std::optional<Error> failed;
  std::map<std::size_t, Found> waiting;
  std::size_t taken = 0;
  on_threads(threads, pieces, [&](std::size_t i) {
    // Pieces before a failed one still run: one of them may be the first to fail.
    if (i > first_failed.load()) return;
    Result<Found> found = work(i);
    const std::lock_guard lock(mutex);
    if (!found.ok()) {
      if (i > first_failed.load()) return;
      first_failed.store(i);
      failed = std::move(found).error();
      return;
    }
    waiting.emplace(i, std::move(found).value());
    for (auto next = waiting.find(taken); next != waiting.end(); next = waiting.find(taken)) {
      take(taken, std::move(next->second));
      waiting.erase(next);
      ++taken;
    }
  });
  if (failed) return std::move(*failed);
  return Done{};
}

}  // namespace kvplan
