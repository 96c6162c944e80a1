#include "simulator/scheduling/sglang/decode_room.h"

#include <algorithm>

namespace kvplan::scheduling::sglang {

bool make_decode_room(prefix::RadixPool& pool, std::span<Request* const> running) {
  const std::int64_t page = pool.page_tokens();
  const auto beginning = std::count_if(running.begin(), running.end(), [&](const Request* request) {
    return request->written_tokens() % page == 0;
  });
  const std::int64_t needed = beginning * page;
  pool.make_room(needed);
  return pool.available_tokens() >= needed;
}

std::vector<Request*> retract(prefix::RadixPool& pool, std::vector<Request*>& running,
                              std::int64_t retract_decode_steps) {
  std::stable_sort(running.begin(), running.end(), [](const Request* a, const Request* b) {
    if (a->generated != b->generated) return a->generated > b->generated;
    return a->prompt_tokens < b->prompt_tokens;
  });
  std::vector<Request*> retracted;
  while (running.size() > 1) {
    Request* const victim = running.back();
    running.pop_back();
    retracted.push_back(victim);
    pool.drop(victim->held, victim->written_tokens());
    pool.make_room(retract_decode_steps * static_cast<std::int64_t>(running.size()));
    if (make_decode_room(pool, running)) break;
  }
  return retracted;
}

void take_decode_slots(prefix::RadixPool& pool, std::span<Request* const> running) {
  pool.make_room(static_cast<std::int64_t>(running.size()) * pool.page_tokens());
  for (const Request* request : running)
    pool.extend(request->written_tokens(), request->written_tokens() + 1);
}

}  // namespace kvplan::scheduling::sglang
