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

/// Reads the files of a folder, by name and without those of subfolders, or of an archive. Errors: it cannot be read, a
/// file in it has more than 64 MiB.
Status each_file(const std::string& path, const WantsFile& wants, const TakeFile& take,
                 const ReadHook& on_read = {});
/// Reads the files of an archive in its order: POSIX ustar, and the archives that GNU tar and Python write for names up
/// to 255 bytes. Errors as above, and if it is not an archive.
Status each_file(Input& archive, const WantsFile& wants, const TakeFile& take);

}  // namespace kvplan::traces
