// Stores the bytes of numbers in planes: all first bytes, then all second bytes, and so on. The exponents are then
// together, which compresses better than whole numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvplan::io {

/// Byte b of number i goes to position b * n + i of n = raw.size() / width numbers; left-over bytes stay at the end.
/// REQUIRES: width >= 1.
std::string to_planes(std::string_view raw, std::int64_t width);
/// The inverse of to_planes.
std::string from_planes(std::string_view planes, std::int64_t width);

}  // namespace kvplan::io
