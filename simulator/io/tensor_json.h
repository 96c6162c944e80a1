// Reads tensors of one layer from a small JSON with three raw files, as in the golden cases of formats:
//   {"query_heads": H, "kv_heads": K, "head_dim": D, "T": T, "files": {"Q": FILE, "K": FILE, "V": FILE}}
// A raw file is little-endian float32 without a header, in the order [head][token][channel]; its path is relative to
// the JSON's folder. Optional: "fnv" with the same three names has the FNV-1a 64 of each file's bytes in 16
// hexadecimal digits; "prefill_len" is the number of prompt tokens. Other keys are ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_frames.h"

namespace kvplan::io {

/// Largest size of such a JSON.
inline constexpr std::int64_t kMaxTensorJsonBytes = std::int64_t{1} << 20;

/// True if the text is a JSON object with the key "files".
bool is_tensor_json(std::string_view text);

/// `path` is that of the JSON, for its folder and for errors, which name the field, or the raw file and its byte.
/// Errors: missing keys or values out of range, files of another length or digest, numbers that are not finite.
Result<std::shared_ptr<const attention::Recording>> parse_tensor_json(std::string_view text,
                                                                      const std::string& path);
/// As parse_tensor_json, with files that `open` returns for paths.
using FileOpener = std::function<Result<std::shared_ptr<const RandomAccess>>(const std::string&)>;
Result<std::shared_ptr<const attention::Recording>> parse_tensor_json(std::string_view text,
                                                                      const std::string& path,
                                                                      const FileOpener& open);

}  // namespace kvplan::io
