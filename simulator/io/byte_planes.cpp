#include "simulator/io/byte_planes.h"

#include <algorithm>
#include <cstddef>

#include "simulator/base/check.h"

namespace kvplan::io {
namespace {

/// How many numbers are handled at a time: few enough to fit into the first-level cache.
constexpr std::size_t kBlock = 2048;

/// Calls `move` for each number and byte: its index among the numbers, and its index in the planes.
template <class Move>
void for_each_byte(std::size_t count, std::size_t width, const Move& move) {
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, count);
    for (std::size_t b = 0; b < width; ++b)
      for (std::size_t i = begin; i < end; ++i) move(i * width + b, b * count + i);
  }
}

}  // namespace

std::string to_planes(std::string_view raw, std::int64_t width) {
  KVPLAN_CHECK(width >= 1, width);
  std::string out(raw);  // the remainder is already in place
  const auto bytes = static_cast<std::size_t>(width);
  char* to = out.data();
  for_each_byte(raw.size() / bytes, bytes, [&](std::size_t at, std::size_t plane) { to[plane] = raw[at]; });
  return out;
}

std::string from_planes(std::string_view planes, std::int64_t width) {
  KVPLAN_CHECK(width >= 1, width);
  std::string out(planes);
  const auto bytes = static_cast<std::size_t>(width);
  char* to = out.data();
  for_each_byte(planes.size() / bytes, bytes,
                [&](std::size_t at, std::size_t plane) { to[at] = planes[plane]; });
  return out;
}

}  // namespace kvplan::io
