#include "simulator/base/large_pages.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

namespace kvplan {
namespace {

TEST(LargePages, RoomGrowsAndTheContentStays) {
  std::vector<int> column{1, 2, 3};
  make_room(column, 2);
  EXPECT_EQ(column.capacity(), 3U);  // there was enough capacity
  make_room(column, 4);
  EXPECT_EQ(column.capacity(), 6U);  // doubled
  make_room(column, 10, 25);
  EXPECT_EQ(column.capacity(), 25U);  // the likely size
  make_room(column, 30, 5);
  EXPECT_EQ(column.capacity(), 50U);  // a likely size that was too small is not used
  constexpr std::size_t kOnItsWord = kLikelyRoomBytes / sizeof(int);
  make_room(column, 60, std::size_t{1} << 40);
  EXPECT_EQ(column.capacity(), kOnItsWord);  // memory that is not touched costs nothing
  make_room(column, kOnItsWord + 1, std::size_t{1} << 40);
  EXPECT_EQ(column.capacity(), 4 * (kOnItsWord + 1));  // but not more than four times
  EXPECT_EQ(column, (std::vector<int>{1, 2, 3}));
}

TEST(LargePages, ColumnsOfManyMegabytesAndThingsThatOnlyMove) {
  std::vector<std::uint32_t> column;
  for (std::size_t size = 1; size < 6'000'000; size *= 5) {
    make_room(column, size);
    const std::size_t before = column.size();
    column.resize(size);
    std::iota(column.begin() + static_cast<std::ptrdiff_t>(before), column.end(), before);
  }
  for (std::size_t i = 0; i < column.size(); ++i) ASSERT_EQ(column[i], i);
  std::vector<std::unique_ptr<int>> pointers;
  pointers.push_back(std::make_unique<int>(7));
  make_room(pointers, 100);
  EXPECT_EQ(*pointers[0], 7);
}

TEST(LargePages, AnyPieceOfMemoryMayBeAdvised) {
  std::vector<char> memory(std::size_t{9} << 20, 'x');
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, std::size_t{5} << 20})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{4} << 20})
      prefer_large_pages(memory.data() + begin, bytes);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), 'x'), static_cast<std::ptrdiff_t>(memory.size()));
}

}  // namespace
}  // namespace kvplan
