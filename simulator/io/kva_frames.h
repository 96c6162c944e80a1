// The outer layer of a .kva file: magic, frames with checksums, trailer, compressed payloads. Byte level:
// ATTENTION_FORMAT.md. Used by kva_reader and kva_writer only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::io {

/// Like the .kvt format: a byte that no text has, the name, and line ends that a text conversion would change.
inline constexpr std::string_view kKvaMagic{"\x89KVA\r\n\x1A\n", 8};
inline constexpr std::string_view kKvaEndMagic{"KVA-END\n", 8};
inline constexpr std::int64_t kFrameHeaderBytes = 16;
inline constexpr std::int64_t kTrailerBytes = 20;
/// Greatest size of one chunk's decompressed data, and of any frame's payload.
inline constexpr std::int64_t kMaxChunkBytes = std::int64_t{16} << 20;
inline constexpr std::int64_t kMaxPayloadBytes = std::int64_t{1} << 30;

enum class FrameKind : std::uint8_t { kHeader, kSequence, kChunk, kIndex };
/// The four letters that stand for the kind in a file.
std::string_view letters(FrameKind kind);
/// kPlanesZstd and kPlanesZlib first put the bytes of numbers in planes (byte_planes.h); version 2 only.
enum class Codec : std::uint32_t { kStored = 0, kZstd = 1, kZlib = 2, kPlanesZstd = 3, kPlanesZlib = 4 };

/// Bytes that can be read at any offset, by several threads.
class RandomAccess {
 public:
  RandomAccess() = default;
  RandomAccess(const RandomAccess&) = delete;
  RandomAccess& operator=(const RandomAccess&) = delete;
  virtual ~RandomAccess() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Fills `to` from `offset`. Errors: the system refuses. REQUIRES: the range lies inside the file.
  virtual Status read(std::int64_t offset, char* to, std::int64_t count) const = 0;
  /// The name for error messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Opens a regular file; errors name the path.
Result<std::shared_ptr<const RandomAccess>> open_random_access(const std::string& path);
/// Bytes in memory, copied.
std::shared_ptr<const RandomAccess> random_access_of(std::string bytes, const std::string& name);

/// A frame with its 16-byte header and payload, as in the file.
std::string frame(FrameKind kind, std::string_view payload);
std::string trailer(std::int64_t index_offset);

/// The payload of the frame at `offset`. Frames end at or before `end`. Errors: wrong kind, a length beyond the file
/// or `most`, a wrong checksum.
Result<std::string> read_frame(const RandomAccess& file, FrameKind kind, std::int64_t offset,
                               std::int64_t end, std::int64_t most, bool check_sums);

/// A frame of any kind. Its payload is empty unless asked for.
struct AnyFrame {
  std::string kind;  ///< four letters
  std::string payload;
  std::int64_t bytes{0};  ///< bytes of the whole frame, header included
};
/// The frame at `offset` if it ends before `end` and its checksum is right; else nothing. Errors: only if the system
/// refuses to read.
Result<std::optional<AnyFrame>> read_whole_frame(const RandomAccess& file, std::int64_t offset,
                                                 std::int64_t end, bool check_sums);
/// True: the file ends like a finished one.
Result<bool> has_trailer(const RandomAccess& file);
/// Offset of the index frame, from the trailer.
Result<std::int64_t> read_trailer(const RandomAccess& file, bool check_sums);

/// `width`: bytes of a number, for the codecs with planes. REQUIRES: width >= 1.
std::string compress(std::string_view raw, Codec codec, std::int64_t width);
/// Exactly `raw_bytes` decompressed bytes, or an error. With width 0, codecs with planes are unknown, as in version
/// 1. REQUIRES: raw_bytes <= kMaxChunkBytes.
Result<std::string> decompress(std::string_view data, Codec codec, std::int64_t raw_bytes,
                               std::int64_t width);

}  // namespace kvplan::io
