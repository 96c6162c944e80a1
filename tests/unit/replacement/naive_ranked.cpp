// Models of the policies that give every block a rank: all ranks are computed anew whenever a victim is chosen.
#include <algorithm>
#include <map>
#include <optional>

#include "simulator/base/random.h"
#include "simulator/base/real.h"
#include "tests/unit/replacement/naive.h"

namespace kvplan::replacement::testing {
namespace {

/// The uses of a block since it was inserted, and their times.
struct Seen {
  std::int64_t uses{0};
  std::int64_t turn{0};             // of the last use, or of another event that counts as one
  Use last;                         // the last use
  std::int64_t floor{0};            // priority of the latest victim at the block's last use
  std::vector<std::int64_t> turns;  // of all uses
};

/// Blocks with their uses; the block with the least rank is evicted.
class Ranked : public Naive {
 public:
  [[nodiscard]] bool resident(Id id) const override { return blocks_.contains(id); }
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(blocks_.size()); }
  void touch(const Use& use) override { note(blocks_[use.id], use); }
  void insert(const Use& use) override { note(blocks_[use.id], use); }
  Id evict(const Use& /*incoming*/, const May& may) override {
    const Id victim = least(may);
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) override { blocks_.erase(id); }

 protected:
  using Rank = std::vector<std::int64_t>;
  [[nodiscard]] virtual Rank rank(const Seen& seen) const = 0;
  void note(Seen& seen, const Use& use) {
    ++seen.uses;
    seen.turn = ++turn_;
    seen.last = use;
    seen.floor = floor_;
    seen.turns.push_back(turn_);
  }
  [[nodiscard]] Id least(const May& may) const {
    Id victim = kNoId;
    for (const auto& [id, seen] : blocks_)
      if (may(id) && (victim == kNoId || rank(seen) < rank(blocks_.at(victim)))) victim = id;
    return victim;
  }
  std::map<Id, Seen> blocks_;
  std::int64_t turn_{0}, floor_{0};
};

/// The last use is the one with which a block reached its count.
class NaiveLfu final : public Ranked {
  [[nodiscard]] Rank rank(const Seen& seen) const override { return {seen.uses, seen.turn}; }
};

class NaiveLease final : public Ranked {
 public:
  explicit NaiveLease(const Choice& choice) : lease_ns_(part(choice, "lease_s", 1'000'000'000)) {}

 private:
  [[nodiscard]] Rank rank(const Seen& seen) const override {
    return {seen.last.time_ns + (seen.uses > 1 ? lease_ns_ : 0), seen.turn};
  }
  std::int64_t lease_ns_;
};

/// Greedy dual: a victim raises the floor to its priority.
class GreedyDual : public Ranked {
 public:
  Id evict(const Use& /*incoming*/, const May& may) override {
    const Id victim = least(may);
    if (victim == kNoId) return kNoId;
    floor_ = rank(blocks_.at(victim))[0];
    erase(victim);
    return victim;
  }
};

class NaiveGdsf final : public GreedyDual {
  [[nodiscard]] Rank rank(const Seen& seen) const override { return {seen.floor + seen.uses, seen.turn}; }
};

class NaiveCostAware final : public GreedyDual {
 public:
  explicit NaiveCostAware(const Choice& choice)
      : flat_(choice.integer("flat")), count_uses_(choice.flag("count_uses")) {}

 private:
  [[nodiscard]] Rank rank(const Seen& seen) const override {
    const std::int64_t cost = flat_ + seen.last.depth;
    return {seen.floor + (count_uses_ ? cost * seen.uses : cost), seen.turn};
  }
  std::int64_t flat_;
  bool count_uses_;
};

/// Draws from the same array as hyperbolic.cpp; may(id) is called for every block.
class NaiveHyperbolic final : public Ranked {
 public:
  explicit NaiveHyperbolic(const Choice& choice)
      : sample_(static_cast<std::size_t>(choice.integer("sample"))),
        random_(static_cast<std::uint64_t>(choice.integer("seed")), "replacement hyperbolic") {}
  void insert(const Use& use) override {
    Ranked::insert(use);
    row_.push_back(use.id);
  }
  Id evict(const Use& /*incoming*/, const May& may) override {
    std::map<std::int64_t, Id> back;
    for (const auto& [id, seen] : blocks_)
      if (!in(row_, id) && may(id)) back[seen.turns.front()] = id;
    for (const auto& [came, id] : back) row_.push_back(id);
    List drawn;
    while (drawn.size() < sample_ && drawn.size() < row_.size()) {
      Id& id = row_[drawn.size() + random_.below(row_.size() - drawn.size())];
      if (may(id)) {
        std::swap(id, row_[drawn.size()]);
        drawn.push_back(row_[drawn.size()]);
      } else {
        id = row_.back();
        row_.pop_back();
      }
    }
    const Id victim = least([&](Id id) { return in(drawn, id); });
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) override {
    Ranked::erase(id);
    const auto at = std::find(row_.begin(), row_.end(), id);
    if (at == row_.end()) return;
    *at = row_.back();
    row_.pop_back();
  }

 private:
  /// Different fractions of numbers below 2^20 differ by more than 2^-40.
  [[nodiscard]] Rank rank(const Seen& seen) const override {
    const std::int64_t came = seen.turns.front();
    return {(seen.uses << 40) / (turn_ - came + 1), came};
  }
  std::size_t sample_;
  Random random_;
  List row_;
};

class NaiveLruK final : public Ranked {
 public:
  NaiveLruK(const Choice& choice, const Room& room)
      : k_(static_cast<std::size_t>(choice.integer("k"))), most_(part(choice, "history", room.capacity)) {}
  void insert(const Use& use) override {
    recall(use.id);
    if (const auto known = asked_.find(use.id); known != asked_.end()) {
      blocks_[use.id] = known->second;
      asked_.erase(known);
    }
    Ranked::insert(use);
  }
  Id evict(const Use& incoming, const May& may) override {
    recall(incoming.id);
    const Id victim = least(may);
    if (victim == kNoId) return kNoId;
    history_.emplace_back(victim, blocks_[victim]);
    if (static_cast<std::int64_t>(history_.size()) > most_) history_.erase(history_.begin());
    erase(victim);
    return victim;
  }

 private:
  [[nodiscard]] Rank rank(const Seen& seen) const override {
    const auto& turns = seen.turns;
    return turns.size() < k_ ? Rank{0, turns.back()} : Rank{1, turns[turns.size() - k_]};
  }
  void recall(Id id) {
    for (auto at = history_.begin(); at != history_.end(); ++at) {
      if (at->first != id) continue;
      asked_[id] = at->second;
      history_.erase(at);
      return;
    }
  }
  std::size_t k_;
  std::int64_t most_;
  std::vector<std::pair<Id, Seen>> history_;
  std::map<Id, Seen> asked_;  // blocks that were remembered when they were referenced
};

class NaiveLecar final : public Naive {
 public:
  NaiveLecar(const Choice& choice, const Room& room)
      : rate_(choice.decimal("rate")),
        capacity_(static_cast<double>(room.capacity)),
        most_(part(choice, "history", room.capacity)),
        random_(static_cast<std::uint64_t>(choice.integer("seed")), "replacement lecar") {}
  [[nodiscard]] bool resident(Id id) const override { return blocks_.contains(id); }
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(blocks_.size()); }
  void touch(const Use& use) override {
    Block& block = blocks_.at(use.id);
    block = {block.uses + 1, ++now_, ++recency_};
  }
  void unpin(const Use& use) override { blocks_.at(use.id).recency = ++recency_; }
  void insert(const Use& use) override {
    recall(use.id);
    std::int64_t uses = 0;
    if (const auto known = asked_.find(use.id); known != asked_.end()) {
      uses = known->second;
      asked_.erase(known);
    }
    blocks_[use.id] = {uses + 1, ++now_, ++recency_};
  }
  Id evict(const Use& incoming, const May& may) override {
    recall(incoming.id);
    Id oldest = kNoId, rarest = kNoId;
    for (const auto& [id, block] : blocks_) {
      if (!may(id)) continue;
      if (oldest == kNoId || block.recency < blocks_[oldest].recency) oldest = id;
      if (rarest == kNoId ||
          std::pair(block.uses, block.time) < std::pair(blocks_[rarest].uses, blocks_[rarest].time))
        rarest = id;
    }
    if (oldest == rarest) {
      blocks_.erase(oldest);
      return oldest;
    }
    const bool recency = random_.unit() < weight_;
    const Id victim = recency ? oldest : rarest;
    auto& history = recency ? went_by_recency_ : went_by_count_;
    history.push_back({victim, blocks_[victim].uses, now_});
    if (static_cast<std::int64_t>(history.size()) > most_) history.erase(history.begin());
    blocks_.erase(victim);
    return victim;
  }
  void erase(Id id) override { blocks_.erase(id); }

 private:
  struct Block {
    std::int64_t uses, time, recency;
  };
  struct Gone {
    Id id;
    std::int64_t uses, time;
  };
  std::optional<Gone> found(std::vector<Gone>& history, Id id) {
    for (auto at = history.begin(); at != history.end(); ++at) {
      if (at->id != id) continue;
      const Gone gone = *at;
      history.erase(at);
      return gone;
    }
    return std::nullopt;
  }
  void recall(Id id) {
    const auto by_recency = found(went_by_recency_, id);
    const auto by_count = found(went_by_count_, id);
    if (!by_recency && !by_count) return;
    const Gone gone = by_recency ? *by_recency : *by_count;
    asked_[id] = gone.uses;
    const double share = static_cast<double>(now_ - gone.time) / capacity_;
    const double factor = exponential(-rate_ * exponential(share * natural_log(0.005)));
    const double lru = by_recency ? weight_ * factor : weight_;
    const double lfu = by_recency ? 1 - weight_ : (1 - weight_) * factor;
    weight_ = std::min(0.99, std::max(0.01, lru / (lru + lfu)));
  }
  double rate_, capacity_;
  std::int64_t most_;
  Random random_;
  double weight_{0.5};
  std::int64_t now_{0}, recency_{0};
  std::map<Id, Block> blocks_;
  std::vector<Gone> went_by_recency_, went_by_count_;
  std::map<Id, std::int64_t> asked_;  // uses of blocks that were remembered when they were referenced
};

class NaiveWorkloadAware final : public Naive {
 public:
  NaiveWorkloadAware(const Choice& choice, const Room& room)
      : window_(static_cast<std::size_t>(choice.integer("window"))), reuse_(room.categories) {}
  [[nodiscard]] bool resident(Id id) const override { return in(list_, id); }
  [[nodiscard]] std::int64_t size() const override { return count(list_); }
  void touch(const Use& use) override { note(use); }
  void unpin(const Use& use) override {
    last_.at(use.id).time_ns = use.time_ns;
    now_ns_ = use.time_ns;
  }
  void insert(const Use& use) override {
    list_.push_back(use.id);
    note(use);
  }
  Id evict(const Use& incoming, const May& may) override {
    if (incoming.id != kNoId) now_ns_ = incoming.time_ns;
    Id victim = kNoId;
    for (std::uint32_t category = 0; category < reuse_.size(); ++category) {
      const Id id = oldest_of(category, may);
      if (id == kNoId) continue;
      if (victim == kNoId || chance(id) < chance(victim) ||
          (chance(id) == chance(victim) && tie(id) < tie(victim)))
        victim = id;
    }
    if (victim == kNoId) return kNoId;
    lives_.push_back(now_ns_ - last_.at(victim).time_ns);
    erase(victim);
    return victim;
  }
  void erase(Id id) override { take(list_, id); }

 private:
  void note(const Use& use) {
    if (!first_ns_) first_ns_ = use.time_ns;
    now_ns_ = use.time_ns;
    if (const auto before = last_.find(use.id); before != last_.end())
      reuse_[before->second.category].push_back(use.time_ns - before->second.time_ns);
    last_[use.id] = use;
  }
  [[nodiscard]] Id oldest_of(std::uint32_t category, const May& may) const {
    const auto key = [&](Id id) {
      const Use& use = last_.at(id);
      return std::tuple(use.time_ns, -std::int64_t{use.depth}, id);
    };
    Id oldest = kNoId;
    for (const Id id : list_)
      if (last_.at(id).category == category && may(id) && (oldest == kNoId || key(id) < key(oldest)))
        oldest = id;
    return oldest;
  }
  /// Order of ties: deepest, then oldest, then lowest id.
  [[nodiscard]] std::tuple<std::int64_t, std::int64_t, Id> tie(Id id) const {
    return {-std::int64_t{last_.at(id).depth}, last_.at(id).time_ns, id};
  }
  /// Sum and number of the latest times.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> latest(const std::vector<std::int64_t>& times) const {
    std::pair<std::int64_t, std::int64_t> out{0, 0};
    for (std::size_t k = times.size() - std::min(times.size(), window_); k < times.size(); ++k)
      out = {out.first + times[k], out.second + 1};
    return out;
  }
  [[nodiscard]] double chance(Id id) const {
    const Use& use = last_.at(id);
    auto [sum, number] = latest(reuse_[use.category]);
    if (number == 0) {
      for (const auto& times : reuse_) {
        sum += latest(times).first;
        number += latest(times).second;
      }
    }
    if (number == 0) return 0;
    const double mean = std::max(1.0, static_cast<double>(sum) / static_cast<double>(number));
    const auto [lives, gone] = latest(lives_);
    const double life = gone > 0 ? static_cast<double>(lives) / static_cast<double>(gone)
                                 : static_cast<double>(now_ns_ - first_ns_.value_or(0));
    return exponential(-static_cast<double>(now_ns_ - use.time_ns) / mean) * (1 - exponential(-life / mean));
  }
  std::size_t window_;
  std::vector<std::vector<std::int64_t>> reuse_;  // by category
  std::vector<std::int64_t> lives_;
  List list_;
  std::map<Id, Use> last_;  // also of evicted blocks
  std::optional<std::int64_t> first_ns_;
  std::int64_t now_ns_{0};
};

}  // namespace

std::unique_ptr<Naive> make_naive_ranked(const Choice& choice, const Room& room) {
  const std::string_view name = choice.name();
  if (name == "lfu") return std::make_unique<NaiveLfu>();
  if (name == "gdsf") return std::make_unique<NaiveGdsf>();
  if (name == "hyperbolic") return std::make_unique<NaiveHyperbolic>(choice);
  if (name == "cost-aware") return std::make_unique<NaiveCostAware>(choice);
  if (name == "lease") return std::make_unique<NaiveLease>(choice);
  if (name == "lru-k") return std::make_unique<NaiveLruK>(choice, room);
  if (name == "lecar") return std::make_unique<NaiveLecar>(choice, room);
  if (name == "workload-aware") return std::make_unique<NaiveWorkloadAware>(choice, room);
  return nullptr;
}

}  // namespace kvplan::replacement::testing
