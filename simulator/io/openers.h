// Opens the files of scenarios from the disk, for runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "simulator/study/inputs.h"

namespace kvplan::io {

/// Openers for every kind of file except traces, which have importers with their own progress reports.
runs::Openers file_openers();

/// Length and modification time of a plain file.
std::optional<runs::FileLook> look_at(const std::string& path);

/// Digest of a file's decompressed bytes, 16 hex digits (base/digest.h). Ends early if `stops` returns true; `stops`
/// may be empty.
Result<std::string> content_digest(const std::string& path, const std::function<bool()>& stops = {});
/// As content_digest, for files that do not refer to other files. Error: the file is a JSON that names further files.
Result<std::string> whole_digest(const std::string& path, const std::function<bool()>& stops = {});

}  // namespace kvplan::io
