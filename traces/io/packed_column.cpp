#include "traces/io/packed_column.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace kvplan::traces::kvt {
namespace {

/// Skips the value of a field with this key.
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

bool take_columns(std::string_view message, std::span<Column> columns, std::string& rest) {
  rest.clear();
  const auto wanted = [&](std::uint64_t key) {
    return std::find_if(columns.begin(), columns.end(),
                        [&](const Column& column) { return key >> 3 == column.number; });
  };
  std::vector<int> pieces(columns.size(), 0);
  for (std::string_view left = message; !left.empty();) {
    std::uint64_t key = 0;
    if (!take_varint(left, key)) return false;
    std::string_view value = left;
    if (!skip_value(left, key)) return false;
    const auto column = wanted(key);
    if (column == columns.end()) continue;
    value.remove_suffix(left.size());
    std::uint64_t bytes = 0;
    take_varint(value, bytes);  // the column's size; the rest are its numbers
    column->taken = ++pieces[static_cast<std::size_t>(column - columns.begin())] == 1 && (key & 7) == 2;
    column->varints = column->taken ? value : std::string_view();
  }
  for (std::string_view left = message; !left.empty();) {
    const std::string_view field = left;
    std::uint64_t key = 0;
    take_varint(left, key);
    skip_value(left, key);
    const auto column = wanted(key);
    if (column == columns.end() || !column->taken) rest += field.substr(0, field.size() - left.size());
  }
  return true;
}

std::size_t count_varints(std::string_view column) {
  // Counts bytes without the bit for "another follows", eight bytes at a time.
  std::size_t count = 0;
  for (; column.size() >= 8; column.remove_prefix(8)) {
    // The product has the sum of all bytes in its highest one. (Not every processor counts bits by itself.)
    count += ((~eight_bytes(column.data()) & 0x8080808080808080) >> 7) * 0x0101010101010101 >> 56;
  }
  for (const char c : column) count += static_cast<unsigned char>(c) < 0x80 ? 1 : 0;
  return count;
}

DecodedIds decode_ids(std::string_view column, std::uint64_t distinct, std::uint32_t* out, std::size_t room) {
  // Ids are numbered by first appearance and prompts repeat from their beginnings, so nearly every step is 1, stored
  // as one byte with the value 2: runs of these are handled together. As unsigned numbers negative ids are too large.
  constexpr std::uint64_t kOnes = 0x0202020202020202;
  DecodedIds ids{.distinct = distinct};
  std::uint64_t id = 0;
  while (!column.empty()) {
    if (column.size() >= 8 && room - ids.count >= 8) {
      const std::uint64_t others = eight_bytes(column.data()) ^ kOnes;
      const std::size_t run = others == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(others)) / 8;
      // Always writes eight numbers: those after the run are overwritten later, or not counted.
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
