// The frames (simulator/frame/frame.h) that a .kvt file has; traces/FORMAT.md has the bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvplan::traces::kvt {

/// A byte that no text has, the name, and line ends that a text conversion would change (the idea is PNG's).
inline constexpr std::string_view kMagic{"\x89KVT\r\n\x1A\n", 8};
inline constexpr std::string_view kEndMagic{"KVT-END\n", 8};
inline constexpr std::string_view kHead{"HEAD"};
inline constexpr std::string_view kChunk{"CHNK"};
inline constexpr std::string_view kIndex{"INDX"};
inline constexpr std::uint32_t kVersion = 1;
/// A reader refuses frames that decompress to more, which bounds memory for any file.
inline constexpr std::uint32_t kMostChunkBytes = std::uint32_t{24} << 20;
inline constexpr std::uint32_t kMostOtherBytes = std::uint32_t{4} << 20;

constexpr std::uint32_t most_bytes(std::string_view type) {
  return type == kChunk ? kMostChunkBytes : kMostOtherBytes;
}

}  // namespace kvplan::traces::kvt
