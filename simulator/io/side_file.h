// Reads side files: data that formats need from a model's weights or from calibration. SIDE_FORMAT.md has their layout.
#pragma once

#include <memory>

#include "simulator/formats/formats.h"
#include "simulator/io/kva_frames.h"

namespace kvplan::io {

/// Errors, with file, tensor and place in it: not such a file, missing tensors, another type or shape than the name
/// says, numbers that are not finite, bases that are not orthonormal.
Result<formats::SideData> parse_side_file(const RandomAccess& file);

/// As parse_side_file, for the file at this path.
Result<std::shared_ptr<const formats::SideData>> open_side_file(const std::string& path);

/// Reads the side file that a format's parameters name, if any. The error's field is the parameter.
Status read_side_file(formats::FormatChoice& format);

}  // namespace kvplan::io
