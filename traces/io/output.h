// Files that appear whole or not at all. Bytes go to a temporary file beside the target; `commit` makes them
// durable and renames. Without `commit` the temporary is removed and an older target stays as it was.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::traces {

/// Life cycle: `create`, `write` any number of times, `commit` once. After an error the object is only
/// destroyed. Paths ending in .gz or .zst are compressed; "-" is standard output; devices and pipes are
/// written as they are.
class Output {
 public:
  static Result<std::unique_ptr<Output>> create(const std::string& path);
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;

  virtual Status write(std::string_view bytes) = 0;
  virtual Status commit() = 0;
};

}  // namespace kvplan::traces
