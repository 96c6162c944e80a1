// A packed column taken out of a message beside Protobuf, which reads the whole.
#include "traces/io/packed_column.h"

#include <gtest/gtest.h>

#include "proto/trace.pb.h"
#include "simulator/base/random.h"

namespace kvplan::traces {
namespace {

constexpr std::uint32_t kIds = v1::TraceChunk::kHashIdStepFieldNumber;

std::int64_t any_number(Random& random) {
  const auto value = static_cast<std::int64_t>(random.below(UINT64_MAX) >> random.below(64));
  return random.chance(1, 2) ? value : -value;
}

v1::TraceChunk random_chunk(Random& random, std::uint64_t most_ids) {
  v1::TraceChunk chunk;
  for (std::uint64_t n = random.below(4); n > 0; --n) {
    chunk.add_arrival_step_ns(any_number(random));
    chunk.add_ttft_ns(any_number(random));
  }
  for (std::uint64_t n = random.below(most_ids); n > 0; --n)
    chunk.add_hash_id_step(random.chance(3, 4) ? 1 : any_number(random));
  if (random.chance(1, 2)) chunk.set_new_session_text("text with \x2A in it");
  return chunk;
}

TEST(PackedColumn, IsWhatProtobufReads) {
  Random random(1, "packed");
  for (int i = 0; i < 2000; ++i) {
    v1::TraceChunk chunk = random_chunk(random, 300);
    std::string message = chunk.SerializeAsString();
    std::string column;
    ASSERT_TRUE(kvt::take_column(message, kIds, column));
    EXPECT_EQ(kvt::count_varints(column), static_cast<std::size_t>(chunk.hash_id_step_size()));
    std::vector<std::int64_t> found;
    EXPECT_TRUE(kvt::each_sint64(column, [&](std::int64_t step) { found.push_back(step); }));
    EXPECT_EQ(found, std::vector<std::int64_t>(chunk.hash_id_step().begin(), chunk.hash_id_step().end()));
    chunk.clear_hash_id_step();
    EXPECT_EQ(message, chunk.SerializeAsString());
  }
}

TEST(PackedColumn, WhatIsNoMessageIsRefused) {
  v1::TraceChunk chunk;
  chunk.add_arrival_step_ns(5);
  for (const int step : {0, 1, 300}) chunk.add_hash_id_step(step);
  const std::string good = chunk.SerializeAsString();
  std::string column;
  const auto refused = [&](std::string message) { return !kvt::take_column(message, kIds, column); };
  EXPECT_FALSE(refused(good));
  // Cut anywhere but between two fields.
  int fields = 0;
  for (std::size_t size = 0; size < good.size(); ++size) fields += refused(good.substr(0, size)) ? 0 : 1;
  EXPECT_EQ(fields, 2);                                    // nothing, and the first field
  EXPECT_TRUE(refused(good + good));                       // twice
  EXPECT_TRUE(refused(std::string("\x28\x02")));           // not packed
  EXPECT_TRUE(refused(std::string("\x0B")));               // a group
  EXPECT_TRUE(refused("\x2A" + std::string(12, '\xFF')));  // a size without an end
  EXPECT_FALSE(refused(std::string("\x2A\x00\x80\x01\x05", 5)));

  const auto whole = [](std::string_view bytes) { return kvt::each_sint64(bytes, [](std::int64_t) {}); };
  EXPECT_TRUE(whole(std::string(9, '\xFF') + "\x01"));
  EXPECT_FALSE(whole(std::string(10, '\xFF') + "\x01"));
  EXPECT_FALSE(whole("\x01\x80"));
}

/// Hostile bytes: Protobuf may be more patient (a column in several parts), never less.
TEST(PackedColumn, TakesNothingThatProtobufRefuses) {
  Random random(2, "packed");
  int taken = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = random_chunk(random, 20).SerializeAsString();
    for (std::uint64_t n = random.below(3); n > 0 && !bytes.empty(); --n)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    std::string rest = bytes;
    std::string column;
    if (!kvt::take_column(rest, kIds, column)) continue;
    v1::TraceChunk whole, without;
    std::vector<std::int64_t> found;
    const bool packed = kvt::each_sint64(column, [&](std::int64_t step) { found.push_back(step); });
    const bool good = packed && without.ParseFromString(rest);
    ASSERT_EQ(whole.ParseFromString(bytes), good);
    if (!good) continue;
    EXPECT_EQ(found, std::vector<std::int64_t>(whole.hash_id_step().begin(), whole.hash_id_step().end()));
    whole.clear_hash_id_step();
    EXPECT_EQ(whole.SerializeAsString(), without.SerializeAsString());
    ++taken;
  }
  EXPECT_GT(taken, 5'000);
}

}  // namespace
}  // namespace kvplan::traces
