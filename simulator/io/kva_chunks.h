// One chunk of a .kva file: where it is, how large it must be, its bytes. Used by the reader only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_frames.h"

namespace kvplan::io {

/// As AttentionPart in proto/attention.proto.
enum class ChunkPart : std::uint32_t { kRows = 1, kQueries = 2, kKeys = 3, kValues = 4 };

/// A line of the index, checked against the header.
struct ChunkEntry {
  std::uint32_t sequence;
  std::uint32_t layer;
  std::uint32_t head;
  ChunkPart part;
  std::int64_t first_token;
  std::int64_t tokens;
  std::int64_t offset;

  /// Chunks of one stream follow each other by first_token.
  [[nodiscard]] auto stream() const { return std::tuple(sequence, layer, part, head); }
};

struct ChunkSource {
  std::shared_ptr<const RandomAccess> file;
  std::int64_t end{0};  ///< chunk frames end at or before this offset
  bool check_sums{true};
};

/// Bytes that a chunk's data may have; least == most but for top entries.
struct RawSize {
  std::int64_t least;
  std::int64_t most;
};
RawSize raw_size(const attention::RecordingInfo& info, const ChunkEntry& entry);

/// Reads, checks and decompresses. Errors name file and byte.
Result<std::string> read_chunk(const ChunkSource& source, const attention::RecordingInfo& info,
                               const ChunkEntry& entry);

}  // namespace kvplan::io
