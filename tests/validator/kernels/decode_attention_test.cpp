// Decode attention on the host compared with its reference; errors that must be noticed; how work is divided.
#include "validator/kernels/decode_attention.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "validator/kernels/decode_plan.h"
#include "validator/kernels/measure.h"
#include "validator/kernels/memory_of_case.h"

namespace kvplan::validator {
namespace {

TEST(DecodeAttention, HostIsWithinTolerance) {
  const auto machine = make_host_machine(2);
  const auto cases = decode_attention_cases(CaseSet::kCheck, machine->facts());
  ASSERT_GT(cases.size(), 50U);
  for (const Case& of : cases) {
    const auto checked = check_case(*machine, of);
    ASSERT_TRUE(checked.ok()) << describe(of) << ": " << checked.error().to_string();
    EXPECT_TRUE(checked.value().comparison.good)
        << describe(of) << ": " << checked.value().comparison.first_problem;
    EXPECT_GT(checked.value().comparison.worst_cosine, 0.999) << describe(of);
  }
}

TEST(DecodeAttention, ResultsDoNotDependOnThreads) {
  Case of{.query_heads = 16, .kv_heads = 4};
  of.lengths = {700, 33, 0};
  std::vector<std::vector<std::byte>> found;
  const auto facts = make_host_machine(2)->facts();  // the same plan for all
  for (const int threads : {1, 2, 5}) {
    const auto machine = make_host_machine(threads);
    const auto problem = make_decode_attention(of, Purpose::kCheck, facts);
    auto memory = MemoryOfCase::take(*machine, *problem.value(), 1);
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(machine->run(problem.value()->launches(memory.value().addresses(0))).ok());
    const auto results = memory.value().results();
    ASSERT_TRUE(results.ok());
    if (found.empty()) found = results.value();
    EXPECT_EQ(found, results.value()) << threads;
  }
}

/// A change of a stored byte that is read must be noticed by the comparison; a change of any other must have no effect.
TEST(DecodeAttention, WhatIsReadCountsAndNothingElse) {
  Case of{.stored = Stored::kFp16, .query_heads = 4, .kv_heads = 2};
  of.lengths = {40, 3};
  of.window = 8;
  of.sinks = 2;
  const auto machine = make_host_machine(1);
  const auto problem = make_decode_attention(of, Purpose::kCheck, machine->facts());
  ASSERT_TRUE(problem.ok());
  const auto cache = make_decode_cache(of, Purpose::kCheck);
  const auto good_with = [&](std::int64_t place, float value) {
    auto memory = MemoryOfCase::take(*machine, *problem.value(), 1);
    const auto at = memory.value().addresses(0);
    const DecodeReader& reader = cache.value().readers[1];
    const std::uint16_t bits = fp16_bits(value);
    char* const row = static_cast<char*>(at[2]) + cache.value().row_of(reader, place) * of.head_size * 2;
    std::memcpy(row + 10, &bits, 2);
    EXPECT_TRUE(machine->run(problem.value()->launches(at)).ok());
    return problem.value()->compare(memory.value().results().value()).good;
  };
  EXPECT_FALSE(good_with(39, 9.0F));
  EXPECT_FALSE(good_with(1, 9.0F));
  EXPECT_FALSE(good_with(32, 9.0F));
  EXPECT_TRUE(good_with(31, 9.0F));
  EXPECT_TRUE(good_with(2, 9.0F));
}

TEST(DecodeAttention, RefusesShapesWithTheField) {
  const auto machine = make_host_machine(1);
  const auto field_of = [&](auto change) {
    Case of;
    of.lengths = {10};
    change(of);
    const auto checked = check_case(*machine, of);
    return checked.ok() ? std::string() : checked.error().field;
  };
  EXPECT_EQ(field_of([](Case& c) { c.lengths.clear(); }), "lengths");
  EXPECT_EQ(field_of([](Case& c) { c.kv_heads = 7; }), "query_heads");
  EXPECT_EQ(field_of([](Case& c) { c.head_size = 96; }), "head_size");
  EXPECT_EQ(field_of([](Case& c) { c.page_tokens = 24; }), "page_tokens");
  EXPECT_EQ(field_of([](Case& c) { c.rule = 12345; }), "rule");
  EXPECT_EQ(field_of([](Case& c) { c.kernel = "decode"; }), "kernel");
  EXPECT_EQ(field_of([](Case&) {}), "");
}

/// Every token of every reader is in exactly one piece for each query head.
TEST(DecodePlan, CoversEverythingOnce) {
  std::vector<DecodeReader> readers;
  for (const std::int32_t tokens : {0, 1, 16, 17, 1000, 5000, 40})
    readers.push_back(
        {.sequence = static_cast<std::int32_t>(readers.size()), .kv_head = 0, .tokens = tokens});
  for (const std::int32_t group : {1, 4, 16, 40}) {
    for (const std::int32_t rule : {0, 1, 3, 99, 102}) {
      const DecodePlan plan = plan_decode(readers, group, 24, rule);
      std::vector<std::int64_t> covered(readers.size());
      std::vector<int> rows(static_cast<std::size_t>(plan.rows));
      for (const DecodePiece& piece : plan.pieces) {
        ASSERT_LE(piece.begin, piece.end);
        ASSERT_TRUE(piece.heads >= 1 && piece.heads <= kHeadsOfPiece);
        covered[static_cast<std::size_t>(piece.reader)] +=
            std::int64_t{piece.end - piece.begin} * piece.heads;
        for (int i = 0; i < piece.heads && piece.row >= 0; ++i)
          ++rows[static_cast<std::size_t>(piece.row + i)];
      }
      for (std::size_t r = 0; r < readers.size(); ++r)
        EXPECT_EQ(covered[r], std::int64_t{readers[r].tokens} * group);
      EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), 0), plan.rows);
      for (const int times : rows) EXPECT_EQ(times, 1);
      EXPECT_TRUE(rule != 99 || plan.splits == 1);
    }
  }
}

TEST(DecodePlan, FillsTheMachineEvenly) {
  std::vector<DecodeReader> readers(320);
  for (DecodeReader& reader : readers) reader.tokens = 16384;
  const DecodePlan plan = plan_decode(readers, 4, 264, 0);
  const double used = 320.0 * 16384 / (264.0 * plan.waves * plan.chunk);
  EXPECT_GT(used, 0.9) << plan.waves << " waves of " << plan.chunk;  // without splits: 0.61
}

TEST(OrderStatistics, IntervalOfTheMedian) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const OrderStatistics s = order_statistics(values);
  EXPECT_EQ(s.samples, 100);
  EXPECT_EQ(s.median, 50.5);
  EXPECT_EQ(s.p10, 10);
  EXPECT_EQ(s.p90, 90);
  EXPECT_EQ(s.low, 40);   // 50 - 9.8, rounded down
  EXPECT_EQ(s.high, 61);  // 50 + 9.8, rounded up, plus one
  const OrderStatistics one = order_statistics({3});
  EXPECT_EQ(one.low, 3);
  EXPECT_EQ(one.high, 3);
}

TEST(Timing, AsManyCopiesAsMakeItCold) {
  const auto machine = make_host_machine(2);
  Case of{.query_heads = 8, .kv_heads = 2};
  of.lengths = {64, 64};
  const Sampling few{.warm_ups = 1, .least = 3, .most = 3};
  const auto warm = time_case(*machine, of, false, few);
  ASSERT_TRUE(warm.ok()) << warm.error().to_string();
  EXPECT_EQ(warm.value().samples.size(), 3U);
  EXPECT_GT(warm.value().ns.median, 0);
  const auto cold = time_case(*machine, of, true, few);
  ASSERT_TRUE(cold.ok());
  EXPECT_GT(cold.value().copies, 10);
  const double kv = 2.0 * 128 * 2 * 128 * 2;  // keys and values, elements, bytes, tokens, KV heads
  EXPECT_GT(cold.value().roofline.bytes, kv);
  EXPECT_LT(cold.value().roofline.bytes, kv * 1.2);
  EXPECT_EQ(cold.value().roofline.flops, 4.0 * 4 * 128 * 128 * 2);
}

}  // namespace
}  // namespace kvplan::validator
