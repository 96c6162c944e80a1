// A packed column taken out of a message, compared with Protobuf, which reads the whole message.
#include "traces/io/packed_column.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

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

/// nullopt if the column is broken.
std::optional<std::vector<std::int64_t>> steps_of(std::string_view column) {
  std::vector<std::int64_t> steps;
  if (!kvt::each_sint64(column, [&](std::int64_t step) { steps.push_back(step); })) return std::nullopt;
  return steps;
}

TEST(PackedColumn, IsWhatProtobufReads) {
  Random random(1, "packed");
  for (int i = 0; i < 2000; ++i) {
    v1::TraceChunk chunk = random_chunk(random, 300);
    const std::string message = chunk.SerializeAsString();
    kvt::Column columns[]{{kIds}, {v1::TraceChunk::kTtftNsFieldNumber}};
    std::string rest;
    ASSERT_TRUE(kvt::take_columns(message, columns, rest));
    EXPECT_EQ(columns[0].taken, chunk.hash_id_step_size() > 0);
    EXPECT_EQ(kvt::count_varints(columns[0].varints), static_cast<std::size_t>(chunk.hash_id_step_size()));
    EXPECT_EQ(steps_of(columns[0].varints),
              std::vector<std::int64_t>(chunk.hash_id_step().begin(), chunk.hash_id_step().end()));
    EXPECT_EQ(steps_of(columns[1].varints),
              std::vector<std::int64_t>(chunk.ttft_ns().begin(), chunk.ttft_ns().end()));
    chunk.clear_hash_id_step();
    chunk.clear_ttft_ns();
    EXPECT_EQ(rest, chunk.SerializeAsString());
  }
}

/// Numbers of all sizes next to each other, at every position within the eight bytes that are read together; cut off
/// anywhere.
TEST(PackedColumn, NumbersOfAllSizesAsReadOneByOne) {
  Random random(5, "packed");
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint64_t> numbers(random.below(30));
    std::string column;
    const int least = static_cast<int>(random.below(64));
    for (std::uint64_t& number : numbers) {
      number = random.below(UINT64_MAX) >> random.between(least, 63);
      for (std::uint64_t left = number;; left >>= 7) {
        column += static_cast<char>(left < 0x80 ? left : left | 0x80);
        if (left < 0x80) break;
      }
    }
    std::vector<std::uint64_t> found;
    const auto take = [&](std::uint64_t number) { found.push_back(number); };
    ASSERT_TRUE(kvt::each_varint(column, take));
    ASSERT_EQ(found, numbers);
    if (column.empty()) continue;
    const std::string_view cut = std::string_view(column).substr(0, random.below(column.size()));
    found.clear();
    const bool between = cut.empty() || static_cast<unsigned char>(cut.back()) < 0x80;
    ASSERT_EQ(kvt::each_varint(cut, take), between);
    ASSERT_EQ(found.size(), kvt::count_varints(cut));
    numbers.resize(found.size());
    ASSERT_EQ(found, numbers);
  }
}

/// Runs of ones of all lengths, at all positions, between steps of all sizes; right ids and wrong ones.
TEST(PackedColumn, IdsAreTheRunningSumOfTheirSteps) {
  Random random(3, "packed");
  int dense = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t known = random.below(40);
    const bool may_be_wrong = random.chance(1, 4);
    v1::TraceChunk chunk;
    std::vector<std::uint32_t> expected;
    std::uint64_t distinct = known;
    std::uint64_t id = 0;
    bool right = true;
    for (std::uint64_t runs = random.below(6); runs > 0; --runs) {
      std::uint64_t next = may_be_wrong ? random.below(distinct + 3) : random.below(distinct + 1);
      for (std::uint64_t length = random.below(30) + 1; length > 0; --length, ++next) {
        right = right && next <= distinct;
        distinct = std::max(distinct, next + 1);
        chunk.add_hash_id_step(static_cast<std::int64_t>(next - id));
        id = next;
        expected.push_back(static_cast<std::uint32_t>(id));
      }
    }
    const std::string message = chunk.SerializeAsString();
    kvt::Column column{kIds};
    std::string rest;
    ASSERT_TRUE(kvt::take_columns(message, {&column, 1}, rest));
    std::vector<std::uint32_t> ids(expected.size());
    const kvt::DecodedIds found = kvt::decode_ids(column.varints, known, ids.data(), ids.size());
    ASSERT_TRUE(found.whole);
    ASSERT_EQ(found.count, expected.size());
    ASSERT_EQ(ids, expected);
    ASSERT_EQ(found.dense, right);
    if (!right) continue;
    ASSERT_EQ(found.distinct, distinct);
    ++dense;
    if (expected.empty()) continue;
    // Room for one number fewer, and a column without its last byte.
    std::vector<std::uint32_t> fewer(ids.size() - 1);
    EXPECT_FALSE(kvt::decode_ids(column.varints, known, fewer.data(), fewer.size()).whole);
    const kvt::DecodedIds cut =
        kvt::decode_ids(column.varints.substr(0, column.varints.size() - 1), known, ids.data(), ids.size());
    EXPECT_LT(cut.count, expected.size());
  }
  EXPECT_GT(dense, 10'000);
}

TEST(PackedColumn, WhatIsNoMessageIsRefused) {
  v1::TraceChunk chunk;
  chunk.add_arrival_step_ns(5);
  for (const int step : {0, 1, 300}) chunk.add_hash_id_step(step);
  const std::string good = chunk.SerializeAsString();
  kvt::Column column{kIds};
  std::string rest;
  const auto refused = [&](const std::string& message) {
    column = {kIds};
    return !kvt::take_columns(message, {&column, 1}, rest);
  };
  EXPECT_FALSE(refused(good));
  EXPECT_TRUE(column.taken);
  // Cut off anywhere except between two fields.
  int fields = 0;
  for (std::size_t size = 0; size < good.size(); ++size) fields += refused(good.substr(0, size)) ? 0 : 1;
  EXPECT_EQ(fields, 2);                                    // nothing, and the first field
  EXPECT_TRUE(refused(std::string("\x0B")));               // a group
  EXPECT_TRUE(refused("\x2A" + std::string(12, '\xFF')));  // a size without an end
  EXPECT_FALSE(refused(std::string("\x2A\x00\x80\x01\x05", 5)));
  EXPECT_TRUE(column.taken);
  // In several parts, or as single numbers: Protobuf reads all of it.
  for (const std::string& message :
       {good + good, std::string("\x28\x02"), good + "\x28\x02", "\x28\x02" + good, good + good + good}) {
    EXPECT_FALSE(refused(message));
    EXPECT_FALSE(column.taken);
    EXPECT_EQ(column.varints, "");
    EXPECT_EQ(rest, message);
  }

  const auto whole = [](std::string_view bytes) { return kvt::each_sint64(bytes, [](std::int64_t) {}); };
  EXPECT_TRUE(whole(std::string(9, '\xFF') + "\x01"));
  EXPECT_FALSE(whole(std::string(10, '\xFF') + "\x01"));
  EXPECT_FALSE(whole("\x01\x80"));
}

/// Hostile bytes: Protobuf may accept more (a column in several parts), but never less.
TEST(PackedColumn, TakesNothingThatProtobufRefuses) {
  Random random(2, "packed");
  int taken = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = random_chunk(random, 20).SerializeAsString();
    for (std::uint64_t n = random.below(3); n > 0 && !bytes.empty(); --n)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    kvt::Column column{kIds};
    std::string rest;
    if (!kvt::take_columns(bytes, {&column, 1}, rest)) continue;
    v1::TraceChunk whole, without;
    const std::optional<std::vector<std::int64_t>> found = steps_of(column.varints);
    const bool good = found && without.ParseFromString(rest);
    ASSERT_EQ(whole.ParseFromString(bytes), good);
    if (!good || !column.taken) continue;
    EXPECT_EQ(*found, std::vector<std::int64_t>(whole.hash_id_step().begin(), whole.hash_id_step().end()));
    whole.clear_hash_id_step();
    EXPECT_EQ(whole.SerializeAsString(), without.SerializeAsString());
    ++taken;
  }
  EXPECT_GT(taken, 5'000);
}

}  // namespace
}  // namespace kvplan::traces
