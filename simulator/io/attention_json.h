// The JSON form of attention rows, as the golden cases have it:
//   {"query_heads": H, "kv_heads": K, "T": T, "rows": [head][t][0 .. t]}
// Numbers are taken as 64-bit doubles, exactly as printed. Other keys are ignored.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "simulator/attention/recording.h"

namespace kvplan::io {

/// Parses text; `name` stands for the file in errors, which name line and field. One KV head per query
/// head unless a policy is told otherwise; bytes assume 128 + 128 elements of 2 bytes per head and token.
Result<std::shared_ptr<const attention::Recording>> parse_attention_json(std::string_view text,
                                                                         const std::string& name);

/// A .kva file, the JSON form or the JSON that names raw tensors (tensor_json.h), told apart by content. Files
/// compressed with gzip or zstd are unpacked in memory, up to 256 MiB.
Result<std::shared_ptr<const attention::Recording>> open_attention(const std::string& path);

}  // namespace kvplan::io
