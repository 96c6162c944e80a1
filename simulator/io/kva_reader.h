// Reads attention recordings (.kva versions 1 and 2; byte level: ATTENTION_FORMAT.md).
//
// Opening reads the header and the index, or all frames of an incomplete file. Chunks are read when a layer's reader
// reaches them, and each is checked (checksum, sizes, finite numbers, rows that sum to at most one). Memory: the index,
// and for an open layer one chunk per query head, or its tensors; `max_layer_bytes` limits the latter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_frames.h"

namespace kvplan::io {

struct KvaOptions {
  /// Most memory that one open layer may take.
  std::int64_t max_layer_bytes{std::int64_t{4} << 30};
  /// false: for fuzzing only, so that mutations reach the code behind the checksums.
  bool check_sums{true};
};

/// Errors name the file and the byte.
Result<std::shared_ptr<const attention::Recording>> open_kva(std::shared_ptr<const RandomAccess> file,
                                                             const KvaOptions& options = {});

}  // namespace kvplan::io
