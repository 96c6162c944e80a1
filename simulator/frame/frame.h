// Building blocks of kvplan's binary files: little-endian numbers, CRC-32, zstd, and the frame in which .kvt, .kve,
// .kvs and .kvr store one message each (a .kva file has its own frames, made of the same parts). This file knows only
// bytes and their limits; the reader of a format decides which frames a file has, and in which order.
//
//   0   4 letters   type
//   4   u32         length of the message
//   8   u32         length of what follows the head
//   12  u32         CRC-32 of bytes 0-11 of the head and of what follows
//   16  one zstd frame
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::frame {

inline constexpr std::size_t kHeadBytes = 16;

struct Head {
  std::string type;            ///< 4 letters
  std::uint32_t raw_bytes;     ///< of the message
  std::uint32_t stored_bytes;  ///< length of the zstd frame that follows
};

/// REQUIRES: 16 bytes.
Head parse_head(std::string_view bytes16);
/// An error, without a place, if the head claims more bytes than a message of `most` bytes can need.
Status check_size(const Head& head, std::uint32_t most);
bool checksum_holds(std::string_view bytes16, std::string_view stored);
/// The message of a frame with checked size and checksum; an error, without a place, if it does not decompress to
/// raw_bytes.
Status unpack(const Head& head, std::string_view stored, std::string& message);

/// A whole frame; the same bytes for the same message.
std::string make(std::string_view type, std::string_view message);

std::string compress(std::string_view raw);
/// Fills `raw`, which has the expected size; an error, without a place, if the data are damaged or of another size.
Status decompress(std::string_view stored, std::string& raw);

/// CRC-32 as in gzip and PNG, over several parts; start with 0.
std::uint32_t crc32(std::uint32_t before, std::string_view bytes);

void put_u32(std::string& out, std::uint32_t value);
void put_u64(std::string& out, std::uint64_t value);
// REQUIRES: 4 bytes, and 8 bytes.
std::uint32_t get_u32(std::string_view bytes);
std::uint64_t get_u64(std::string_view bytes);

}  // namespace kvplan::frame
