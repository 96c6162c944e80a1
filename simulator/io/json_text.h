// The whole text of a JSON file, for readers that parse it at once.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/base/result.h"

namespace kvplan::io {

/// The text, decompressed if the file is compressed, without a byte-order mark. Errors: the file cannot be opened or
/// read; more than `most_bytes`.
Result<std::string> read_json_text(const std::string& path, std::int64_t most_bytes = std::int64_t{1} << 30);

}  // namespace kvplan::io
