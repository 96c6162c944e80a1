// The measured tables that are part of the program: simulator/kernels/tables, compressed files named
// KIND-GPU-ENGINE-VERSION.csv.gz (its README says where they are from).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::kernels {

struct PackedTable {
  std::string_view kind, gpu, engine, engine_version;
  std::string_view file;
  std::span<const unsigned char> bytes;  ///< gzip
};

/// All of them, sorted by file name.
std::span<const PackedTable> packed_tables();

/// The text of a table. Stops the program where the bytes are none of gzip: they are part of it.
std::string unpack(const PackedTable& table);

/// The table of that kind, of any of these names of a GPU, of this engine; the newest version, or `engine_version` where
/// there is one of it. Null where there is none.
const PackedTable* find_packed(std::string_view kind, std::span<const std::string> gpu_names,
                               std::string_view engine, std::string_view engine_version);

}  // namespace kvplan::kernels
