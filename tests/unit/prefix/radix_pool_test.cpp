// The pool over the radix tree: freed pages, worked out by hand.
#include "simulator/prefix/radix_pool.h"

#include <gtest/gtest.h>

namespace kvplan {
namespace {

using prefix::Holding;
using prefix::RadixPool;
using prefix::TokenSequence;

TokenSequence tokens_from(prefix::Token first, std::int64_t length) {
  TokenSequence out;
  out.append({first, length});
  return out;
}

TEST(RadixPool, ARequestLeavesWholePagesBehind) {
  RadixPool pool(4, 43, true);
  EXPECT_EQ(pool.capacity_tokens(), 40);
  const TokenSequence tokens = tokens_from(100, 14);
  Holding held = pool.match(tokens, 9);
  EXPECT_EQ(held.settled_tokens, 0);
  pool.lock(held);
  pool.extend(0, 10);  // three pages
  EXPECT_EQ(pool.available_tokens(), 28);
  pool.settle(held, tokens, 10);
  EXPECT_EQ(held.settled_tokens, 10);  // its third page is settled, although it is not in the tree
  EXPECT_EQ(pool.protected_tokens(), 8);
  pool.extend(10, 11);
  pool.extend(11, 12);
  EXPECT_EQ(pool.available_tokens(), 28);
  pool.extend(12, 13);
  EXPECT_EQ(pool.available_tokens(), 24);
  pool.finish(held, tokens, 13);
  EXPECT_EQ(pool.evictable_tokens(), 12);
  EXPECT_EQ(pool.available_tokens(), 28);
  EXPECT_EQ(pool.protected_tokens(), 0);
  EXPECT_EQ(held.settled_tokens, 0);
}

TEST(RadixPool, CopiesOfWhatIsThereComeBack) {
  RadixPool pool(4, 64, true);
  const TokenSequence tokens = tokens_from(7, 20);
  Holding first = pool.match(tokens, 8), second = pool.match(tokens, 8);
  pool.extend(0, 12);
  pool.extend(0, 12);
  pool.settle(first, tokens, 12);
  EXPECT_EQ(pool.available_tokens(), 40);
  pool.settle(second, tokens, 12);
  EXPECT_EQ(pool.available_tokens(), 52);
  // Retracted: its tokens in the tree stay, later pages are freed.
  pool.extend(12, 14);
  EXPECT_EQ(pool.available_tokens(), 48);
  pool.drop(second, 14);
  EXPECT_EQ(pool.available_tokens(), 52);
  EXPECT_EQ(pool.protected_tokens(), 12);
  pool.finish(first, tokens, 12);
  EXPECT_EQ(pool.evictable_tokens(), 12);
}

TEST(RadixPool, RoomIsMadeForAllThatIsAskedNotForWhatIsLacking) {
  RadixPool pool(1, 20, true);
  for (const prefix::Token first : {100U, 200U, 300U}) {
    const TokenSequence tokens = tokens_from(first, 6);
    Holding held = pool.match(tokens, 5);
    pool.extend(0, 6);
    pool.finish(held, tokens, 6);
  }
  EXPECT_EQ(pool.available_tokens(), 2);
  pool.make_room(2);
  EXPECT_EQ(pool.evictions().calls, 0);
  pool.make_room(7);  // five are missing, seven are requested: evicts two leaves with six
  EXPECT_EQ(pool.available_tokens(), 14);
  EXPECT_EQ(pool.evictions().calls, 1);
  EXPECT_EQ(pool.evictions().tokens, 12);
  EXPECT_EQ(pool.evictions().nodes, 2);
}

TEST(RadixPool, WithoutPrefixCacheNothingIsFoundOrEvicted) {
  RadixPool pool(4, 40, false);
  const TokenSequence tokens = tokens_from(0, 30);
  Holding held = pool.match(tokens, 9);
  pool.lock(held);
  pool.extend(0, 6);
  pool.settle(held, tokens, 6);
  EXPECT_EQ(pool.protected_tokens(), 6);
  pool.extend(6, 10);
  pool.settle(held, tokens, 10);
  EXPECT_EQ(pool.protected_tokens(), 10);
  EXPECT_EQ(pool.available_tokens(), 28);
  EXPECT_EQ(pool.match(tokens, 9).settled_tokens, 0);
  pool.make_room(40);
  EXPECT_EQ(pool.available_tokens(), 28);
  EXPECT_EQ(pool.evictions().calls, 0);
  pool.drop(held, 10);
  EXPECT_EQ(pool.available_tokens(), 40);
  EXPECT_EQ(pool.protected_tokens(), 0);
}

}  // namespace
}  // namespace kvplan
