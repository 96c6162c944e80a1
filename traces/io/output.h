// Files that appear complete or not at all (simulator/base/file_output.h), compressed if their name says so.
#pragma once

#include <memory>
#include <string>

#include "simulator/base/file_output.h"

namespace kvplan::traces {

/// As `create_file_output`; if the path ends in .gz or .zst, the bytes are compressed.
Result<std::unique_ptr<Output>> create_output(const std::string& path,
                                              Temporary temporary = Temporary::kUnnamed);

}  // namespace kvplan::traces
