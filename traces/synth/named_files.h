// The files of a folder or of a tar archive, one after the other.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "traces/io/input.h"

namespace kvplan::traces {

/// Called with the name of each file, without folders; returns true if it is to be read.
using WantsFile = std::function<bool(std::string_view name)>;
/// Called for each file that is read; `path` is for errors. An error ends the walk.
using TakeFile =
    std::function<Status(std::string_view name, const std::string& path, std::string_view bytes)>;

/// A folder's files by name, those of folders in it left out, or those of an archive. Errors: it cannot be read,
/// a file in it has more than 64 MiB.
Status each_file(const std::string& path, const WantsFile& wants, const TakeFile& take,
                 const ReadHook& on_read = {});
/// The files of an archive in its order: POSIX ustar, and what GNU tar and Python write for names up to 255
/// bytes. Errors as above, and what is no archive.
Status each_file(Input& archive, const WantsFile& wants, const TakeFile& take);

}  // namespace kvplan::traces
