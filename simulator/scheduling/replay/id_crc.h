// Checksums of lists of ids, computed as in the recorded tables.
#pragma once

#include <cstdint>

namespace kvplan::replays {

/// Extends a CRC-32 (as in zlib) by an id, as four little-endian bytes. `before`: the CRC-32 so far, 0 at the start.
std::uint32_t id_crc32(std::uint32_t before, std::uint32_t id);

}  // namespace kvplan::replays
