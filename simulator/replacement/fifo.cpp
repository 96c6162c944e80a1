// FIFO: the block that was inserted first is evicted, however often it was used since.
#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::fifo {
namespace {

class Fifo {
 public:
  struct Params {};
  explicit Fifo(const Room& room, const Params& /*params*/ = {}) : links_(room.ids) {}
  void grow(Id ids) { links_.grow(ids); }
  [[nodiscard]] bool resident(Id id) const { return links_.linked(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& /*use*/) {}
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
const ReplacementEntry kMember = member<Fifo>({.family = "replacement",
                                               .name = "fifo",
                                               .summary = "Evicts the block that was inserted first.",
                                               .source = "Belady 1966 (IBM Systems Journal 5(2))",
                                               .params = kLeavesAlone});

}  // namespace kvplan::replacement::fifo
