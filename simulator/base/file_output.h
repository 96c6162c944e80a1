// Files that appear complete or not at all: `commit` makes the bytes durable and gives them their name. Without
// `commit` nothing is left, and an older target stays as it was.
//
// If the file system supports it (Linux: O_TMPFILE), the bytes go to a file without a name, which vanishes with the
// process however that ends. A new target then appears by one link. An older target can only be replaced by renaming
// over it, so the complete file has a temporary name beside the target for two system calls; a kill -9 between them
// leaves it there, complete. On other file systems the temporary file has a name beside the target from the start,
// and a kill -9 leaves what was written so far.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan {

enum class Temporary : std::uint8_t {
  kUnnamed,  ///< a file without a name if the file system has such files, else kNamed
  kNamed,    ///< a temporary file beside the target
};

/// A file that is being written. Life cycle: made by `create_file_output` or by an output that transforms bytes
/// (traces/io/output.h), `write` any number of times, `commit` once. If several files belong together, call `finish` on
/// all of them before the first `commit`, so that a full disk leaves none of them. After an error the object may only
/// be destroyed.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;

  virtual Status write(std::string_view bytes) = 0;
  /// Writes all bytes to the disk, but gives the file no name yet. No `write` may follow. Repeated calls do nothing.
  virtual Status finish() = 0;
  /// Finishes if needed, and gives the file its name.
  virtual Status commit() = 0;
};

/// "-" is standard output; devices and pipes are written directly. Errors name `path` as given; one is that this
/// program has read the file (read_files.h).
Result<std::unique_ptr<Output>> create_file_output(const std::string& path,
                                                   Temporary temporary = Temporary::kUnnamed);

}  // namespace kvplan
