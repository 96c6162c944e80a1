// The JSON form of attention rows, as in the golden cases:
//   {"query_heads": H, "kv_heads": K, "T": T, "rows": [head][t][0 .. t]}
// Numbers are read as 64-bit doubles, exactly as printed. Other keys are ignored.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "simulator/attention/recording.h"

namespace kvplan::io {

/// Parses text; errors name `name` as the file, with line and field. There is one KV head per query head, unless a
/// policy is given another number; byte counts assume 128 + 128 elements of 2 bytes per head and token.
Result<std::shared_ptr<const attention::Recording>> parse_attention_json(std::string_view text,
                                                                         const std::string& name);

/// Opens a .kva file, the JSON form or a JSON that names raw tensors (tensor_json.h), told apart by content. Files
/// compressed with gzip or zstd are decompressed in memory, up to 256 MiB.
Result<std::shared_ptr<const attention::Recording>> open_attention(const std::string& path);

}  // namespace kvplan::io
