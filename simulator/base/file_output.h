// Files that appear whole or not at all: `commit` makes the bytes durable and gives them their name. Without
// `commit` nothing is left and an older target stays as it was.
//
// Where the file system can (Linux: O_TMPFILE), the bytes go to a file without a name, which vanishes with
// the process however that ends. A new target then appears by one link. An older target can only be replaced
// by renaming over it, so the finished file has a temporary name beside the target for two system calls; a
// kill -9 between them leaves it there, whole. Elsewhere the temporary has its name beside the target from
// the start, and a kill -9 leaves what was written so far.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan {

enum class Temporary : std::uint8_t {
  kUnnamed,  ///< where the file system has such files, else kNamed
  kNamed,    ///< beside the target
};

/// Where bytes go that become one file. Life cycle: made by `create_file_output` or by one that changes bytes on
/// their way (traces/io/output.h), `write` any number of times, `commit` once. Several files that belong together are
/// all finished before one is committed, so that a disk that is full leaves none of them. After an error the object
/// is only destroyed.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;

  virtual Status write(std::string_view bytes) = 0;
  /// All bytes are where they will be, without their name yet; nothing is written after it. Once is enough.
  virtual Status finish() = 0;
  /// Finishes, where that was not done, and gives the bytes their name.
  virtual Status commit() = 0;
};

/// "-" is standard output; devices and pipes are written as they are. Errors name `path` as it is given.
Result<std::unique_ptr<Output>> create_file_output(const std::string& path,
                                                   Temporary temporary = Temporary::kUnnamed);

}  // namespace kvplan
