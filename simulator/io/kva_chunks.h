// One chunk of a .kva file: where it is, how large it must be, its bytes. Used by the reader only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_frames.h"
#include "simulator/io/kva_shape.h"

namespace kvplan::io {

/// A line of the index, checked against the header.
struct ChunkEntry {
  std::uint32_t sequence;
  std::uint32_t layer;
  std::uint32_t head;  ///< its number in the model
  attention::Part part;
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
RawSize raw_size(const KvaShape& shape, const ChunkEntry& entry);

/// Reads, checks and decompresses. Errors name file and byte.
Result<std::string> read_chunk(const ChunkSource& source, const KvaShape& shape, const ChunkEntry& entry);

}  // namespace kvplan::io
