// The options with which a user describes a file of another format.
#pragma once

#include <cstdint>
#include <string>

namespace kvplan::traces {

struct ImportOptions {
  std::string format;            ///< importer name; empty = the content decides
  std::string map;               ///< text of --map; only for tables
  std::int64_t block_tokens{0};  ///< --block: tokens of one prefix id; 0 = as in the format

  bool operator==(const ImportOptions&) const = default;
  auto operator<=>(const ImportOptions&) const = default;
  [[nodiscard]] bool empty() const { return *this == ImportOptions{}; }
};

}  // namespace kvplan::traces
