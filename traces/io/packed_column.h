// Extracts packed columns from the bytes of a Protobuf message before Protobuf reads the rest. These columns are almost
// all of a trace, and Protobuf would first build lists of their numbers, one by one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace kvplan::traces::kvt {

/// Reads a varint from the front of `bytes` and removes it there. False, with `bytes` unchanged, if there is no
/// complete varint, or one of more than ten bytes. Bits beyond 64 are lost, as in Protobuf.
inline bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// Eight bytes as a number, the first in its lowest byte.
inline std::uint64_t eight_bytes(const char* at) {
  std::uint64_t eight;
  std::memcpy(&eight, at, sizeof eight);
  return std::endian::native == std::endian::little ? eight : __builtin_bswap64(eight);
}

/// A packed column that is to be extracted, by its field number.
struct Column {
  std::uint32_t number;
  std::string_view varints{};  ///< without key and size; a view into the message
  bool taken{false};
};
/// Extracts columns from a message; `rest` becomes the message without them. A column that is missing, or that is
/// stored in several pieces or as single numbers, as Protobuf allows, is not extracted and stays in the rest. False
/// if the bytes are not a message.
bool take_columns(std::string_view message, std::span<Column> columns, std::string& rest);

/// Number of varints in these bytes.
std::size_t count_varints(std::string_view column);

/// The lower seven bits of each of eight bytes, joined.
constexpr std::uint64_t join_sevens(std::uint64_t bytes) {
  bytes &= 0x7F7F7F7F7F7F7F7F;
  bytes = (bytes & 0x007F007F007F007F) | (bytes & 0x7F007F007F007F00) >> 1;
  bytes = (bytes & 0x00003FFF00003FFF) | (bytes & 0x3FFF00003FFF0000) >> 2;
  return (bytes & 0x000000000FFFFFFF) | (bytes & 0x0FFFFFFF00000000) >> 4;
}

/// Calls `take` with each number of a packed column of unsigned numbers; false if a varint is too long or incomplete.
template <class Take>
bool each_varint(std::string_view column, Take&& take) {
  constexpr std::uint64_t kTops = 0x8080808080808080;
  while (!column.empty()) {
    // All numbers that end in the next eight bytes: each ends with a byte without its top bit.
    std::uint64_t ends = 0;
    if (column.size() >= 8) {
      const std::uint64_t bytes = eight_bytes(column.data());
      ends = ~bytes & kTops;
      if (ends == kTops) {
        for (int bit = 0; bit < 64; bit += 8) take(bytes >> bit & 0x7F);
        column.remove_prefix(8);
        continue;
      }
      int begin = 0;  // index of its first bit
      for (std::uint64_t left = ends; left != 0; left &= left - 1) {
        take(join_sevens((bytes & (left ^ (left - 1))) >> begin));
        begin = std::countr_zero(left) + 1;
      }
      column.remove_prefix(static_cast<std::size_t>(begin) / 8);
    }
    if (ends != 0) continue;
    std::uint64_t value = 0;
    if (!take_varint(column, value)) return false;
    take(value);
  }
  return true;
}

/// As each_varint, for signed numbers in zigzag form.
template <class Take>
bool each_sint64(std::string_view column, Take&& take) {
  return each_varint(column, [&](std::uint64_t value) {
    take(static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1))));
  });
}

/// Ids decoded from a packed column of differences: the running sum, from 0.
struct DecodedIds {
  std::size_t count{0};    ///< number of ids that were written
  bool whole{true};        ///< false: there are more ids than `room`, or a varint is too long or incomplete
  bool dense{true};        ///< false: an id is greater than all before it by more than one
  std::uint64_t distinct;  ///< greatest id plus one; meaningless if not dense
};
/// `distinct`: ids below it occurred before this column. REQUIRES: `out` has room for `room` ids.
DecodedIds decode_ids(std::string_view column, std::uint64_t distinct, std::uint32_t* out, std::size_t room);

}  // namespace kvplan::traces::kvt
