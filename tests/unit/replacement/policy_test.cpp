// Every policy of the family compared with its slow model: in a pool, where blocks are held and freed, and in
// replays.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/replacement/cases.h"
#include "tests/unit/replacement/naive.h"

namespace kvplan::replacement {
namespace {

using testing::cases;
using testing::make_naive;
using testing::Naive;
using testing::random_choice;

class EveryPolicy : public ::testing::TestWithParam<const ReplacementEntry*> {};

std::vector<const ReplacementEntry*> online() {
  std::vector<const ReplacementEntry*> out;
  for (const ReplacementEntry* entry : replacements())
    if (entry->make != nullptr) out.push_back(entry);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Replacement, EveryPolicy, ::testing::ValuesIn(online()), [](const auto& tested) {
  std::string name(tested.param->descriptor.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// One random pool: both sides get the same calls, and must hold and evict the same blocks.
class Pool {
 public:
  Pool(const ReplacementEntry& entry, Random& random)
      : random_(random),
        choice_(random_choice(entry, random)),
        room_{.ids = static_cast<Id>(random.between(1, 30)),
              .capacity = random.between(1, 12),
              .categories = 3},
        ids_(room_.ids),
        naive_(make_naive(choice_, room_)) {
    auto made = entry.make(choice_, room_);
    if (made.ok()) fast_ = std::move(made).value();
  }
  [[nodiscard]] bool ready() const { return naive_ != nullptr && fast_ != nullptr; }
  [[nodiscard]] std::string what() const {
    return choice_.to_string() + ", " + std::to_string(room_.capacity) + " blocks";
  }

  void step() {
    time_ns_ += random_.between(0, 3) * 100'000'000;
    const auto may = [this](Id id) { return held_[id] == 0; };
    std::vector<Id> fast_expired, naive_expired;
    fast_->expire(time_ns_, may, [&](Id id) { fast_expired.push_back(id); });
    naive_->expire(time_ns_, may, [&](Id id) { naive_expired.push_back(id); });
    ASSERT_EQ(fast_expired, naive_expired);
    switch (random_.below(12)) {
      case 0:
        return unpin();
      case 1:
        return erase();
      case 2:
        ids_ += static_cast<Id>(random_.below(3));
        return fast_->grow(ids_);
      default:
        return use();
    }
  }
  void compare() const {
    ASSERT_EQ(fast_->size(), naive_->size());
    for (Id id = 0; id < ids_; ++id) ASSERT_EQ(fast_->resident(id), naive_->resident(id)) << "id " << id;
  }

 private:
  Use random_use() {
    // Some ids are used much more often than others.
    const auto id = static_cast<Id>(std::min(random_.below(ids_), random_.below(ids_)));
    return {.id = id,
            .depth = static_cast<std::uint32_t>(random_.below(4)),
            .category = static_cast<std::uint32_t>(random_.below(3)),
            .time_ns = time_ns_};
  }
  void use() {
    const Use use = random_use();
    if (naive_->resident(use.id)) {
      fast_->touch(use);
      naive_->touch(use);
    } else {
      if (naive_->size() >= room_.capacity && !evict(use)) return;
      fast_->insert(use);
      naive_->insert(use);
    }
    if (random_.chance(1, 4)) ++held_[use.id];
  }
  bool evict(Use incoming) {
    if (random_.chance(1, 8)) incoming.id = kNoId;
    const auto may = [this](Id id) { return held_[id] == 0; };
    const Id victim = fast_->evict(incoming, may);
    const Id wanted = naive_->evict(incoming, may);
    EXPECT_EQ(victim, wanted);
    return victim != kNoId && victim == wanted;
  }
  void unpin() {
    for (auto& [id, holders] : held_) {
      if (holders == 0 || random_.chance(1, 2)) continue;
      if (--holders > 0) continue;
      const Use use{.id = id, .depth = 0, .category = 0, .time_ns = time_ns_};
      fast_->unpin(use);
      naive_->unpin(use);
    }
  }
  void erase() {
    const Id id = random_use().id;
    if (!naive_->resident(id) || held_[id] > 0) return;
    fast_->erase(id);
    naive_->erase(id);
  }

  Random& random_;
  Choice choice_;
  Room room_;
  Id ids_;
  std::unique_ptr<Naive> naive_;
  std::unique_ptr<Policy> fast_;
  std::map<Id, int> held_;
  std::int64_t time_ns_{0};
};

TEST_P(EveryPolicy, GivesUpWhatItsModelGivesUpInAPool) {
  for (std::int64_t seed = 0; seed < cases(300); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "pool");
    Pool pool(*GetParam(), random);
    ASSERT_TRUE(pool.ready()) << "make_naive has no model of " << GetParam()->descriptor.name;
    for (int step = 0; step < 300; ++step) {
      pool.step();
      pool.compare();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step << ": " << pool.what();
    }
  }
}

/// The definition word by word: first the hits, then every block is touched or inserted, first to last. `leaves`: a
/// block is evicted only if no block that is cached, or is about to be, was first seen after it.
class Play {
 public:
  Play(Naive& policy, const References& refs, bool leaves)
      : policy_(policy), refs_(refs), leaves_(leaves), before_(refs.distinct, kNoId) {
    std::vector<bool> seen(refs.distinct);
    for (std::size_t r = 0; r < refs.prompts(); ++r)
      for (auto k = refs.offsets[r]; k < refs.offsets[r + 1]; ++k) {
        if (!seen[refs.ids[k]] && k > refs.offsets[r]) before_[refs.ids[k]] = refs.ids[k - 1];
        seen[refs.ids[k]] = true;
      }
  }

  Hits hits(std::int64_t capacity) {
    Hits hits;
    for (std::size_t r = 0; r < refs_.prompts(); ++r) {
      Use use{.id = 0,
              .depth = 0,
              .category = refs_.categories.empty() ? 0 : refs_.categories[r],
              .time_ns = refs_.times_ns[r]};
      expire(use.time_ns);
      for (auto k = refs_.offsets[r]; k < refs_.offsets[r + 1] && policy_.resident(refs_.ids[k]); ++k)
        ++hits.prefix;
      for (auto k = refs_.offsets[r]; k < refs_.offsets[r + 1]; ++k) {
        use.id = refs_.ids[k];
        use.depth = static_cast<std::uint32_t>(k - refs_.offsets[r]);
        if (policy_.resident(use.id)) {
          ++hits.object;
          policy_.touch(use);
          continue;
        }
        if (policy_.size() == capacity && policy_.evict(use, [&](Id id) {
              return may_go(id) && !(leaves_ && before_[use.id] == id);
            }) == kNoId)
          policy_.evict(use, [&](Id id) { return may_go(id); });
        policy_.insert(use);
      }
    }
    return hits;
  }

 private:
  [[nodiscard]] bool may_go(Id id) const {
    for (Id behind = 0; leaves_ && behind < before_.size(); ++behind)
      if (before_[behind] == id && policy_.resident(behind)) return false;
    return true;
  }
  void expire(std::int64_t now_ns) {
    bool more = true;
    while (more) {
      more = false;
      policy_.expire(
          now_ns, [this](Id id) { return may_go(id); }, [&](Id) { more = leaves_; });
    }
  }

  Naive& policy_;
  const References& refs_;
  bool leaves_;
  std::vector<Id> before_;
};

TEST_P(EveryPolicy, FindsWhatItsModelFinds) {
  for (std::int64_t seed = 0; seed < cases(200); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "replay");
    const Choice choice = random_choice(*GetParam(), random);
    const traces::Trace trace = trace_of(testing::random_prompts(random));
    const auto refs = references_of(trace);
    ASSERT_TRUE(refs.ok());
    for (const std::int64_t capacity : {1, 2, 3, 7, 20, 1000}) {
      const Room room{refs.value().distinct, capacity, refs.value().category_count};
      const auto naive = make_naive(choice, room);
      ASSERT_NE(naive, nullptr);
      const auto hits = GetParam()->replay(choice, refs.value(), capacity, nullptr);
      ASSERT_TRUE(hits.ok());
      ASSERT_EQ(hits.value(), Play(*naive, refs.value(), choice.flag("leaves")).hits(capacity))
          << "seed " << seed << ": " << choice.to_string() << ", " << capacity << " blocks";
    }
  }
}

TEST_P(EveryPolicy, LeavesAloneGoSoThatAllThatIsFoundIsAPrefix) {
  for (std::int64_t seed = 0; seed < cases(100); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "leaves");
    const traces::Trace trace = trace_of(testing::random_prompts(random));
    const auto refs = references_of(trace);
    ASSERT_TRUE(refs.ok());
    std::int64_t longest = 1;
    for (std::size_t r = 0; r < refs.value().prompts(); ++r)
      longest = std::max<std::int64_t>(
          longest, static_cast<std::int64_t>(refs.value().offsets[r + 1] - refs.value().offsets[r]));
    const Choice choice = testing::choice_of(std::string(GetParam()->descriptor.name) + ":leaves=true");
    const Hits hits = GetParam()->replay(choice, refs.value(), longest, nullptr).value();
    ASSERT_EQ(hits.object, hits.prefix) << "seed " << seed;
  }
}

TEST_P(EveryPolicy, EndsEarlyWhereAsked) {
  const traces::Trace trace = testing::trace_of({{{1, 2}}, {}, {}});
  const auto refs = references_of(trace);
  const Choice choice = testing::choice_of(std::string(GetParam()->descriptor.name));
  const auto hits = GetParam()->replay(choice, refs.value(), 1, [] { return true; });
  ASSERT_FALSE(hits.ok());
  EXPECT_EQ(hits.error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace kvplan::replacement
