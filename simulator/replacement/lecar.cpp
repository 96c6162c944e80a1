// LeCaR: two experts, LRU and LFU, each with a weight. An expert drawn by weight names the victim, which is remembered.
// If the victim is used again, it was evicted too early, and the expert that named it loses weight.
#include <algorithm>
#include <array>
#include <compare>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/base/real.h"
#include "simulator/replacement/keyed_heap.h"
#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::lecar {
namespace {

/// Time is counted in uses of all blocks. A miss on a block that was evicted t ago multiplies the weight of the
/// expert that named it by e^(-rate x 0.005^(t / capacity)); the weights are then scaled to sum to 1 and kept within
/// 0.01 and 0.99. If both experts name the same block nothing is drawn or remembered. Uses are counted while a block
/// is cached or remembered; LFU breaks ties by the oldest use.
class Lecar {
 public:
  struct Params {
    double rate{0.45};
    std::int64_t history_blocks{0};  ///< number of blocks that each expert's history remembers
    std::uint64_t seed{0};
  };
  Lecar(const Room& room, const Params& params)
      : params_(params),
        capacity_(room.capacity),
        links_(room.ids),
        heap_(room.ids),
        random_(params.seed, "replacement lecar") {
    grow(room.ids);
  }
  void grow(Id ids) {
    links_.grow(ids);
    heap_.grow(ids);
    if (uses_.size() < ids) uses_.resize(ids, 0);
    if (went_.size() < ids) went_.resize(ids, 0);
    if (named_by_.size() < ids) named_by_.resize(ids, kNoExpert);
  }
  [[nodiscard]] bool resident(Id id) const { return heap_.holds(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    ++now_;
    links_.renew(kRecency, use.id);
    heap_.update(use.id, {++uses_[use.id], now_});
  }
  void unpin(const Use& use) { links_.renew(kRecency, use.id); }
  void insert(const Use& use) {
    recall(use.id);
    ++now_;
    links_.push(kRecency, use.id);
    heap_.push(use.id, {++uses_[use.id], now_});
    ++size_;
  }
  template <class May>
  Id evict(const Use& incoming, const May& may) {
    if (incoming.id != kNoId) recall(incoming.id);
    const Id by_recency = links_.first(kRecency, may);
    if (by_recency == kNoId) return kNoId;
    const Id by_count = heap_.first(may);
    if (by_recency == by_count) {
      erase(by_recency);
      return by_recency;
    }
    const std::uint8_t expert = random_.unit() < recency_weight_ ? kByRecency : kByCount;
    const Id victim = expert == kByRecency ? by_recency : by_count;
    const std::uint32_t uses = uses_[victim];
    erase(victim);
    if (params_.history_blocks > 0) remember(victim, expert, uses);
    return victim;
  }
  void erase(Id id) {
    links_.remove(id);
    heap_.remove(id);
    uses_[id] = 0;
    --size_;
  }
  void may_go(Id id) {
    links_.may_go(id);
    heap_.may_go(id);
  }

 private:
  static constexpr std::uint8_t kByRecency = 0, kByCount = 1, kNoExpert = 2;
  // index of the recency list, after the histories of the experts
  static constexpr std::uint32_t kRecency = 2;

  struct Key {
    std::uint32_t uses;
    std::uint64_t time;  // time of the latest use
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void recall(Id id) {
    const std::uint8_t expert = named_by_[id];
    if (expert == kNoExpert) return;
    forget(id);
    const double share = static_cast<double>(now_ - went_[id]) / static_cast<double>(capacity_);
    const double factor = exponential(-params_.rate * exponential(share * kLogOfDiscount));
    double by_recency = recency_weight_, by_count = 1 - recency_weight_;
    (expert == kByRecency ? by_recency : by_count) *= factor;
    recency_weight_ = std::clamp(by_recency / (by_recency + by_count), 0.01, 0.99);
  }
  /// Its uses stay stored until it is inserted or remembered again.
  void forget(Id id) {
    links_.remove(id);
    --remembered_[named_by_[id]];
    named_by_[id] = kNoExpert;
  }
  void remember(Id id, std::uint8_t expert, std::uint32_t uses) {
    if (remembered_[expert] == params_.history_blocks) {
      const Id oldest = links_.oldest(expert);
      forget(oldest);
      uses_[oldest] = 0;
    }
    links_.push(expert, id);
    ++remembered_[expert];
    named_by_[id] = expert;
    went_[id] = now_;
    uses_[id] = uses;
  }

  static constexpr double kLogOfDiscount = -0x1.5317df28c15bep+2;  // ln 0.005

  Params params_;
  std::int64_t capacity_;
  Links<3> links_;
  KeyedHeap<Key> heap_;
  Random random_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint64_t> went_;  // time of eviction, for remembered blocks
  std::vector<std::uint8_t> named_by_;
  double recency_weight_{0.5};
  std::uint64_t now_{0};
  std::int64_t size_{0};
  std::int64_t remembered_[2]{};
};

constexpr std::array<Param, 4> kParams{{
    {.name = "rate",
     .help = "Learning rate of the weights",
     .kind = ParamKind::kDecimal,
     .fallback = "0.45",
     .low = 0,
     .high = 100},
    {.name = "history",
     .help = "History size of each expert, as a multiple of the cache",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "1",
     .low = 0,
     .high = 100},
    {.name = "seed",
     .help = "Seed of the random draws",
     .kind = ParamKind::kInteger,
     .fallback = "0",
     .low = 0,
     .high = 9007199254740992},
    kLeavesParam,
}};

Result<Lecar::Params> params_of(const Choice& choice, const Room& room) {
  KVPLAN_TRY(const std::int64_t history, part_of(choice, "history", room.capacity));
  const auto seed = static_cast<std::uint64_t>(choice.integer("seed"));
  return Lecar::Params{.rate = choice.decimal("rate"), .history_blocks = history, .seed = seed};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember =
    member<Lecar, params_of>({.family = "replacement",
                              .name = "lecar",
                              .summary = "Evicts by LRU or LFU, drawn at random by weights; a policy's "
                                         "weight falls when a block that it evicted is requested again.",
                              .source = "Vietri et al. 2018 (HotStorage)",
                              .params = kParams});

}  // namespace kvplan::replacement::lecar
