// Models of the policies that consist of lists.
#include <algorithm>

#include "tests/unit/replacement/naive.h"

namespace kvplan::replacement::testing {

bool in(const List& list, Id id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}
bool take(List& list, Id id) {
  const auto at = std::find(list.begin(), list.end(), id);
  if (at == list.end()) return false;
  list.erase(at);
  return true;
}
Id first_that(const List& list, const May& may) {
  for (const Id id : list)
    if (may(id)) return id;
  return kNoId;
}
void trim(List& list, std::int64_t most) {
  while (count(list) > most) list.erase(list.begin());
}

void renew(List& list, Id id) {
  take(list, id);
  list.push_back(id);
}

namespace {

/// One list; the policy is what a use does to it.
class OneList : public Naive {
 public:
  [[nodiscard]] bool resident(Id id) const override { return in(list_, id); }
  [[nodiscard]] std::int64_t size() const override { return count(list_); }
  void insert(const Use& use) override { list_.push_back(use.id); }
  Id evict(const Use& /*incoming*/, const May& may) override {
    const Id victim = first_that(list_, may);
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) override { take(list_, id); }

 protected:
  List list_;
};

class NaiveFifo final : public OneList {
 public:
  void touch(const Use& /*use*/) override {}
};

class NaiveLru final : public OneList {
 public:
  void touch(const Use& use) override { renew(list_, use.id); }
  void unpin(const Use& use) override { renew(list_, use.id); }
};

class NaiveTtl final : public OneList {
 public:
  explicit NaiveTtl(const Choice& choice)
      : life_ns_(part(choice, "life_s", 1'000'000'000)), renews_(choice.flag("renew")) {}
  void touch(const Use& use) override {
    if (!renews_) return;
    renew(list_, use.id);
    since(use);
  }
  void unpin(const Use& use) override { touch(use); }
  void insert(const Use& use) override {
    OneList::insert(use);
    since(use);
  }
  void expire(std::int64_t now_ns, const May& may, const std::function<void(Id)>& told) override {
    for (const Id id : List(list_)) {
      if (now_ns - since_[id] < life_ns_ || !may(id)) continue;
      erase(id);
      told(id);
    }
  }

 private:
  void since(const Use& use) {
    if (since_.size() <= use.id) since_.resize(use.id + 1);
    since_[use.id] = use.time_ns;
  }
  std::int64_t life_ns_;
  bool renews_;
  std::vector<std::int64_t> since_;
};

class NaiveClock final : public OneList {
 public:
  void touch(const Use& use) override {
    if (!in(used_, use.id)) used_.push_back(use.id);
  }
  Id evict(const Use& /*incoming*/, const May& may) override {
    while (true) {
      const Id id = first_that(list_, may);
      if (id == kNoId) return id;
      if (!take(used_, id)) {
        erase(id);
        return id;
      }
      renew(list_, id);
    }
  }
  void erase(Id id) override {
    take(list_, id);
    take(used_, id);
  }

 private:
  List used_;
};

class NaiveSieve final : public OneList {
 public:
  void touch(const Use& use) override {
    if (!in(used_, use.id)) used_.push_back(use.id);
  }
  Id evict(const Use& /*incoming*/, const May& may) override {
    if (first_that(list_, may) == kNoId) {
      return kNoId;
    }
    while (true) {
      if (hand_ >= list_.size()) hand_ = 0;
      const Id id = list_[hand_];
      if (may(id) && !take(used_, id)) {
        erase(id);
        return id;
      }
      ++hand_;
    }
  }
  void erase(Id id) override {
    const auto at = static_cast<std::size_t>(std::find(list_.begin(), list_.end(), id) - list_.begin());
    if (at < hand_) --hand_;  // the hand stays at the same block
    take(list_, id);
    take(used_, id);
    // A hand beyond the youngest block starts over, even if a block is inserted before it moves.
    if (hand_ >= list_.size()) hand_ = 0;
  }

 private:
  List used_;
  std::size_t hand_{0};
};

class NaiveSlru final : public Naive {
 public:
  NaiveSlru(const Choice& choice, const Room& room) : most_(part(choice, "protected", room.capacity)) {}
  [[nodiscard]] bool resident(Id id) const override { return in(probation_, id) || in(protected_, id); }
  [[nodiscard]] std::int64_t size() const override { return count(probation_) + count(protected_); }
  void touch(const Use& use) override {
    erase(use.id);
    protected_.push_back(use.id);
    while (count(protected_) > most_) {
      probation_.push_back(protected_.front());
      protected_.erase(protected_.begin());
    }
  }
  void unpin(const Use& use) override { renew(in(probation_, use.id) ? probation_ : protected_, use.id); }
  void insert(const Use& use) override { probation_.push_back(use.id); }
  Id evict(const Use& /*incoming*/, const May& may) override {
    Id victim = first_that(probation_, may);
    if (victim == kNoId) victim = first_that(protected_, may);
    erase(victim);
    return victim;
  }
  void erase(Id id) override {
    take(probation_, id);
    take(protected_, id);
  }

 private:
  std::int64_t most_;
  List probation_, protected_;
};

class NaiveTwoQ final : public Naive {
 public:
  NaiveTwoQ(const Choice& choice, const Room& room)
      : most_in_(part(choice, "in", room.capacity)), most_out_(part(choice, "out", room.capacity)) {}
  [[nodiscard]] bool resident(Id id) const override { return in(in_, id) || in(main_, id); }
  [[nodiscard]] std::int64_t size() const override { return count(in_) + count(main_); }
  void touch(const Use& use) override {
    if (in(main_, use.id)) renew(main_, use.id);
  }
  void unpin(const Use& use) override { touch(use); }
  void insert(const Use& use) override {
    (take(out_, use.id) || take(asked_, use.id) ? main_ : in_).push_back(use.id);
  }
  Id evict(const Use& incoming, const May& may) override {
    if (take(out_, incoming.id)) asked_.push_back(incoming.id);
    const bool from_in = count(in_) > most_in_;
    Id victim = first_that(from_in ? in_ : main_, may);
    if (victim == kNoId) victim = first_that(from_in ? main_ : in_, may);
    if (take(in_, victim)) {
      out_.push_back(victim);
      trim(out_, most_out_);
    }
    take(main_, victim);
    return victim;
  }
  void erase(Id id) override {
    take(in_, id);
    take(main_, id);
  }

 private:
  std::int64_t most_in_, most_out_;
  List in_, main_, out_;
  List asked_;  // was in out_ when a victim was chosen
};

class NaiveArc final : public Naive {
 public:
  explicit NaiveArc(const Room& room) : c_(room.capacity) {}
  [[nodiscard]] bool resident(Id id) const override { return in(t1_, id) || in(t2_, id); }
  [[nodiscard]] std::int64_t size() const override { return count(t1_) + count(t2_); }
  void touch(const Use& use) override {
    erase(use.id);
    t2_.push_back(use.id);
  }
  void unpin(const Use& use) override { renew(in(t1_, use.id) ? t1_ : t2_, use.id); }
  void insert(const Use& use) override {
    ask(use.id);
    const bool known = take(from_b1_, use.id) || take(from_b2_, use.id);
    (known ? t2_ : t1_).push_back(use.id);
    if (count(t1_) + count(b1_) > c_) trim(b1_, std::max<std::int64_t>(0, count(b1_) - 1));
    if (size() + count(b1_) + count(b2_) > 2 * c_) trim(b2_, std::max<std::int64_t>(0, count(b2_) - 1));
  }
  Id evict(const Use& incoming, const May& may) override {
    ask(incoming.id);
    if (!in(from_b1_, incoming.id) && !in(from_b2_, incoming.id)) {
      if (count(t1_) + count(b1_) >= c_) {
        if (b1_.empty()) {
          const Id victim = first_that(t1_, may);
          if (take(t1_, victim)) return victim;
        } else {
          b1_.erase(b1_.begin());
        }
      } else if (size() + count(b1_) + count(b2_) >= 2 * c_ && !b2_.empty()) {
        b2_.erase(b2_.begin());
      }
    }
    const auto t1 = static_cast<double>(t1_.size());
    const bool from_t1 = !t1_.empty() && (t1 > p_ || (t1 == p_ && in(from_b2_, incoming.id)));
    Id victim = first_that(from_t1 ? t1_ : t2_, may);
    if (victim == kNoId) victim = first_that(from_t1 ? t2_ : t1_, may);
    if (take(t1_, victim)) b1_.push_back(victim);
    if (take(t2_, victim)) b2_.push_back(victim);
    return victim;
  }
  void erase(Id id) override {
    take(t1_, id);
    take(t2_, id);
  }

 private:
  void ask(Id id) {
    const auto b1 = static_cast<double>(b1_.size()), b2 = static_cast<double>(b2_.size());
    if (take(b1_, id)) {
      p_ = std::min(static_cast<double>(c_), p_ + std::max(1.0, b2 / b1));
      from_b1_.push_back(id);
    } else if (take(b2_, id)) {
      p_ = std::max(0.0, p_ - std::max(1.0, b1 / b2));
      from_b2_.push_back(id);
    }
  }
  std::int64_t c_;
  double p_{0};
  List t1_, t2_, b1_, b2_;
  List from_b1_, from_b2_;  // referenced, but not inserted yet
};

class NaiveS3Fifo final : public Naive {
 public:
  NaiveS3Fifo(const Choice& choice, const Room& room)
      : capacity_(room.capacity),
        small_share_(part(choice, "small", room.capacity)),
        most_ghosts_(part(choice, "ghost", room.capacity)),
        enough_(choice.integer("promote_uses")),
        fills_(choice.flag("fill_main")) {}
  [[nodiscard]] bool resident(Id id) const override { return in(small_, id) || in(main_, id); }
  [[nodiscard]] std::int64_t size() const override { return count(small_) + count(main_); }
  void touch(const Use& use) override { uses(use.id) = std::min<std::int64_t>(3, uses(use.id) + 1); }
  void insert(const Use& use) override {
    const bool known = take(ghost_, use.id) || take(asked_, use.id);
    const bool fills = fills_ && count(small_) >= small_share_;
    (known || fills ? main_ : small_).push_back(use.id);
    uses(use.id) = 0;
  }
  Id evict(const Use& incoming, const May& may) override {
    fills_ = false;
    if (take(ghost_, incoming.id)) asked_.push_back(incoming.id);
    if (count(main_) > capacity_ - small_share_ || small_.empty()) {
      Id victim = from_main(may);
      if (victim == kNoId) victim = from_small(may);
      return victim == kNoId ? from_main(may) : victim;
    }
    const Id victim = from_small(may);
    return victim == kNoId ? from_main(may) : victim;
  }
  void erase(Id id) override {
    take(small_, id);
    take(main_, id);
  }

 private:
  std::int64_t& uses(Id id) {
    if (uses_.size() <= id) uses_.resize(id + 1);
    return uses_[id];
  }
  Id from_small(const May& may) {
    while (true) {
      const Id id = first_that(small_, may);
      if (id == kNoId) return id;
      take(small_, id);
      if (uses(id) < enough_) {
        ghost_.push_back(id);
        trim(ghost_, most_ghosts_);
        return id;
      }
      main_.push_back(id);
      uses(id) = 0;
    }
  }
  Id from_main(const May& may) {
    while (true) {
      const Id id = first_that(main_, may);
      if (id == kNoId) return id;
      take(main_, id);
      if (uses(id) == 0) return id;
      --uses(id);
      main_.push_back(id);
    }
  }
  std::int64_t capacity_, small_share_, most_ghosts_, enough_;
  bool fills_;  // no block was evicted yet
  List small_, main_, ghost_;
  List asked_;  // was a ghost when a victim was chosen
  std::vector<std::int64_t> uses_;
};

class NaiveLirs final : public Naive {
 public:
  NaiveLirs(const Choice& choice, const Room& room)
      : most_lir_(room.capacity - std::max<std::int64_t>(1, part(choice, "hir", room.capacity))),
        most_history_(part(choice, "history", room.capacity)) {}
  [[nodiscard]] bool resident(Id id) const override { return in(lir_, id) || in(queue_, id); }
  [[nodiscard]] std::int64_t size() const override { return count(lir_) + count(queue_); }
  void touch(const Use& use) override {
    const bool hot = in(stack_, use.id);
    renew(stack_, use.id);
    if (!in(lir_, use.id)) {
      if (hot) {
        take(queue_, use.id);
        promote(use.id);
      } else {
        renew(queue_, use.id);
      }
    }
    prune();
  }
  void insert(const Use& use) override {
    const bool hot = in(history_, use.id) || in(asked_, use.id);
    take(history_, use.id);
    take(asked_, use.id);
    renew(stack_, use.id);
    if (hot) {
      promote(use.id);
    } else if (count(lir_) < most_lir_) {
      lir_.push_back(use.id);
    } else {
      queue_.push_back(use.id);
    }
    prune();
  }
  Id evict(const Use& incoming, const May& may) override {
    if (take(history_, incoming.id)) asked_.push_back(incoming.id);
    Id victim = first_that(queue_, may);
    if (victim == kNoId) {
      for (const Id id : stack_)
        if (victim == kNoId && in(lir_, id) && may(id)) victim = id;
      if (victim != kNoId) erase(victim);
      return victim;
    }
    take(queue_, victim);
    if (!in(stack_, victim)) return victim;
    history_.push_back(victim);
    if (count(history_) > most_history_) {
      take(stack_, history_.front());
      history_.erase(history_.begin());
    }
    return victim;
  }
  void erase(Id id) override {
    take(lir_, id);
    take(queue_, id);
    take(stack_, id);
    prune();
  }

 private:
  void promote(Id id) {
    lir_.push_back(id);
    if (count(lir_) <= most_lir_) return;
    for (const Id oldest : List(stack_)) {
      if (!in(lir_, oldest)) continue;
      take(lir_, oldest);
      take(stack_, oldest);
      queue_.push_back(oldest);
      return;
    }
  }
  void prune() {
    while (!stack_.empty() && !in(lir_, stack_.front())) {
      take(history_, stack_.front());
      take(asked_, stack_.front());
      stack_.erase(stack_.begin());
    }
  }
  std::int64_t most_lir_, most_history_;
  List stack_, lir_, queue_, history_;
  List asked_;  // was in history_ when a victim was chosen, and is in stack_
};

}  // namespace

std::unique_ptr<Naive> make_naive(const Choice& choice, const Room& room) {
  const std::string_view name = choice.name();
  if (name == "lru") return std::make_unique<NaiveLru>();
  if (name == "fifo") return std::make_unique<NaiveFifo>();
  if (name == "ttl") return std::make_unique<NaiveTtl>(choice);
  if (name == "clock") return std::make_unique<NaiveClock>();
  if (name == "sieve") return std::make_unique<NaiveSieve>();
  if (name == "slru") return std::make_unique<NaiveSlru>(choice, room);
  if (name == "2q") return std::make_unique<NaiveTwoQ>(choice, room);
  if (name == "arc") return std::make_unique<NaiveArc>(room);
  if (name == "s3fifo") return std::make_unique<NaiveS3Fifo>(choice, room);
  if (name == "lirs") return std::make_unique<NaiveLirs>(choice, room);
  if (name == "wtinylfu") return make_naive_wtinylfu(choice, room);
  return make_naive_ranked(choice, room);
}

}  // namespace kvplan::replacement::testing
