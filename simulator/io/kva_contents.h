// The contents of a .kva file and their offsets: header, sequences, and an entry for every chunk, from the index of a
// finished file or from the frames of an incomplete one. Used by the reader only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_chunks.h"

namespace kvplan::io {

struct KvaContents {
  attention::RecordingInfo info;
  std::vector<ChunkEntry> entries;  ///< ascending by stream and first token
  std::int64_t end{0};              ///< chunk frames end at or before this offset
};

/// Errors name file and byte. For incomplete sequences `tokens` is the length of the longest layer; `info.cut` says how
/// much is complete.
Result<KvaContents> read_contents(const std::shared_ptr<const RandomAccess>& file, bool check_sums);

/// The entries of one layer of one sequence. Token classes and positions are with layer 0.
std::span<const ChunkEntry> entries_of(std::span<const ChunkEntry> entries, std::uint32_t sequence,
                                       std::uint32_t layer);

/// The entries of one part and head, among the entries of a layer.
std::span<const ChunkEntry> stream_of(std::span<const ChunkEntry> entries, attention::Part part,
                                      std::uint32_t head);

/// Tokens of a layer of an incomplete sequence: the number that all of its parts and heads have.
std::int64_t whole_tokens(const KvaShape& shape, std::span<const ChunkEntry> entries, std::uint32_t sequence,
                          const attention::LayerInfo& layer);

}  // namespace kvplan::io
