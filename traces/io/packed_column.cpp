#include "traces/io/packed_column.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kvplan::traces::kvt {
namespace {

/// Eight bytes as a number, the first in its lowest byte.
std::uint64_t eight_bytes(const char* at) {
  std::uint64_t eight;
  std::memcpy(&eight, at, sizeof eight);
  return std::endian::native == std::endian::little ? eight : __builtin_bswap64(eight);
}

/// Goes past the value of a field that has this key.
bool skip_value(std::string_view& bytes, std::uint64_t key) {
  std::uint64_t size = 0;
  switch (key & 7) {
    case 0:
      return take_varint(bytes, size);
    case 1:
      size = 8;
      break;
    case 2:
      if (!take_varint(bytes, size)) return false;
      break;
    case 5:
      size = 4;
      break;
    default:  // groups, which proto3 does not have
      return false;
  }
  if (size > bytes.size()) return false;
  bytes.remove_prefix(size);
  return true;
}

}  // namespace

bool cut_at_column(std::string_view message, std::uint32_t number, CutMessage& parts) {
  parts = {message, {}, {}};
  std::string_view left = message;
  bool found = false;
  while (!left.empty()) {
    const std::size_t at = message.size() - left.size();
    std::uint64_t key = 0;
    if (!take_varint(left, key)) return false;
    const bool wanted = key >> 3 == number;
    if (wanted && ((key & 7) != 2 || found)) return false;
    std::string_view value = left;
    if (!skip_value(left, key)) return false;
    if (!wanted) continue;
    found = true;
    value.remove_suffix(left.size());
    std::uint64_t bytes = 0;
    take_varint(value, bytes);  // its size; the column is the rest
    parts = {message.substr(0, at), value, left};
  }
  return true;
}

std::size_t count_varints(std::string_view column) {
  // One for each byte without the bit that says "another follows", eight bytes at a time.
  std::size_t count = 0;
  for (; column.size() >= 8; column.remove_prefix(8)) {
    count += static_cast<std::size_t>(std::popcount(~eight_bytes(column.data()) & 0x8080808080808080));
  }
  for (const char c : column) count += static_cast<unsigned char>(c) < 0x80 ? 1 : 0;
  return count;
}

DecodedIds decode_ids(std::string_view column, std::uint64_t distinct, std::uint32_t* out, std::size_t room) {
  // Ids are numbered by first appearance and prompts repeat from their beginnings, so nearly every step is 1, one
  // byte that is 2: those are taken by the run. As unsigned numbers negative ids are too large.
  constexpr std::uint64_t kOnes = 0x0202020202020202;
  DecodedIds ids{.distinct = distinct};
  std::uint64_t id = 0;
  while (!column.empty()) {
    if (column.size() >= 8 && room - ids.count >= 8) {
      const std::uint64_t others = eight_bytes(column.data()) ^ kOnes;
      const std::size_t run = others == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(others)) / 8;
      // Eight are written whatever the run is: those beyond it are written over, or not counted.
      for (std::size_t k = 0; k < 8; ++k) out[ids.count + k] = static_cast<std::uint32_t>(id + 1 + k);
      ids.dense &= run == 0 || id < ids.distinct;
      id += run;
      ids.count += run;
      ids.distinct = run == 0 ? ids.distinct : std::max(ids.distinct, id + 1);
      column.remove_prefix(run);
      if (run == 8) continue;
    }
    std::uint64_t step = 0;
    if (ids.count == room || !take_varint(column, step)) return ids.whole = false, ids;
    id += (step >> 1) ^ (0 - (step & 1));
    ids.dense &= id <= ids.distinct;
    ids.distinct += id == ids.distinct ? 1 : 0;
    out[ids.count++] = static_cast<std::uint32_t>(id);
  }
  return ids;
}

}  // namespace kvplan::traces::kvt
