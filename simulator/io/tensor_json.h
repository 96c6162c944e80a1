// Tensors of one layer as a small JSON with three raw files beside it, as the golden cases of formats have it:
//   {"query_heads": H, "kv_heads": K, "head_dim": D, "T": T, "files": {"Q": FILE, "K": FILE, "V": FILE}}
// A raw file is little-endian float32 without a header, in the order [head][token][channel]; its path is counted from
// the JSON's folder. "fnv" with the same three names, where it is there, holds the FNV-1a 64 of each file's bytes in 16
// hexadecimal digits. "prefill_len" says how many of the tokens are the prompt. Other keys are ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_frames.h"

namespace kvplan::io {

/// Such a JSON is small.
inline constexpr std::int64_t kMaxTensorJsonBytes = std::int64_t{1} << 20;

/// True if the text is a JSON object with the key "files".
bool is_tensor_json(std::string_view text);

/// `path` is that of the JSON, for its folder and for errors, which name the field, or the raw file and its byte.
/// Errors: keys that are missing or out of range, files of another length or digest, numbers that are not finite.
Result<std::shared_ptr<const attention::Recording>> parse_tensor_json(std::string_view text,
                                                                      const std::string& path);
/// The same with files that `open` gives for paths.
using FileOpener = std::function<Result<std::shared_ptr<const RandomAccess>>(const std::string&)>;
Result<std::shared_ptr<const attention::Recording>> parse_tensor_json(std::string_view text,
                                                                      const std::string& path,
                                                                      const FileOpener& open);

}  // namespace kvplan::io
