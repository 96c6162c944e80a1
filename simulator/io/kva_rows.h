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
  const KvaShape* shape;                 ///< outlives the reader
  attention::LayerInfo layer;            ///< what the layer is like
  std::span<const ChunkEntry> entries;   ///< of the layer, ascending; outlives the reader, as all entries do
  std::span<const ChunkEntry> sequence;  ///< of layer 0 of the same sequence
  std::span<const ChunkEntry> weights;   ///< of the layer in sequence 0
  std::int64_t tokens;                   ///< chunks behind them are not read
  std::int64_t max_bytes;
};

/// Rows, dense or as top entries: at most one decoded chunk per query head in memory.
Result<std::unique_ptr<attention::LayerRows>> open_row_layer(const LayerPlan& plan);
/// The tensors that there are of the layer, all in memory. An error where a token of any head is missing.
Result<attention::LayerTensors> read_tensor_layer(const LayerPlan& plan);
/// All numbers of one part of one head of the model. An error where a token is missing.
Result<std::vector<float>> read_numbers(const LayerPlan& plan, attention::Part part, std::uint32_t head);
Result<std::vector<std::uint8_t>> read_classes(const LayerPlan& plan, std::int64_t classes);
Result<std::vector<std::uint32_t>> read_positions(const LayerPlan& plan);

}  // namespace kvplan::io
