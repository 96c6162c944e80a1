// LRU: the block that was not used for the longest time is evicted.
#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::lru {
namespace {

/// Has the functions of policy.h. In a pool a block counts as used until its last holder frees it.
class Lru {
 public:
  struct Params {};
  explicit Lru(const Room& room, const Params& /*params*/ = {}) : links_(room.ids) {}
  void grow(Id ids) { links_.grow(ids); }
  [[nodiscard]] bool resident(Id id) const { return links_.linked(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) { links_.renew(0, use.id); }
  void unpin(const Use& use) { links_.renew(0, use.id); }
  void insert(const Use& use) {
    links_.push(0, use.id);
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    const Id victim = links_.first(0, may);
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) {
    links_.remove(id);
    --size_;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  Links<1> links_;
  std::int64_t size_{0};
};

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = [] {
  ReplacementEntry entry =
      priced(-400, member<Lru>({.family = "replacement",
                                .name = "lru",
                                .summary = "Evicts the least recently used block.",
                                .source = "Mattson, Gecsei, Slutz, Traiger 1970 (IBM Systems Journal 9(2))",
                                .params = kLeavesAlone}));
  entry.one_pass_curve = true;
  return entry;
}();

}  // namespace kvplan::replacement::lru
