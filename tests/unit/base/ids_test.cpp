// Expressions with ids that do not compile, and how ids become numbers.
#include "simulator/base/ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan {
namespace {

/// True if `id + 1`, `id < 1` or `id == 1` can be compiled, or if an id can be used as an index of an array.
template <class T>
concept HasArithmetic = requires(T id) {
  id + 1;
};
template <class T>
concept ComparesWithNumbers = requires(T id) {
  id < 1;
}
|| requires(T id) {
  id == 1;
};
template <class T>
concept Indexes = requires(T id, std::vector<int> v) {
  v[id];
};
template <class A, class B>
concept Compares = requires(A a, B b) {
  a == b;
};

template <class T>
constexpr bool behaves_as_id() {
  static_assert(Id<T>);
  static_assert(!std::is_convertible_v<T, int> && !std::is_convertible_v<T, std::int64_t> &&
                !std::is_convertible_v<T, std::size_t> && !std::is_convertible_v<T, bool>);
  static_assert(!std::is_convertible_v<int, T> && !std::is_convertible_v<std::int64_t, T>);
  static_assert(!HasArithmetic<T> && !ComparesWithNumbers<T> && !Indexes<T>);
  static_assert(sizeof(T) == sizeof(std::int32_t) && alignof(T) == alignof(std::int32_t));
  static_assert(std::is_trivially_copyable_v<T> && std::is_scalar_v<T>);  // passed as the integer is
  static_assert(T{1} < T{2} && T{-1} < T{0} && T{3} == T{3} && T{3} != T{4});
  static_assert(number(T{-1}) == -1 && index(T{7}) == 7U && id_at<T>(std::size_t{7}) == T{7});
  return true;
}
static_assert(behaves_as_id<RequestId>() && behaves_as_id<BlockId>() && behaves_as_id<core::Slot>());

/// Each type with each other type: neither converts to the other, nor can they be compared.
template <class A, class B>
constexpr bool kApart = !std::is_convertible_v<A, B> && !std::is_convertible_v<B, A> && !Compares<A, B>;
enum class Stranger : std::int32_t {};
static_assert(kApart<RequestId, BlockId> && kApart<RequestId, core::Slot> && kApart<BlockId, core::Slot>);
static_assert(kApart<RequestId, Stranger> && kApart<BlockId, Stranger> && kApart<core::Slot, Stranger>);
static_assert(!Id<Stranger> && !Id<std::int32_t>);

TEST(Ids, NoneIsBeforeAll) {
  EXPECT_EQ(number(kNoRequest), -1);
  EXPECT_LT(kNoRequest, RequestId{0});
  EXPECT_EQ(number(kNoBlock), -1);
  EXPECT_LT(kNoBlock, BlockId{0});
}

TEST(Ids, HashTellsThemApart) {
  std::vector<std::size_t> hashes;
  for (const BlockId b : ids_below<BlockId>(100)) hashes.push_back(std::hash<BlockId>{}(b));
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Ids, RangesVisitEachOnceInOrder) {
  std::vector<std::int32_t> seen;
  for (const BlockId b : ids_below<BlockId>(std::int64_t{3})) seen.push_back(number(b));
  EXPECT_EQ(seen, (std::vector<std::int32_t>{0, 1, 2}));
  seen.clear();
  for (const BlockId b : IdRange(BlockId{5}, BlockId{7})) seen.push_back(number(b));
  EXPECT_EQ(seen, (std::vector<std::int32_t>{5, 6}));
  for (const BlockId b : ids_below<BlockId>(0)) FAIL() << number(b);
}

TEST(Ids, NumberedOffByPlace) {
  std::vector<RequestId> order(3, kNoRequest);
  number_off(std::span(order));
  EXPECT_EQ(order, (std::vector<RequestId>{RequestId{0}, RequestId{1}, RequestId{2}}));
}

TEST(IdsDeathTest, ChecksSayTheirNumber) {
  EXPECT_DEATH(KVPLAN_CHECK(kNoBlock == BlockId{3}, BlockId{3}, 17), "; 3, 17, 0\\)");
}

}  // namespace
}  // namespace kvplan
