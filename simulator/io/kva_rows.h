// Readers of one layer of a .kva file. Used by kva_reader only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/io/kva_chunks.h"

namespace kvplan::io {

struct LayerPlan {
  ChunkSource source;
  const attention::RecordingInfo* info;  ///< outlives the reader
  std::span<const ChunkEntry> entries;   ///< of the layer, ascending; outlives the reader
  std::int64_t tokens;
  std::int64_t max_bytes;
};

/// Rows, dense or as top entries: at most one decoded chunk per query head in memory.
Result<std::unique_ptr<attention::LayerRows>> open_row_layer(const LayerPlan& plan);
/// Tensors: all of the layer's in memory. An error where a token of any head is missing.
Result<attention::LayerTensors> read_tensor_layer(const LayerPlan& plan);

}  // namespace kvplan::io
