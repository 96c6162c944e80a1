// The frames of a .kvt file; traces/FORMAT.md has the bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::traces::kvt {

/// A non-text byte, the name, and line ends that a text conversion would change (the idea is PNG's).
inline constexpr std::string_view kMagic{"\x89KVT\r\n\x1A\n", 8};
inline constexpr std::string_view kEndMagic{"KVT-END\n", 8};
inline constexpr std::string_view kHead{"HEAD"};
inline constexpr std::string_view kChunk{"CHNK"};
inline constexpr std::string_view kIndex{"INDX"};
inline constexpr std::size_t kFrameHeadBytes = 16;
inline constexpr std::uint32_t kVersion = 1;
/// A reader refuses frames that decompress to more: bounded memory for any file.
inline constexpr std::uint32_t kMostChunkBytes = std::uint32_t{24} << 20;
inline constexpr std::uint32_t kMostOtherBytes = std::uint32_t{4} << 20;

constexpr std::uint32_t most_bytes(std::string_view type) {
  return type == kChunk ? kMostChunkBytes : kMostOtherBytes;
}

struct FrameHead {
  std::string type;            ///< 4 letters
  std::uint32_t raw_bytes;     ///< of the message
  std::uint32_t stored_bytes;  ///< of the zstd frame that follows
  std::uint32_t checksum;      ///< CRC-32 (that of gzip) of the 12 bytes before it and of the stored bytes
};

FrameHead parse_head(std::string_view bytes16);
bool checksum_holds(std::string_view bytes16, std::string_view stored);

/// A whole frame from a serialised message. REQUIRES: it is not longer than most_bytes(type).
std::string make_frame(std::string_view type, std::string_view message);
/// The message of a frame whose checksum holds; an error without a place where it does not decompress to
/// raw_bytes.
Status unpack(const FrameHead& head, std::string_view stored, std::string& message);

void put_u64(std::string& out, std::uint64_t value);
std::uint64_t get_u64(std::string_view bytes8);

}  // namespace kvplan::traces::kvt
