// GDSF for blocks of one size: priority = L + uses since insertion; the block of least priority is evicted, and L
// becomes its priority, so that old counts fade.
#include <compare>
#include <vector>

#include "simulator/replacement/keyed_heap.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::gdsf {
namespace {

/// The priority is computed anew at every use. Of blocks with equal priority the one with the oldest priority is
/// evicted.
class Gdsf {
 public:
  struct Params {};
  explicit Gdsf(const Room& room, const Params& /*params*/ = {}) : heap_(room.ids), uses_(room.ids, 0) {}
  void grow(Id ids) {
    heap_.grow(ids);
    if (uses_.size() < ids) uses_.resize(ids, 0);
  }
  [[nodiscard]] bool resident(Id id) const { return heap_.holds(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) { heap_.update(use.id, {floor_ + ++uses_[use.id], ++turn_}); }
  void insert(const Use& use) {
    uses_[use.id] = 1;
    heap_.push(use.id, {floor_ + 1, ++turn_});
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    const Id victim = heap_.first(may);
    if (victim == kNoId) return kNoId;
    floor_ = heap_.key(victim).priority;
    erase(victim);
    return victim;
  }
  void erase(Id id) {
    heap_.remove(id);
    --size_;
  }
  void may_go(Id id) { heap_.may_go(id); }

 private:
  struct Key {
    std::uint64_t priority, turn;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  KeyedHeap<Key> heap_;
  std::vector<std::uint32_t> uses_;
  std::uint64_t floor_{0};  // L
  std::uint64_t turn_{0};
  std::int64_t size_{0};
};

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember =
    member<Gdsf>({.family = "replacement",
                  .name = "gdsf",
                  .summary = "On each use a block's priority is set to L plus its number of uses. The block "
                             "with the lowest priority is evicted, and L (0 at first) becomes that priority, "
                             "so blocks not used recently age out.",
                  .source = "Cherkasova 1998 (HP Labs HPL-98-69), for one size and one cost",
                  .params = kLeavesAlone});

}  // namespace kvplan::replacement::gdsf
