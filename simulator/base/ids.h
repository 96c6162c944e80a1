// Ids: numbers that name something and count nothing. Each kind is a type of its own. So code that confuses a request
// with a block, an amount with an id, or indices of two kinds does not compile.
//
// An id is an enumeration without names: 32 bits with an order and a hash, passed and stored as an integer, and without
// arithmetic. `id_at` turns a number into an id. Back again there are two functions: `index` for positions in memory,
// `number` for files, messages and sums. Files, Protobuf, JSON and the columns of a trace have plain integers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kvplan {

/// Position of a request in its trace (file order, 0-based).
enum class RequestId : std::int32_t {};
inline constexpr RequestId kNoRequest{-1};
/// Position of a block in its pool, 0-based.
enum class BlockId : std::int32_t {};
inline constexpr BlockId kNoBlock{-1};

/// True for the types of this file, and for others declared in the same way.
template <class T>
inline constexpr bool kIsId = false;
template <>
inline constexpr bool kIsId<RequestId> = true;
template <>
inline constexpr bool kIsId<BlockId> = true;
template <class T>
concept Id = kIsId<T>;

/// The number of an id as an index into an array. REQUIRES: not negative (ids that mean "none" are).
constexpr std::size_t index(Id auto id) {
  return static_cast<std::size_t>(id);
}
constexpr std::int32_t number(Id auto id) {
  return static_cast<std::int32_t>(id);
}
/// The id with this number or index. REQUIRES: it fits 32 bits.
template <Id T>
constexpr T id_at(std::integral auto place) {
  return static_cast<T>(place);
}

/// Fills the ids 0, 1, 2, ... in order.
template <Id T>
constexpr void number_off(std::span<T> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = id_at<T>(i);
}

/// Ids [begin, end) for a range-based `for`.
template <Id T>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(std::int32_t at) : at_(at) {}
    constexpr T operator*() const { return T{at_}; }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    std::int32_t at_;
  };
  /// REQUIRES: begin <= end.
  constexpr IdRange(T begin, T end) : begin_(begin), end_(end) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(number(begin_)); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(number(end_)); }

 private:
  T begin_, end_;
};
/// All ids of `count` things. REQUIRES: count >= 0, fits 32 bits.
template <Id T>
constexpr IdRange<T> ids_below(std::integral auto count) {
  return {T{0}, id_at<T>(count)};
}

}  // namespace kvplan
