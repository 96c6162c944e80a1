// Belady's optimum for blocks of one size: the cached block with the farthest next use is evicted. It knows the
// future.
#include <array>
#include <compare>
#include <vector>

#include "simulator/replacement/keyed_heap.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::belady {
namespace {

/// Of blocks that are never used again, the one deepest in its prompt is evicted, then the lower id. So a block does
/// not outlive the block before it, since its next use is never earlier than that one's.
struct Key {
  std::uint64_t sooner;  // smaller for a later next use; 0: never used again
  std::uint32_t shallower;
  Id id;
  friend auto operator<=>(const Key&, const Key&) = default;
};

constexpr std::array<Param, 1> kParams{{{.name = "bypass",
                                         .help = "Whether a new block may bypass the cache if its next use "
                                                 "is farthest; otherwise it is always inserted",
                                         .kind = ParamKind::kFlag,
                                         .fallback = "false"}}};

/// For each reference, UINT64_MAX minus the position of the next reference to the same block; 0: there is none.
std::vector<std::uint64_t> next_uses(const References& refs) {
  std::vector<std::uint64_t> sooner(refs.ids.size());
  std::vector<std::uint64_t> next(refs.distinct, 0);
  for (std::size_t k = refs.ids.size(); k-- > 0;) {
    sooner[k] = next[refs.ids[k]];
    next[refs.ids[k]] = UINT64_MAX - k;
  }
  return sooner;
}

Result<Hits> replay(const Choice& choice, const References& refs, std::int64_t capacity,
                    bool (*stop_asked)()) {
  const bool bypass = choice.flag("bypass");
  const std::vector<std::uint64_t> sooner = next_uses(refs);
  KeyedHeap<Key> heap(refs.distinct);
  std::int64_t size = 0;
  Hits hits;
  for (std::size_t r = 0; r < refs.prompts(); ++r) {
    if (stop_asked != nullptr && r % 1024 == 0 && stop_asked()) return interrupted_error();
    bool leading = true;
    for (std::uint64_t k = refs.offsets[r]; k < refs.offsets[r + 1]; ++k) {
      const Id id = refs.ids[k];
      const Key key{sooner[k], UINT32_MAX - static_cast<std::uint32_t>(k - refs.offsets[r]), id};
      if (heap.holds(id)) {
        ++hits.object;
        hits.prefix += leading ? 1 : 0;
        heap.update(id, key);
        continue;
      }
      leading = false;
      if (size == capacity) {
        const Id victim = heap.first(AllMayGo{});
        if (bypass && key < heap.key(victim)) continue;
        heap.remove(victim);
        --size;
      }
      heap.push(id, key);
      ++size;
    }
  }
  return hits;
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember{
    .descriptor = {.family = "replacement",
                   .name = "belady",
                   .summary = "The offline optimum: evicts the block with the farthest next use.",
                   .source = "Belady 1966 (IBM Systems Journal 5(2)); Mattson et al. 1970",
                   .params = kParams},
    .uses_time = false,
    .replay = replay,
    .make = nullptr,
    .optimal = true};

}  // namespace kvplan::replacement::belady
