// A column of numbers that grows at its end and loses some in between. It closes a gap from the nearer end, which at
// least halves the time that replays spend on moving numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace kvplan::attention {

/// Contiguous numbers, with room before them. Pointers into it are valid until the next push_back or drop.
template <class T>
class SlidingColumn {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] std::span<T> all() { return {room_.data() + begin_, size()}; }
  [[nodiscard]] std::span<const T> all() const { return {room_.data() + begin_, size()}; }

  void push_back(T value) {
    if (end_ == room_.size()) make_room();
    room_[end_++] = value;
  }

  /// Removes numbers by index; the others keep their order. REQUIRES: `gone` ascending, distinct, each below size().
  void drop(std::span<const std::int32_t> gone) {
    if (gone.size() == 1 && 2 * static_cast<std::size_t>(gone[0]) < size()) {
      T* const first = room_.data() + begin_;
      std::memmove(first + 1, first, static_cast<std::size_t>(gone[0]) * sizeof(T));
      ++begin_;
      return;
    }
    if (gone.empty()) return;
    T* const values = room_.data() + begin_;
    auto to = static_cast<std::size_t>(gone.front());
    for (std::size_t g = 0; g < gone.size(); ++g) {
      const auto from = static_cast<std::size_t>(gone[g]) + 1;
      const std::size_t until = g + 1 < gone.size() ? static_cast<std::size_t>(gone[g + 1]) : size();
      std::memmove(values + to, values + from, (until - from) * sizeof(T));
      to += until - from;
    }
    end_ = begin_ + to;
  }

 private:
  /// At the end of the room: moves to its begin if half of it is free, else allocates more.
  void make_room() {
    const std::size_t count = size();
    if (2 * count >= room_.size()) room_.resize(std::max<std::size_t>(16, 2 * room_.size()));
    std::memmove(room_.data(), room_.data() + begin_, count * sizeof(T));
    begin_ = 0;
    end_ = count;
  }

  std::vector<T> room_;
  std::size_t begin_{0};
  std::size_t end_{0};
};

}  // namespace kvplan::attention
