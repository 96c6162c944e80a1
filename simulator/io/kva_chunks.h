// One chunk of a .kva file: its position, its required size, its bytes. Used by the reader only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_frames.h"
#include "simulator/io/kva_shape.h"

namespace kvplan::io {

/// An entry of the file's index, checked against the header.
struct ChunkEntry {
  std::uint32_t sequence;
  std::uint32_t layer;
  std::uint32_t head;  ///< the head's number in the model
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

/// Allowed sizes of a chunk's data; least == most except for top entries.
struct RawSize {
  std::int64_t least;
  std::int64_t most;
};
RawSize raw_size(const KvaShape& shape, const ChunkEntry& entry);

/// Reads a chunk, checks and decompresses it. Errors name file and byte.
Result<std::string> read_chunk(const ChunkSource& source, const KvaShape& shape, const ChunkEntry& entry);

}  // namespace kvplan::io
