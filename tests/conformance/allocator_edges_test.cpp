// Edge cases of allocators, worked out by hand: two copies of a content, and pools that are just large enough.
#include <gtest/gtest.h>

#include <utility>

#include "simulator/memory/allocators.h"
#include "tests/support/ids.h"

namespace kvplan {
namespace {

using test::operator""_r;

using core::Allocator;

/// Two copies of the same contents are in the queue: lookups find the older one first, and the parts of the younger
/// copy on both sides of a hit stay at their places.
TEST(PagedCopies, HitInTheMiddleOfAYoungerCopy) {
  core::Workload workload;
  workload.arrival.assign(3, SimTime{});
  workload.input = {10, 4, 20};
  workload.output = {9, 9, 20};
  const Choice choice =
      parse_component("paged:block_tokens=1", "allocator", memory::allocator_descriptors()).value();
  for (const bool block_ids : {true, false}) {
    const memory::AllocatorRequest request{
        .workload = &workload, .pool = {.blocks = 31}, .block_ids = block_ids};
    const auto fast = memory::allocator_entry(choice).make(choice, request).value();
    const auto model = memory::allocator_entry(choice).make_model(choice, request).value();
    ASSERT_EQ(fast->layout().block_ids(), block_ids);
    const auto live = [&](RequestId r, std::int64_t goal, std::int64_t found, std::int64_t tokens) {
      for (Allocator* a : {fast.get(), model.get()}) {
        const core::PrefixHit hits = a->contents()->lookup(r, goal);
        EXPECT_EQ(hits.tokens, found);
        ASSERT_TRUE(a->admit(r, hits, tokens, goal));
        a->contents()->insert(r, tokens);
      }
    };
    const auto release = [&](RequestId r, std::int64_t written) {
      fast->release(r, written);
      model->release(r, written);
    };
    live(0_r, 10, 0, 3);  // the older copy of [0, 3)
    release(0_r, 3);
    live(0_r, 1, 0, 10);  // a request that computes one token hits nothing: a copy of [0, 10)
    release(0_r, 10);
    live(1_r, 4, 0, 4);
    release(1_r, 4);
    live(0_r, 8, 7, 8);  // [0, 3) of the older copy, [3, 7) of the younger one
    live(2_r, 20, 0, 1);
    for (std::int64_t tokens = 2; tokens <= 22; ++tokens) {  // takes the blocks of the queue one by one
      for (Allocator* a : {fast.get(), model.get()}) {
        ASSERT_TRUE(a->grow(2_r, tokens));
        a->contents()->insert(2_r, tokens);
      }
      ASSERT_EQ(fast->counts(), model->counts()) << tokens;
    }
  }
}

/// A request is refused at exactly the pool size that is too small for it.
TEST(PoolSizes, BoundariesFromBothSides) {
  core::Workload workload;
  workload.arrival = {SimTime{}};
  workload.input = {40};
  workload.output = {9};  // 48 tokens in the end: three blocks of 16
  const Choice paged =
      parse_component("paged:block_tokens=16", "allocator", memory::allocator_descriptors()).value();
  const auto fits = [&](std::int64_t blocks) {
    const memory::AllocatorRequest request{.workload = &workload, .pool = {.blocks = blocks}};
    return memory::allocator_entry(paged).make(paged, request).value()->fits_empty(0_r);
  };
  EXPECT_TRUE(fits(4));  // three and the null block
  EXPECT_FALSE(fits(3));
  // A pool too large for this program's own memory is refused at once.
  const memory::AllocatorRequest huge{.workload = &workload, .pool = {.blocks = 1'000'000'000}};
  EXPECT_FALSE(memory::allocator_entry(paged).make(paged, huge).ok());
  EXPECT_FALSE(memory::allocator_entry(paged).make_model(paged, huge).ok());
  const memory::AllocatorRequest none{.workload = &workload, .pool = {.blocks = 1}};
  EXPECT_FALSE(memory::allocator_entry(paged).make(paged, none).ok());
  const Choice power =
      parse_component("contiguous:reserve=pow2", "allocator", memory::allocator_descriptors()).value();
  const memory::AllocatorRequest blocks{.workload = &workload, .pool = {.blocks = 100}};
  EXPECT_FALSE(memory::allocator_entry(power).make(power, blocks).ok());
  for (const auto& [tokens, expected] : {std::pair{64, true}, std::pair{63, false}}) {
    const memory::AllocatorRequest request{.workload = &workload, .pool = {.tokens = tokens}};
    EXPECT_EQ(memory::allocator_entry(power).make(power, request).value()->fits_empty(0_r), expected);
  }
  // The prompt and the 16 tokens to which its output is rounded up, minus the last token.
  const Choice output =
      parse_component("contiguous:reserve=output-pow2", "allocator", memory::allocator_descriptors()).value();
  for (const auto& [tokens, expected] : {std::pair{55, true}, std::pair{54, false}}) {
    const memory::AllocatorRequest request{.workload = &workload, .pool = {.tokens = tokens}};
    EXPECT_EQ(memory::allocator_entry(output).make(output, request).value()->fits_empty(0_r), expected);
  }
}

}  // namespace
}  // namespace kvplan
