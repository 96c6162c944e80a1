// Files that appear whole or not at all (simulator/base/file_output.h), compressed where their name says so.
#pragma once

#include <memory>
#include <string>

#include "simulator/base/file_output.h"

namespace kvplan::traces {

/// As `create_file_output`; what is written to a path that ends in .gz or .zst is compressed.
Result<std::unique_ptr<Output>> create_output(const std::string& path,
                                              Temporary temporary = Temporary::kUnnamed);

}  // namespace kvplan::traces
