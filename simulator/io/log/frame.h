// The frames of a .kve file (FORMAT.md has the bytes). The same layout as the frames of a .kvt file, written
// again because whoever replays a log must not share code with whoever made it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::event_log {

/// A non-text byte, the name, and line ends that a text conversion would change.
inline constexpr std::string_view kMagic{"\x89KVE\r\n\x1A\n", 8};
inline constexpr std::string_view kHead{"HEAD"};
inline constexpr std::string_view kEvents{"EVTS"};
inline constexpr std::string_view kTail{"TAIL"};
inline constexpr std::size_t kFrameHeadBytes = 16;
/// A reader refuses frames that decompress to more: bounded memory for any file.
inline constexpr std::uint32_t kMostFrameBytes = std::uint32_t{2} << 20;

struct FrameHead {
  std::string type;            ///< 4 letters
  std::uint32_t raw_bytes;     ///< of the message
  std::uint32_t stored_bytes;  ///< of the zstd frame that follows
};

FrameHead parse_head(std::string_view bytes16);
/// CRC-32 of the head's first 12 bytes and of the stored bytes against the head's last 4.
bool checksum_holds(std::string_view bytes16, std::string_view stored);
/// A whole frame. REQUIRES: the message is not longer than kMostFrameBytes.
std::string make_frame(std::string_view type, std::string_view message);
/// The message of a frame whose checksum holds; an error without a place where it is not what the head says.
Status unpack(const FrameHead& head, std::string_view stored, std::string& message);

}  // namespace kvplan::event_log
