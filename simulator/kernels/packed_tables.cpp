#include "simulator/kernels/packed_tables.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "simulator/base/check.h"
#include "simulator/kernels/decode_times.h"

namespace kvplan::kernels {

std::string unpack(const PackedTable& table) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  KVPLAN_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);
  stream.next_in = const_cast<unsigned char*>(table.bytes.data());  // zlib reads only
  stream.avail_in = static_cast<unsigned>(table.bytes.size());
  std::string text;
  std::array<char, 1 << 16> piece{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<unsigned char*>(piece.data());
    stream.avail_out = static_cast<unsigned>(piece.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  KVPLAN_CHECK(state == Z_STREAM_END);
  inflateEnd(&stream);
  return text;
}

const PackedTable* find_packed(std::string_view kind, std::span<const std::string> gpu_names,
                               std::string_view engine, std::string_view engine_version) {
  const PackedTable* newest = nullptr;
  for (const PackedTable& table : packed_tables()) {
    if (table.kind != kind || table.engine != engine ||
        std::find(gpu_names.begin(), gpu_names.end(), table.gpu) == gpu_names.end())
      continue;
    if (table.engine_version == engine_version) return &table;
    if (newest == nullptr || version_before(newest->engine_version, table.engine_version)) newest = &table;
  }
  return newest;
}

}  // namespace kvplan::kernels
