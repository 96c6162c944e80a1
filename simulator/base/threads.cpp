#include "simulator/base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace kvplan {

void on_threads(int threads, std::size_t pieces, const std::function<void(std::size_t)>& piece) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
  std::size_t thrown_by = pieces;
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < pieces; i = next.fetch_add(1)) {
      try {
        piece(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < thrown_by) {
          thrown = std::current_exception();
          thrown_by = i;
        }
        next.store(pieces);
      }
    }
  };
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(threads, 1)), pieces);
  std::vector<std::thread> others;
  try {
    for (std::size_t t = 1; t < wanted; ++t) others.emplace_back(work);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work();
  for (std::thread& thread : others) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace kvplan
