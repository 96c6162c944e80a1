#include "simulator/io/log/frame.h"

#include <zlib.h>
#include <zstd.h>

namespace kvplan::event_log {
namespace {

constexpr int kLevel = 3;

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(static_cast<unsigned char>(value >> shift));
}

std::uint32_t get_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

std::uint32_t checksum(std::string_view head12, std::string_view stored) {
  const auto add = [](uLong crc, std::string_view bytes) {
    return crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  };
  return static_cast<std::uint32_t>(add(add(0, head12), stored));
}

}  // namespace

FrameHead parse_head(std::string_view bytes16) {
  return {std::string(bytes16.substr(0, 4)), get_u32(bytes16.substr(4)), get_u32(bytes16.substr(8))};
}

bool checksum_holds(std::string_view bytes16, std::string_view stored) {
  return checksum(bytes16.substr(0, 12), stored) == get_u32(bytes16.substr(12));
}

std::string make_frame(std::string_view type, std::string_view message) {
  KVPLAN_CHECK(message.size() <= kMostFrameBytes);
  std::string stored(ZSTD_compressBound(message.size()), '\0');
  const std::size_t size =
      ZSTD_compress(stored.data(), stored.size(), message.data(), message.size(), kLevel);
  KVPLAN_CHECK(ZSTD_isError(size) == 0);
  stored.resize(size);
  std::string frame(type);
  put_u32(frame, static_cast<std::uint32_t>(message.size()));
  put_u32(frame, static_cast<std::uint32_t>(stored.size()));
  put_u32(frame, checksum(frame, stored));
  return frame + stored;
}

Status unpack(const FrameHead& head, std::string_view stored, std::string& message) {
  message.resize(head.raw_bytes);
  const std::size_t size = ZSTD_decompress(message.data(), message.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0)
    return bad_input(std::string("damaged zstd data (") + ZSTD_getErrorName(size) + ")");
  if (size != head.raw_bytes)
    return bad_input("expected " + std::to_string(head.raw_bytes) + " bytes after decompression, found " +
                     std::to_string(size));
  return Done{};
}

}  // namespace kvplan::event_log
