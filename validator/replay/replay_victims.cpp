// The preemption victim, computed from the facts by the rules of the engines.
#include <algorithm>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

/// vLLM V1: the victim is the first in the preemption order, when the next running request that needs memory finds too
/// little.
Status Replay::Impl::check_victim(const Request& r) {
  KVPLAN_TRY_DO(check_preempted_first(r));
  if (stopped()) return Done{};
  // How much is needed is known of requests that decode on blocks of their own table: one.
  if (bytes_ || !header_.returns_alloc_units || follows_courses() || has_groups()) return Done{};
  const auto told = [&](const Request& other) { return other.rank <= order_; };
  for (const RequestId id : running_) {
    const Request& asks = requests_.at(id);
    if (told(asks)) continue;
    if (!asks.whole) return Done{};  // a chunk of its prompt; its length is not known
    const auto slots = static_cast<std::int64_t>(asks.table.size()) * header_.alloc_unit_tokens;
    if (asks.written < slots) continue;
    if (arena_.free_alloc_units() == 0 && counts().cached < header_.alloc_unit_tokens) {
      preempted_for(asks, r);
      return Done{};
    }
    return contradict(r.id, "is preempted, but there is a block for request " + std::to_string(number(id)));
  }
  return contradict(r.id, "is preempted, but no request needs memory");
}

/// Decoding requests are in the order in which they were admitted, until some are retracted: then those that have
/// generated most come first, of equal ones those with the shortest prompt.
void Replay::Impl::sort_for_retraction() {
  const auto decode_end = std::stable_partition(running_.begin(), running_.end(),
                                                [&](RequestId id) { return requests_.at(id).whole; });
  std::stable_sort(running_.begin(), decode_end, [&](RequestId a, RequestId b) {
    const Request& first = requests_.at(a);
    const Request& second = requests_.at(b);
    const std::int64_t generated = first.target - first.input;
    const std::int64_t generated_by_second = second.target - second.input;
    if (generated != generated_by_second) return generated > generated_by_second;
    return first.input < second.input;
  });
}

/// SGLang: the victim is the last in that order, as long as there is not a page for every request that needs a new
/// one.
Status Replay::Impl::check_retracted(const Request& r) {
  if (!r.whole || mixed_ || order_ >= 0)
    return contradict(r.id, "is preempted, but does not decode in this pass");
  if (preempted_ == 0) sort_for_retraction();
  RequestId victim = kNoRequest;
  std::int64_t needed = 0;
  std::int64_t decoding = 0;
  for (const RequestId id : running_) {
    const Request& other = requests_.at(id);
    if (!other.whole) continue;
    victim = id;
    ++decoding;
    needed += other.written % header_.alloc_unit_tokens == 0 ? 1 : 0;
  }
  if (victim != r.id)
    return contradict(
        r.id, "is preempted, but request " + std::to_string(number(victim)) + " must be preempted first");
  if (decoding == 1) return contradict(r.id, "is preempted, but no other request decodes");
  const std::int64_t pages = arena_.free_alloc_units() + counts().cached / header_.alloc_unit_tokens;
  if (needed <= pages)
    return contradict(r.id, "is preempted, but " + std::to_string(pages) + " pages are available, of which " +
                                std::to_string(needed) + " are needed");
  return Done{};
}

}  // namespace kvplan::validator
