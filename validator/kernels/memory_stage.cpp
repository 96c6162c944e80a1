#include "validator/kernels/memory_stage.h"

#include <algorithm>

namespace kvplan::validator {
namespace {

constexpr std::int64_t kPage = 2 << 20;
constexpr std::int64_t kLarge = 1 << 20;

std::int64_t whole_pages(std::int64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Result<std::vector<MemoryEvent>> memory_events(Machine& machine) {
  std::vector<MemoryEvent> events;
  std::vector<std::pair<void*, std::int64_t>> held;
  KVPLAN_TRY(const std::int64_t at_first, machine.free_bytes());
  const auto note = [&](const std::string& what, std::int64_t requested) -> Status {
    MemoryEvent event{.what = what, .requested = requested};
    std::int64_t small = 0;
    for (const auto& [memory, bytes] : held) {
      event.live += bytes;
      if (bytes < kLarge)
        small += (bytes + 511) / 512 * 512;
      else
        event.rounded += whole_pages(bytes);
    }
    event.rounded += whole_pages(small);
    KVPLAN_TRY(event.free, machine.free_bytes());
    event.taken = at_first - event.free;
    event.residual = event.taken - event.rounded;
    events.push_back(std::move(event));
    return Done{};
  };
  const auto all = [&]() -> Status {
    for (std::int64_t bytes = 1 << 10; bytes <= std::min(std::int64_t{1} << 30, at_first / 16); bytes *= 4)
      for (const std::int64_t more : {0, 1}) {
        KVPLAN_TRY(void* const memory, machine.allocate(Place::kDevice, bytes + more));
        held.emplace_back(memory, bytes + more);
        KVPLAN_TRY_DO(note("allocate", bytes + more));
      }
    while (!held.empty()) {
      const auto [memory, bytes] = held.back();
      held.pop_back();
      machine.release(Place::kDevice, memory);
      KVPLAN_TRY_DO(note("release", -bytes));
    }
    return Done{};
  };
  Status done = all();
  for (const auto& [memory, bytes] : held) machine.release(Place::kDevice, memory);
  KVPLAN_TRY_DO(std::move(done));
  return events;
}

void put_memory_events(JsonWriter& json, const std::vector<MemoryEvent>& events) {
  json.key("events").begin_array();
  for (const MemoryEvent& e : events) {
    json.begin_object().member("what", e.what).member("requested", e.requested).member("live", e.live);
    json.member("free", e.free)
        .member("taken", e.taken)
        .member("rounded", e.rounded)
        .member("residual", e.residual);
    json.end_object();
  }
  json.end_array();
}

std::vector<std::string> memory_text(const std::vector<MemoryEvent>& events) {
  std::int64_t worst = 0, most = 0;
  for (const MemoryEvent& e : events) {
    if (std::abs(e.residual) > std::abs(worst)) worst = e.residual;
    most = std::max(most, e.live);
  }
  return {std::to_string(events.size()) + " events, at most " + std::to_string(most) +
              " bytes; free memory differs from whole pages by at most " + std::to_string(worst) + " bytes",
          "after the last, " + std::to_string(events.empty() ? 0 : events.back().taken) +
              " bytes are still taken"};
}

}  // namespace kvplan::validator
