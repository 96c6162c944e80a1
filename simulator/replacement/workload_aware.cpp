// Workload-aware: requests are divided by category; for each, an exponential distribution is fitted to the times
// after which its blocks were used again. The block that is least likely to be used again within its expected
// remaining life is evicted.
#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <vector>

#include "simulator/base/real.h"
#include "simulator/replacement/keyed_heap.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::workload_aware {
namespace {

/// A block belongs to the category of the request that used it last. A reuse time is from one use of a block to the
/// next, even if it was evicted meanwhile, and counts for the category of the former use. m = the mean of the latest
/// `window` reuse times of a category (of all categories if it has none), at least 1 ns. life = the mean time from
/// last use to eviction of the latest `window` evicted blocks; before any eviction, the time since the first use.
/// With age = time since the last use, a block's probability is e^(-age / m) x (1 - e^(-life / m)), 0 if no reuse was
/// ever seen. Within a category the oldest use is the least likely, so only that block of each category is
/// considered. Of equal probabilities the deeper block is evicted, then the least recently used, then the lower id.
class WorkloadAware {
 public:
  struct Params {
    std::int64_t window{1000};
  };
  WorkloadAware(const Room& room, const Params& params)
      : places_(std::make_shared<HeapPlaces>(room.ids)),
        heaps_(room.categories, KeyedHeap<Key>(places_)),
        reuse_(room.categories, Recent(params.window)),
        life_(params.window) {
    grow(room.ids);
  }
  void grow(Id ids) {
    places_->grow(ids);
    if (last_.size() < ids) last_.resize(ids);
  }
  [[nodiscard]] bool resident(Id id) const { return (*places_)[id] != HeapPlaces::kNowhere; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    heaps_[last_[use.id].category].remove(use.id);
    note(use);
    heaps_[use.category].push(use.id, key_of(use));
  }
  void unpin(const Use& use) {
    Last& last = last_[use.id];
    last.time_ns = use.time_ns;
    now_ns_ = use.time_ns;
    KeyedHeap<Key>& heap = heaps_[last.category];
    heap.update(use.id, {use.time_ns, heap.key(use.id).depth_down, use.id});
  }
  void insert(const Use& use) {
    note(use);
    heaps_[use.category].push(use.id, key_of(use));
    ++size_;
  }
  template <class May>
  Id evict(const Use& incoming, const May& may) {
    if (incoming.id != kNoId) now_ns_ = incoming.time_ns;
    const double life = life_.count() > 0 ? life_.mean() : static_cast<double>(now_ns_ - first_ns_);
    Id victim = kNoId;
    double least = 0;
    for (std::size_t category = 0; category < heaps_.size(); ++category) {
      const Id id = heaps_[category].first(may);
      if (id == kNoId) continue;
      const double chance = chance_of(category, static_cast<double>(now_ns_ - last_[id].time_ns), life);
      if (victim == kNoId || chance < least || (chance == least && goes_before(id, victim))) {
        victim = id;
        least = chance;
      }
    }
    if (victim == kNoId) return kNoId;
    life_.add(now_ns_ - last_[victim].time_ns);
    erase(victim);
    return victim;
  }
  void erase(Id id) {
    heaps_[last_[id].category].remove(id);
    --size_;
  }
  void may_go(Id id) {
    if (resident(id)) heaps_[last_[id].category].may_go(id);
  }

 private:
  /// The latest times of one kind, and their mean.
  class Recent {
   public:
    explicit Recent(std::int64_t window) : window_(static_cast<std::size_t>(window)) {}
    void add(std::int64_t time) {
      if (times_.size() < window_) {
        times_.push_back(time);
      } else {
        sum_ -= times_[next_];
        times_[next_] = time;
        next_ = (next_ + 1) % window_;
      }
      sum_ += time;
    }
    [[nodiscard]] std::size_t count() const { return times_.size(); }
    [[nodiscard]] std::int64_t sum() const { return sum_; }
    [[nodiscard]] double mean() const {
      return static_cast<double>(sum_) / static_cast<double>(times_.size());
    }

   private:
    std::size_t window_, next_{0};
    std::vector<std::int64_t> times_;
    std::int64_t sum_{0};
  };
  struct Last {
    std::int64_t time_ns{0};
    std::uint32_t category{0};
    bool known{false};
  };
  struct Key {
    std::int64_t time_ns;
    std::uint32_t depth_down;  // smaller for a deeper block
    Id id;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  [[nodiscard]] static Key key_of(const Use& use) { return {use.time_ns, UINT32_MAX - use.depth, use.id}; }

  void note(const Use& use) {
    if (!seen_any_) first_ns_ = use.time_ns;
    seen_any_ = true;
    now_ns_ = use.time_ns;
    Last& last = last_[use.id];
    if (last.known) reuse_[last.category].add(use.time_ns - last.time_ns);
    last = {use.time_ns, use.category, true};
  }
  [[nodiscard]] double chance_of(std::size_t category, double age, double life) const {
    double mean = 0;
    if (reuse_[category].count() > 0) {
      mean = reuse_[category].mean();
    } else {
      std::int64_t sum = 0;
      std::size_t count = 0;
      for (const Recent& recent : reuse_) {
        sum += recent.sum();
        count += recent.count();
      }
      if (count == 0) return 0;
      mean = static_cast<double>(sum) / static_cast<double>(count);
    }
    mean = mean < 1 ? 1 : mean;
    return exponential(-age / mean) * (1 - exponential(-life / mean));
  }
  /// REQUIRES: both blocks are the first of their heaps.
  [[nodiscard]] bool goes_before(Id a, Id b) const {
    const Key& x = heaps_[last_[a].category].key(a);
    const Key& y = heaps_[last_[b].category].key(b);
    if (x.depth_down != y.depth_down) return x.depth_down < y.depth_down;
    return x.time_ns != y.time_ns ? x.time_ns < y.time_ns : a < b;
  }

  std::shared_ptr<HeapPlaces> places_;
  std::vector<KeyedHeap<Key>> heaps_;  // by category
  std::vector<Recent> reuse_;          // by category
  Recent life_;
  std::vector<Last> last_;  // the last use of each id, resident or not
  std::int64_t first_ns_{0}, now_ns_{0};
  bool seen_any_{false};
  std::int64_t size_{0};
};

constexpr std::array<Param, 2> kParams{{
    {.name = "window",
     .help =
         "Number of the latest reuse times of each category, and of the latest lifetimes (from last use to "
         "eviction), that estimates average",
     .kind = ParamKind::kInteger,
     .fallback = "1000",
     .low = 1,
     .high = 10000000},
    kLeavesParam,
}};

Result<WorkloadAware::Params> params_of(const Choice& choice, const Room& /*room*/) {
  return WorkloadAware::Params{.window = choice.integer("window")};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = member<WorkloadAware, params_of>(
    {.family = "replacement",
     .name = "workload-aware",
     .summary = "Evicts the block with the lowest estimated chance of reuse within a block's usual lifetime; "
                "the estimate is per request category.",
     .source = "Wang et al. 2025 (USENIX ATC, KVCache in the Wild), with exponentials",
     .params = kParams},
    true);

}  // namespace kvplan::replacement::workload_aware
