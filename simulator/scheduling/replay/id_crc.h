// Checksums of lists of ids, as the recorded tables have them.
#pragma once

#include <cstdint>

namespace kvplan::replays {

/// CRC-32 as zlib has it of what `before` is the CRC-32 of (0: of nothing) and the id behind it, as four little-endian
/// bytes.
std::uint32_t id_crc32(std::uint32_t before, std::uint32_t id);

}  // namespace kvplan::replays
