// LFU in the cache: the block with the fewest uses since its insertion is evicted; of equals the one that reached its
// count first. An evicted block loses its count.
#include <algorithm>
#include <vector>

#include "simulator/replacement/member.h"
#include "simulator/replacement/set_aside.h"

namespace kvplan::replacement::lfu {
namespace {

/// There is a list for each count, from oldest to youngest, so that nothing has to be sorted.
class Lfu {
 public:
  struct Params {};
  explicit Lfu(const Room& room, const Params& /*params*/ = {}) : ends_(2) { grow(room.ids); }
  void grow(Id ids) {
    if (nodes_.size() < ids) nodes_.resize(ids);
  }
  [[nodiscard]] bool resident(Id id) const { return nodes_[id].count != 0; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    const std::uint32_t count = nodes_[use.id].count;
    unlink(use.id);
    push(use.id, count + 1);
  }
  void insert(const Use& use) {
    push(use.id, 1);
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    const auto [back_count, back] = aside_.empty() ? std::pair{0U, kNoId} : aside_.first(may);
    // Blocks set aside are older than the rest of their list.
    const std::size_t end = back == kNoId ? ends_.size() : back_count;
    Id victim = kNoId;
    while (least_ < end && (victim = first_of(least_, may)) == kNoId) ++least_;
    if (victim == kNoId) victim = back;
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) {
    unlink(id);
    nodes_[id].count = 0;
    --size_;
  }
  void may_go(Id id) {
    const Node& node = nodes_[id];
    if (node.count != 0 && node.older == kSetAside) aside_.may_go(node.younger);
  }

 private:
  static constexpr Id kSetAside = kNoId - 1;  // in `older`; then `younger` is the ticket
  struct Node {
    std::uint32_t older{kNoId}, younger{kNoId};
    std::uint32_t count{0};  // 0 = not resident
  };
  struct Ends {
    Id oldest{kNoId}, youngest{kNoId};
  };

  void push(Id id, std::uint32_t count) {
    if (count >= ends_.size()) ends_.resize(2 * ends_.size());
    least_ = std::min(least_, count);
    Ends& ends = ends_[count];
    nodes_[id] = {ends.youngest, kNoId, count};
    (ends.youngest == kNoId ? ends.oldest : nodes_[ends.youngest].younger) = id;
    ends.youngest = id;
  }
  void unlink(Id id) {
    const Node node = nodes_[id];
    if (node.older == kSetAside) [[unlikely]] {
      aside_.remove(node.younger);
      return;
    }
    Ends& ends = ends_[node.count];
    (node.older == kNoId ? ends.oldest : nodes_[node.older].younger) = node.younger;
    (node.younger == kNoId ? ends.youngest : nodes_[node.younger].older) = node.older;
  }
  template <class May>
  Id first_of(std::uint32_t count, const May& may) {
    for (Id id = ends_[count].oldest; id != kNoId; id = ends_[count].oldest) {
      if (may(id)) return id;
      unlink(id);
      nodes_[id].older = kSetAside;
      nodes_[id].younger = aside_.add(count, id);
    }
    return kNoId;
  }

  std::vector<Node> nodes_;
  std::vector<Ends> ends_;  // by count
  SetAside aside_;          // its lists are counts
  std::uint32_t least_{1};  // lists of lower counts are empty
  std::int64_t size_{0};
};

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = priced(
    800,
    member<Lfu>({.family = "replacement",
                 .name = "lfu",
                 .summary = "Evicts the block with the fewest uses since insertion; among equals, the block "
                            "that reached its count first.",
                 .source = "Podlipnig, Boeszoermenyi 2003 (ACM Computing Surveys 35(4)), in-cache LFU",
                 .params = kLeavesAlone}));

}  // namespace kvplan::replacement::lfu
