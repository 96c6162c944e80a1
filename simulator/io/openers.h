// The files of scenarios, as runs read them from the disk.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "simulator/study/inputs.h"

namespace kvplan::io {

/// Every kind of file but traces, which have importers and a progress of their own.
plan::Openers file_openers();

/// Length and time of the last change of a plain file.
std::optional<plan::FileLook> look_at(const std::string& path);

/// 16 hex digits over the bytes of a file, decompressed (base/digest.h). Ends early when `stops` says so; it may be
/// empty.
Result<std::string> content_digest(const std::string& path, const std::function<bool()>& stops = {});
/// The same where these bytes are all that the file tells. Error: it is a JSON that names further files.
Result<std::string> whole_digest(const std::string& path, const std::function<bool()>& stops = {});

}  // namespace kvplan::io
