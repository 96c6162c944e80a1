// For columns that grow to many megabytes: most of the cost of filling them is the kernel's work for every 4 KiB page
// that is touched for the first time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace kvplan {

/// Asks the kernel for pages of 2 MiB under these bytes. This is only advice; if it is followed, a column can take up
/// to 2 MiB more than it fills.
void prefer_large_pages(void* data, std::size_t bytes);

/// The most that is reserved only because of an expected size. Reserved memory that is never touched is not used.
inline constexpr std::size_t kLikelyRoomBytes = std::size_t{1} << 27;

/// Like `column.reserve(size)`, but asks for large pages. If the column must grow, it grows towards its `likely` final
/// size, but to at most four times the size needed now or `kLikelyRoomBytes`, whichever is more. Without a likely size
/// its capacity is doubled.
template <class T>
void make_room(std::vector<T>& column, std::size_t size, std::size_t likely = 0) {
  if (size <= column.capacity()) return;
  std::vector<T> larger;
  larger.reserve(likely > size ? std::min(likely, std::max(size * 4, kLikelyRoomBytes / sizeof(T)))
                               : std::max(size, column.capacity() * 2));
  prefer_large_pages(larger.data(), larger.capacity() * sizeof(T));  // before any element is moved
  larger.insert(larger.end(), std::make_move_iterator(column.begin()), std::make_move_iterator(column.end()));
  column.swap(larger);
}

}  // namespace kvplan
