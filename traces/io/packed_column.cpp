#include "traces/io/packed_column.h"

#include <bit>
#include <cstring>

namespace kvplan::traces::kvt {
namespace {

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

bool take_column(std::string& message, std::uint32_t number, std::string& column) {
  column.clear();
  std::string_view left = message;
  std::size_t begin = 0;
  std::size_t size = 0;
  while (!left.empty()) {
    const std::size_t at = message.size() - left.size();
    std::uint64_t key = 0;
    if (!take_varint(left, key)) return false;
    const bool wanted = key >> 3 == number;
    if (wanted && ((key & 7) != 2 || size != 0)) return false;
    std::string_view value = left;
    if (!skip_value(left, key)) return false;
    if (!wanted) continue;
    value.remove_suffix(left.size());
    std::uint64_t bytes = 0;
    take_varint(value, bytes);  // its size; the column is the rest
    column = value;
    begin = at;
    size = message.size() - left.size() - at;
  }
  message.erase(begin, size);
  return true;
}

std::size_t count_varints(std::string_view column) {
  // One for each byte without the bit that says "another follows", eight bytes at a time.
  std::size_t count = 0;
  for (; column.size() >= 8; column.remove_prefix(8)) {
    std::uint64_t eight;
    std::memcpy(&eight, column.data(), sizeof eight);
    count += static_cast<std::size_t>(std::popcount(~eight & 0x8080808080808080));
  }
  for (const char c : column) count += static_cast<unsigned char>(c) < 0x80 ? 1 : 0;
  return count;
}

}  // namespace kvplan::traces::kvt
