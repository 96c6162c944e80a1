// CLOCK: FIFO with a second chance. A use sets a block's bit. A block with its bit set is not evicted when its turn
// comes: it loses the bit and moves to the young end.
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::clock {
namespace {

class Clock {
 public:
  struct Params {};
  explicit Clock(const Room& room, const Params& /*params*/ = {}) : links_(room.ids), used_(room.ids, 0) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (used_.size() < ids) used_.resize(ids, 0);
  }
  [[nodiscard]] bool resident(Id id) const { return links_.linked(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) { used_[use.id] = 1; }
  void insert(const Use& use) {
    used_[use.id] = 0;
    links_.push(0, use.id);
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    while (true) {
      const Id id = links_.first(0, may);
      if (id == kNoId) return kNoId;
      if (used_[id] == 0) {
        erase(id);
        return id;
      }
      used_[id] = 0;
      links_.renew(0, id);
    }
  }
  void erase(Id id) {
    links_.remove(id);
    --size_;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  Links<1> links_;
  std::vector<std::uint8_t> used_;
  std::int64_t size_{0};
};

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = member<Clock>(
    {.family = "replacement",
     .name = "clock",
     .summary = "FIFO with a second chance: a block that was used since the last visit is skipped once.",
     .source = "Corbato 1968 (A Paging Experiment with the Multics System), one bit",
     .params = kLeavesAlone});

}  // namespace kvplan::replacement::clock
