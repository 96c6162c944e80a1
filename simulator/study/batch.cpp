#include "simulator/study/batch.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace kvplan::runs {
namespace {

bool is_interrupted(const Outcome& outcome) {
  return outcome.error && outcome.error->kind == ErrorKind::kInterrupted;
}

/// Runs the batch without threads.
Status run_in_turn(const Batch& batch) {
  while (true) {
    KVPLAN_TRY(const std::optional<std::int64_t> number, batch.next());
    if (!number) return Done{};
    Outcome outcome = batch.run(*number);
    if (is_interrupted(outcome)) return interrupted_error();
    KVPLAN_TRY_DO(batch.done(std::move(outcome)));
  }
}

/// State that the threads share. The calling thread feeds numbers and takes outcomes; the others compute outcomes.
class Shared {
 public:
  explicit Shared(const Batch& batch) : batch_(batch), room_(2 * static_cast<std::size_t>(batch.threads)) {}

  /// The body of a thread.
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] {
        return ended_ || (waiting_alone_ == 0 && finished_.size() < room_ && (!numbers_.empty() || fed_));
      });
      if (ended_ || numbers_.empty()) return;
      const std::int64_t number = numbers_.front();
      numbers_.pop_front();
      ++running_;
      changed_.notify_all();
      Outcome outcome = run_unlocked(lock, number);
      if (outcome.starved) {
        // No other number is started until this one has run alone.
        ++waiting_alone_;
        --running_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return ended_ || running_ == 0; });
        ++running_;
        if (!ended_) outcome = run_unlocked(lock, number);
        --waiting_alone_;
      }
      --running_;
      if (is_interrupted(outcome)) {
        interrupted_ = ended_ = true;
      } else if (!ended_ || !outcome.starved) {
        finished_.push_back(std::move(outcome));
      }
      changed_.notify_all();
    }
  }

  /// The calling thread's part; `threads` run `work`.
  Status feed_and_take() {
    constexpr auto kPatience = std::chrono::milliseconds(300);
    std::unique_lock lock(mutex_);
    while (true) {
      while (!fed_ && !ended_ && numbers_.size() < room_) {
        lock.unlock();
        Result<std::optional<std::int64_t>> number = batch_.next();
        lock.lock();
        if (!number) return std::move(number).error();
        if (number.value()) {
          numbers_.push_back(*number.value());
        } else {
          fed_ = true;
        }
        changed_.notify_all();
      }
      if (!finished_.empty()) {
        Outcome outcome = std::move(finished_.front());
        finished_.pop_front();
        changed_.notify_all();
        lock.unlock();
        KVPLAN_TRY_DO(batch_.done(std::move(outcome)));
        lock.lock();
        continue;
      }
      if (running_ == 0 && waiting_alone_ == 0 && (ended_ || (fed_ && numbers_.empty())))
        return interrupted_ ? Status(interrupted_error()) : Status(Done{});
      if (changed_.wait_for(lock, kPatience) == std::cv_status::no_timeout) continue;
      lock.unlock();
      KVPLAN_TRY_DO(batch_.idle());
      lock.lock();
    }
  }

  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  Outcome run_unlocked(std::unique_lock<std::mutex>& lock, std::int64_t number) {
    lock.unlock();
    Outcome outcome = batch_.run(number);
    lock.lock();
    return outcome;
  }

  const Batch& batch_;
  const std::size_t room_;  // limit of queued numbers, and of finished outcomes before new work waits
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::int64_t> numbers_;
  std::deque<Outcome> finished_;
  int running_{0};
  int waiting_alone_{0};
  bool fed_{false};  // all numbers have been fed
  bool ended_{false};
  bool interrupted_{false};
};

}  // namespace

Status run_batch(const Batch& batch) {
  if (batch.threads <= 1) return run_in_turn(batch);
  Shared shared(batch);
  std::vector<std::thread> threads;
  try {
    for (int t = 0; t < batch.threads; ++t) threads.emplace_back([&shared] { shared.work(); });
  } catch (const std::system_error&) {  // the system allows no more threads: use those that exist
  } catch (const std::bad_alloc&) {
  }
  Status status = threads.empty() ? run_in_turn(batch) : shared.feed_and_take();
  shared.end();
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace kvplan::runs
