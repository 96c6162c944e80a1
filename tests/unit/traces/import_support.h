// Options of imports.
#pragma once

#include "tests/unit/traces/support.h"

namespace kvplan::traces {

inline ImportOptions with_map(std::string format, std::string map) {
  ImportOptions options;
  options.format = std::move(format);
  options.map = std::move(map);
  return options;
}

}  // namespace kvplan::traces
