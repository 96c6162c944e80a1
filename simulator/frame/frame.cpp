#include "simulator/frame/frame.h"

#include <zlib.h>
#include <zstd.h>

namespace kvplan::frame {
namespace {

/// Part of every format: another compression level would give other bytes for the same content.
constexpr int kLevel = 3;

}  // namespace

Head parse_head(std::string_view bytes16) {
  return {std::string(bytes16.substr(0, 4)), get_u32(bytes16.substr(4)), get_u32(bytes16.substr(8))};
}

Status check_size(const Head& head, std::uint32_t most) {
  // zstd adds less than this to what it cannot compress.
  if (head.raw_bytes <= most && head.stored_bytes <= most + most / 64 + 1024) return Done{};
  return bad_input("a frame of " + std::to_string(head.raw_bytes) + " bytes (" +
                   std::to_string(head.stored_bytes) + " stored); at most " + std::to_string(most) +
                   " are read");
}

bool checksum_holds(std::string_view bytes16, std::string_view stored) {
  return crc32(crc32(0, bytes16.substr(0, 12)), stored) == get_u32(bytes16.substr(12));
}

Status unpack(const Head& head, std::string_view stored, std::string& message) {
  message.resize(head.raw_bytes);
  return decompress(stored, message);
}

std::string make(std::string_view type, std::string_view message) {
  KVPLAN_CHECK(type.size() == 4 && message.size() <= UINT32_MAX);
  const std::string stored = compress(message);
  std::string frame(type);
  put_u32(frame, static_cast<std::uint32_t>(message.size()));
  put_u32(frame, static_cast<std::uint32_t>(stored.size()));
  put_u32(frame, crc32(crc32(0, frame), stored));
  return frame + stored;
}

std::string compress(std::string_view raw) {
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), kLevel);
  KVPLAN_CHECK(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

Status decompress(std::string_view stored, std::string& raw) {
  // ZSTD_decompress would accept several frames in a row as one.
  const std::size_t frame_bytes = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
  if (ZSTD_isError(frame_bytes) == 0 && frame_bytes != stored.size())
    return bad_input("expected one zstd frame, found bytes after it");
  const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0)
    return bad_input(std::string("damaged zstd data (") + ZSTD_getErrorName(size) + ")");
  if (size != raw.size())
    return bad_input("expected " + std::to_string(raw.size()) + " bytes after decompression, found " +
                     std::to_string(size));
  return Done{};
}

std::uint32_t crc32(std::uint32_t before, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(static_cast<unsigned char>(value >> shift));
}

void put_u64(std::string& out, std::uint64_t value) {
  put_u32(out, static_cast<std::uint32_t>(value));
  put_u32(out, static_cast<std::uint32_t>(value >> 32));
}

std::uint32_t get_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

std::uint64_t get_u64(std::string_view bytes) {
  return get_u32(bytes) | std::uint64_t{get_u32(bytes.substr(4))} << 32;
}

}  // namespace kvplan::frame
