// Readers of one layer of a .kva file. Used by kva_reader only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/io/kva_chunks.h"

namespace kvplan::io {

struct LayerPlan {
  ChunkSource source;
  const KvaShape* shape;       ///< outlives the reader
  attention::LayerInfo layer;  ///< description of the layer
  /// Entries of the layer, ascending; they outlive the reader, like all entries
  std::span<const ChunkEntry> entries;
  std::span<const ChunkEntry> sequence;  ///< entries of layer 0 of the same sequence
  std::span<const ChunkEntry> weights;   ///< entries of the layer in sequence 0
  std::int64_t tokens;                   ///< later chunks are not read
  std::int64_t max_bytes;
};

/// Opens rows, dense or as top entries: at most one decoded chunk per query head in memory.
Result<std::unique_ptr<attention::LayerRows>> open_row_layer(const LayerPlan& plan);
/// All recorded tensors of the layer, in memory. Errors: a missing token of any head.
Result<attention::LayerTensors> read_tensor_layer(const LayerPlan& plan);
/// All numbers of one part of one head of the model. Errors: a missing token.
Result<std::vector<float>> read_numbers(const LayerPlan& plan, attention::Part part, std::uint32_t head);
Result<std::vector<std::uint8_t>> read_classes(const LayerPlan& plan, std::int64_t classes);
Result<std::vector<std::uint32_t>> read_positions(const LayerPlan& plan);

}  // namespace kvplan::io
