// Event logs read from bytes.
#pragma once

#include <sstream>

#include "simulator/io/log/reader.h"

namespace kvplan {

/// The error of reading, as text; empty if there is none.
inline std::string error_of(const std::string& bytes) {
  auto reader = event_log::Reader::open(std::make_unique<std::istringstream>(bytes), "a.kve");
  if (!reader.ok()) return reader.error().to_string();
  while (true) {
    auto record = reader.value()->next();
    if (!record.ok()) return record.error().to_string();
    if (!record.value()) return "";
  }
}

}  // namespace kvplan
