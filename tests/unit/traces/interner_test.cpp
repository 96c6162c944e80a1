// Numbers of prefix ids compared with a simple model, a map: the results do not depend on which ids are looked up by
// position and which by hash, nor on when that changes.
#include "traces/import/interner.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "simulator/base/random.h"

namespace kvplan::traces {
namespace {

class Model {
 public:
  std::uint32_t intern(std::uint64_t id, std::uint32_t before) {
    const auto [found, added] = numbers_.try_emplace(id, static_cast<std::uint32_t>(numbers_.size()));
    if (added) {
      before_.push_back(before);
    } else if (before_[found->second] != before) {
      ++broken;
    }
    return found->second;
  }
  [[nodiscard]] std::int64_t distinct() const { return static_cast<std::int64_t>(before_.size()); }
  std::int64_t broken{0};

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<std::uint32_t> before_;
};

constexpr std::uint64_t kFour = std::uint64_t{1} << 22;

/// Interns `count` ids from `draw`, in both.
template <class Draw>
void expect_alike(IdInterner& ids, Model& model, int count, Draw&& draw) {
  std::uint32_t before = IdInterner::kNoId;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t id = draw(i);
    const std::uint32_t number = ids.intern(id, before);
    ASSERT_EQ(number, model.intern(id, before)) << "id " << id;
    before = i % 7 == 0 ? IdInterner::kNoId : number;
  }
  EXPECT_EQ(ids.distinct(), model.distinct());
  EXPECT_EQ(ids.broken_chains(), model.broken);
}

TEST(Interner, SmallGreatAndRepeatedIds) {
  IdInterner ids;
  Model model;
  Random random(1, "interner");
  expect_alike(ids, model, 300'000, [&](int) -> std::uint64_t {
    switch (random.below(4)) {
      case 0:
        return random.below(5'000);
      case 1:
        return kFour - 2 + random.below(2'000);
      case 2:
        return UINT64_MAX - random.below(3'000);
      default:
        return random.below(1'000) << 40;
    }
  });
}

TEST(Interner, IdsMoveFromHashToPositionAsTheRangeFills) {
  IdInterner ids;
  Model model;
  Random random(2, "interner");
  // Some ids beyond the range that is looked up by position from the beginning; they are looked up by hash.
  expect_alike(ids, model, 20'000, [&](int) { return kFour + random.below(3 * kFour); });
  // Then all ids of the range one after the other, and beyond it: positions double while half of them are used.
  expect_alike(ids, model, static_cast<int>(2 * kFour + 100),
               [](int i) { return static_cast<std::uint64_t>(i); });
  // All ids are found again at their current places.
  expect_alike(ids, model, 400'000, [&](int) { return random.below(4 * kFour); });
}

}  // namespace
}  // namespace kvplan::traces
