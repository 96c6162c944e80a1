// The frames (simulator/frame/frame.h) of a .kve file; FORMAT.md has the bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvplan::event_log {

/// A non-text byte, the name, and line ends that a text conversion would change.
inline constexpr std::string_view kMagic{"\x89KVE\r\n\x1A\n", 8};
inline constexpr std::string_view kHead{"HEAD"};
inline constexpr std::string_view kEvents{"EVTS"};
inline constexpr std::string_view kTail{"TAIL"};
/// A reader refuses frames that decompress to more, which bounds memory for any file.
inline constexpr std::uint32_t kMostFrameBytes = std::uint32_t{2} << 20;

}  // namespace kvplan::event_log
