// Side files: what formats need of a model's weights or of calibration. SIDE_FORMAT.md has layout and names.
#pragma once

#include <memory>

#include "simulator/formats/formats.h"
#include "simulator/io/kva_frames.h"

namespace kvplan::io {

/// Errors, with file, tensor and place in it: not such a file, missing tensors, another type or shape than the name
/// says, numbers that are not finite, bases that are not orthonormal.
Result<formats::SideData> parse_side_file(const RandomAccess& file);

/// The same of a file by its path.
Result<std::shared_ptr<const formats::SideData>> open_side_file(const std::string& path);

/// Reads the side file that a format's parameters name, if any. The error's field is the parameter.
Status read_side_file(formats::FormatChoice& format);

}  // namespace kvplan::io
