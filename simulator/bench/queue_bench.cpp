// Queues of what is pending beside std::priority_queue of (time, id) that does the same work: the steps at which
// decoding requests are due, the arrivals of closed loops. Hold model: what is taken comes back later, so as many stay
// pending. Prints CPU times, operations a second, and the digest of the order, which must be that of both sides.
//   queue_bench [--small]
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <queue>
#include <span>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/base/random.h"
#include "simulator/bench/measure.h"
#include "simulator/core/arrivals.h"
#include "simulator/scheduling/fast/due_steps.h"

namespace kvplan::core {
namespace {

using bench::mix;
using Pending = std::priority_queue<std::pair<std::int64_t, std::int32_t>,
                                    std::vector<std::pair<std::int64_t, std::int32_t>>, std::greater<>>;

/// Random waits, made before anything is timed.
std::vector<std::int64_t> waits_of(std::int64_t count, std::uint64_t most) {
  Random random(1, "queue");
  std::vector<std::int64_t> waits(static_cast<std::size_t>(count));
  for (std::int64_t& wait : waits) wait = static_cast<std::int64_t>(random.below(most)) + 1;
  return waits;
}

bool row(const char* what, std::int64_t pending, std::int64_t operations, int rounds,
         const std::function<std::uint64_t()>& ours, const std::function<std::uint64_t()>& standard) {
  std::uint64_t digests[2]{};
  const std::vector<bench::Spread> times = bench::measure(
      {{[&] { digests[0] = ours(); }, 1 << 30}, {[&] { digests[1] = standard(); }, 1 << 30}}, rounds);
  const auto rate = [&](double seconds) { return 1e-6 * static_cast<double>(operations) / seconds; };
  std::printf("%-14s %7" PRId64
              " pending  %6.1f M/s (%.1f-%.1f)  std::priority_queue %6.1f M/s (%.1f-%.1f)"
              "  %.2fx  digest %016" PRIx64 "\n",
              what, pending, rate(times[0].median), rate(times[0].slowest), rate(times[0].fastest),
              rate(times[1].median), rate(times[1].slowest), rate(times[1].fastest),
              times[1].median / times[0].median, digests[0]);
  if (digests[0] == digests[1]) return true;
  std::fprintf(stderr, "queue_bench: %s, %" PRId64 " pending: the orders differ\n", what, pending);
  return false;
}

/// Each of `pending` requests is looked at, and expected again some steps later.
bool due_steps(std::int64_t pending, std::int64_t operations, int rounds) {
  const std::vector<std::int64_t> waits = waits_of(operations + pending, 2048);
  const auto put_all = [&](auto&& put) {
    for (std::int32_t i = 0; i < pending; ++i) put(waits[static_cast<std::size_t>(operations + i)], i);
  };
  SlotTable slots;
  for (std::int32_t i = 0; i < pending; ++i) slots.open(RequestId{i});
  const auto ours = [&] {
    DueSteps due(slots);
    put_all([&](std::int64_t step, std::int32_t id) { due.expect(step, Slot{id}); });
    std::uint64_t digest = bench::kDigestBegin;
    for (std::int64_t i = 0; i < operations; ++i) {
      const std::int64_t step = due.next().value_or(-1);
      const Slot slot = due.take();
      digest = mix(digest, static_cast<std::uint64_t>(step) << 32 | static_cast<std::uint32_t>(slot));
      due.expect(step + waits[static_cast<std::size_t>(i)], slot);
    }
    return digest;
  };
  const auto standard = [&] {
    Pending queue;
    put_all([&](std::int64_t step, std::int32_t id) { queue.emplace(step, id); });
    std::uint64_t digest = bench::kDigestBegin;
    for (std::int64_t i = 0; i < operations; ++i) {
      const auto [step, id] = queue.top();
      queue.pop();
      digest = mix(digest, static_cast<std::uint64_t>(step) << 32 | static_cast<std::uint32_t>(id));
      queue.emplace(step + waits[static_cast<std::size_t>(i)], id);
    }
    return digest;
  };
  return row("scheduling/fast/due_steps", pending, operations, rounds, ours, standard);
}

/// `pending` sessions with turns; every turn ends as it arrives and the next one comes after a pause. So few requests
/// that they stay in the cache, over and over: the row is about the queue, not about walking the graph.
bool arrivals(std::int64_t pending, std::int64_t operations, int rounds) {
  constexpr std::int64_t kRequests = 1 << 16;
  const std::int64_t turns = ceil_div(kRequests, pending);
  const std::int64_t repeats = ceil_div(operations, kRequests);
  const auto requests = static_cast<std::size_t>(pending * turns);
  const std::vector<std::int64_t> waits = waits_of(pending * turns, 1 << 20);
  Workload workload;
  workload.arrival.resize(requests);
  workload.input.assign(requests, 1);
  workload.output.assign(requests, 1);
  workload.order.resize(requests);
  number_off(std::span(workload.order));
  for (const std::int64_t wait : waits) workload.think.push_back({wait});
  traces::Waits before;  // turn t of session s is request t * pending + s
  for (std::int64_t r = pending; r < static_cast<std::int64_t>(requests); ++r) {
    before.request.push_back(static_cast<std::int32_t>(r));
    before.before.push_back(static_cast<std::int32_t>(r - pending));
  }
  Result<traces::Turns> turns_between = traces::turns_of(before, static_cast<std::int64_t>(requests));
  KVPLAN_CHECK(turns_between.ok());
  workload.turns = std::move(turns_between).value();
  const auto ours = [&] {
    std::uint64_t digest = bench::kDigestBegin;
    for (std::int64_t k = 0; k < repeats; ++k) {
      Arrivals queue(workload, workload.order);
      while (queue.any()) {
        const auto [time, request] = queue.take();
        digest = mix(digest, static_cast<std::uint64_t>(request));
        queue.ended(request, time);
      }
    }
    return digest;
  };
  const auto once = [&](std::uint64_t digest) {
    Pending queue;
    std::vector<std::int32_t> left = workload.turns.waits_for;
    for (std::int32_t r = 0; r < pending; ++r) queue.emplace(0, r);
    while (!queue.empty()) {
      const auto [time, request] = queue.top();
      queue.pop();
      digest = mix(digest, static_cast<std::uint64_t>(request));
      for (const std::int32_t follower : workload.turns.followers_of(request)) {
        const auto i = static_cast<std::size_t>(follower);
        if (--left[i] > 0) continue;
        queue.emplace(std::max(workload.arrival[i].since_start.count, time + workload.think[i].count),
                      follower);
      }
    }
    return digest;
  };
  const auto standard = [&] {
    std::uint64_t digest = bench::kDigestBegin;
    for (std::int64_t k = 0; k < repeats; ++k) digest = once(digest);
    return digest;
  };
  return row("core/arrivals", pending, repeats * pending * turns, rounds, ours, standard);
}

int run(bool small) {
  bool good = true;
  const int rounds = small ? 1 : 7;
  for (const std::int64_t pending : {64, 1'000, 100'000}) {
    if (small && pending > 1'000) break;
    good = due_steps(pending, small ? 10'000 : 4'000'000, rounds) && good;
  }
  for (const std::int64_t pending : {64, 1'000})
    good = arrivals(pending, small ? 10'000 : 4'000'000, rounds) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace kvplan::core

int main(int argc, char** argv) {
  return kvplan::core::run(argc > 1 && std::strcmp(argv[1], "--small") == 0);
}
