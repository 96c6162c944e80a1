// Bytes of numbers in planes: all first bytes, then all second bytes, and so on. Exponents stand together then, which
// compresses better than numbers as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvplan::io {

/// Byte b of number i goes to place b * n + i of n = raw.size() / width numbers; bytes left over stay at the end.
/// REQUIRES: width >= 1.
std::string to_planes(std::string_view raw, std::int64_t width);
/// The other way.
std::string from_planes(std::string_view planes, std::int64_t width);

}  // namespace kvplan::io
