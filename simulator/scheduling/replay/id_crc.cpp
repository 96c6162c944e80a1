#include "simulator/scheduling/replay/id_crc.h"

#include <zlib.h>

#include <array>

namespace kvplan::replays {

std::uint32_t id_crc32(std::uint32_t before, std::uint32_t id) {
  const std::array<unsigned char, 4> bytes{
      static_cast<unsigned char>(id), static_cast<unsigned char>(id >> 8),
      static_cast<unsigned char>(id >> 16), static_cast<unsigned char>(id >> 24)};
  return static_cast<std::uint32_t>(crc32(before, bytes.data(), bytes.size()));
}

}  // namespace kvplan::replays
