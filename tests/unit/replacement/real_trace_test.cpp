// A recorded trace: general properties, and known results of web-cache policies on it.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

#include "simulator/replacement/flow_bound.h"
#include "simulator/replacement/lru_curve.h"
#include "simulator/replacement/replacements.h"
#include "tests/unit/replacement/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::replacement {
namespace {

using testing::hits_of;

/// The conversation trace of Mooncake (FAST 2025), 288,500 references to 182,790 blocks of 512 tokens.
class Conversation : public ::testing::Test {
 protected:
  void SetUp() override {
    KVPLAN_NEED_SHARED();
    auto read =
        traces::open_trace(traces::testing::shared_traces() + "/mooncake_fast25_conversation.jsonl.zst");
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    trace_ = std::move(read).value();
    ASSERT_EQ(trace_.prefix.ids.size(), 288'500U);
    ASSERT_EQ(trace_.prefix.distinct, 182'790);
  }
  [[nodiscard]] std::int64_t object(const char* name, std::int64_t capacity) const {
    return hits_of(name, trace_, capacity).object;
  }
  traces::Trace trace_;
};

// Counts of another program: libCacheSim 0.3.5 (its Python package, simulator/bench/libcachesim_peer.py).
TEST_F(Conversation, CountsAreThoseOfLibCacheSim) {
  struct Counts {
    const char* replacement;
    std::int64_t hits[3];  // at 100, 1,828 and 18,279 blocks
  };
  for (const auto& [name, hits] :
       std::initializer_list<Counts>{{"lru", {11645, 15080, 80323}},
                                     {"fifo", {9918, 14565, 73806}},
                                     {"sieve", {12031, 16789, 56207}},
                                     {"s3fifo:fill_main=true", {12073, 19476, 64853}},
                                     {"arc", {12031, 18627, 82006}},
                                     {"lfu", {12031, 16789, 56207}},
                                     {"clock", {11838, 15209, 81604}},
                                     {"belady", {20215, 71078, 105710}}}) {
    EXPECT_EQ(object(name, 100), hits[0]) << name;
    EXPECT_EQ(object(name, 1'828), hits[1]) << name;
    EXPECT_EQ(object(name, 18'279), hits[2]) << name;
  }
}

// One in a hundred of the distinct blocks, and one in ten: the order of the policies is reversed.
TEST_F(Conversation, WhatWinsInASmallCacheLosesInALargeOne) {
  for (const char* name : {"sieve", "lfu", "s3fifo"}) {
    EXPECT_GT(object(name, 1'828), object("lru", 1'828)) << name;
    EXPECT_LT(object(name, 18'279), object("lru", 18'279)) << name;
  }
}

// Blocks that are hits although a block before them in the prompt is not: none for policies with an order that keeps
// parents longer.
TEST_F(Conversation, OrphansDependOnThePolicy) {
  const auto orphans = [&](const char* name, std::int64_t capacity) {
    const Hits hits = hits_of(name, trace_, capacity);
    return static_cast<double>(hits.object - hits.prefix) / static_cast<double>(hits.object);
  };
  for (const std::int64_t capacity : {1'828, 18'279})
    for (const char* name : {"lru", "lfu", "sieve"}) EXPECT_EQ(orphans(name, capacity), 0) << name;
  EXPECT_NEAR(orphans("fifo", 18'279), 0.03, 0.005);
  EXPECT_GT(orphans("s3fifo", 18'279), 0);
  EXPECT_GT(orphans("arc", 1'828), 0);
}

TEST_F(Conversation, CurveAndSampleAgreeWithSingleSizes) {
  const auto refs = references_of(trace_);
  const auto curve = lru_curve(refs.value(), nullptr);
  const auto sampled = sampled_lru_curve(refs.value(), {1, 10}, 0, nullptr);
  ASSERT_TRUE(curve.ok() && sampled.ok());
  for (const std::int64_t capacity : {100, 1'828, 18'279, 50'000, 200'000}) {
    EXPECT_EQ(curve.value().at(capacity), hits_of("lru", trace_, capacity));
    const auto [rate, error] = sampled.value().at(capacity);
    const double exact = static_cast<double>(curve.value().at(capacity).object) / 288'500;
    EXPECT_LE(std::abs(rate - exact), 3 * error + 1e-9) << capacity << " blocks";
  }
}

TEST_F(Conversation, NoPolicyBeatsTheBound) {
  const auto refs = references_of(trace_);
  for (const std::int64_t capacity : {1'828, 18'279}) {
    const auto bound = flow_bound(refs.value(), capacity, nullptr);
    ASSERT_TRUE(bound.ok());
    EXPECT_LE(object("belady", capacity), bound.value().hits);
    for (const char* name : {"lru", "sieve", "s3fifo", "arc", "lirs", "gdsf"})
      EXPECT_LT(object(name, capacity), object("belady", capacity)) << name;
  }
}

}  // namespace
}  // namespace kvplan::replacement
