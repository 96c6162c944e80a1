// The frame compared with its description, byte by byte.
#include "simulator/frame/frame.h"

#include <gtest/gtest.h>

namespace kvplan::frame {
namespace {

/// CRC-32 computed bit by bit from the polynomial.
std::uint32_t slow_crc(std::string_view bytes) {
  std::uint32_t state = 0xFFFFFFFF;
  for (const char c : bytes) {
    state ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~state;
}

TEST(Frame, ChecksumIsThatOfGzip) {
  EXPECT_EQ(crc32(0, "123456789"), 0xCBF43926U);
  EXPECT_EQ(crc32(crc32(0, "1234"), "56789"), 0xCBF43926U);
  EXPECT_EQ(slow_crc("123456789"), 0xCBF43926U);
}

TEST(Frame, NumbersAreLittleEndian) {
  std::string out;
  put_u32(out, 0x04030201U);
  put_u64(out, 0xFF0B0A0908070605U);
  EXPECT_EQ(out, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\xFF");
  EXPECT_EQ(get_u32(out), 0x04030201U);
  EXPECT_EQ(get_u64(out.substr(4)), 0xFF0B0A0908070605U);
}

TEST(Frame, OneMadeByHandIsRead) {
  using namespace std::string_literals;
  // RFC 8878: magic, descriptor (one segment, one byte of content size), size 5, a last raw block of 5 bytes.
  const std::string stored = "\x28\xB5\x2F\xFD\x20\x05\x29\x00\x00"s + "hello";
  std::string head = "ABCD\x05\x00\x00\x00\x0E\x00\x00\x00"s;
  ASSERT_EQ(stored.size(), 14U);
  put_u32(head, slow_crc(head + stored));
  ASSERT_EQ(head.size(), kHeadBytes);
  const Head parsed = parse_head(head);
  EXPECT_EQ(parsed.type, "ABCD");
  EXPECT_EQ(parsed.raw_bytes, 5U);
  EXPECT_EQ(parsed.stored_bytes, 14U);
  EXPECT_TRUE(checksum_holds(head, stored));
  std::string message;
  ASSERT_TRUE(unpack(parsed, stored, message).ok());
  EXPECT_EQ(message, "hello");
  for (std::size_t i = 0; i < head.size() + stored.size(); ++i) {
    std::string all = head + stored;
    all[i] = static_cast<char>(all[i] ^ 1);
    EXPECT_FALSE(checksum_holds(all.substr(0, kHeadBytes), all.substr(kHeadBytes))) << i;
  }
}

TEST(Frame, WhatIsMadeIsRead) {
  for (const std::string& message : {std::string(), std::string("x"), std::string(100'000, 'y')}) {
    const std::string frame = make("BODY", message);
    const std::string_view stored = std::string_view(frame).substr(kHeadBytes);
    const Head head = parse_head(frame.substr(0, kHeadBytes));
    EXPECT_EQ(head.type, "BODY");
    EXPECT_EQ(head.raw_bytes, message.size());
    EXPECT_EQ(head.stored_bytes, stored.size());
    EXPECT_TRUE(checksum_holds(frame.substr(0, kHeadBytes), stored));
    std::string read;
    ASSERT_TRUE(unpack(head, stored, read).ok());
    EXPECT_EQ(read, message);
    EXPECT_EQ(make("BODY", message), frame);
  }
}

TEST(Frame, ClaimsAreChecked) {
  EXPECT_TRUE(check_size({"BODY", 1000, 1000 + 15 + 1024}, 1000).ok());
  EXPECT_FALSE(check_size({"BODY", 1001, 10}, 1000).ok());
  EXPECT_EQ(check_size({"BODY", 1000, 1000 + 15 + 1025}, 1000).error().to_string(),
            "a frame of 1000 bytes (2040 stored); at most 1000 are read");
  std::string message;
  EXPECT_EQ(unpack({"BODY", 6, 14}, compress("hello"), message).error().to_string(),
            "expected 6 bytes after decompression, found 5");
  EXPECT_EQ(unpack({"BODY", 4, 14}, compress("hello"), message).error().to_string().substr(0, 19),
            "damaged zstd data (");
  EXPECT_FALSE(unpack({"BODY", 5, 3}, "abc", message).ok());
}

}  // namespace
}  // namespace kvplan::frame
