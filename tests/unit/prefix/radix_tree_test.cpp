// The radix tree compared with its naive model: the same random operations on both; all data compared after each one.
#include "simulator/prefix/radix_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "simulator/base/random.h"
#include "simulator/scheduling/sglang/naive_tree.h"
#include "tests/support/random_cases.h"

namespace kvplan {
namespace {

using prefix::kRoot;
using prefix::NodeId;
using prefix::RadixTree;
using prefix::TokenSequence;
using scheduling::sglang::NaivePageId;
using scheduling::sglang::NaivePages;
using scheduling::sglang::NaiveTokens;
using scheduling::sglang::NaiveTree;
using Tokens = std::vector<prefix::Token>;

TokenSequence sequence_of(const Tokens& tokens) {
  TokenSequence out;
  for (const auto token : tokens) out.append({token, 1});
  return out;
}

Tokens tokens_of(const TokenSequence& sequence) {
  Tokens out;
  for (const auto& run : sequence.runs())
    for (std::int64_t i = 0; i < run.length; ++i) out.push_back(run.first + static_cast<std::uint64_t>(i));
  return out;
}

NaivePages pages_of(const Tokens& tokens, std::int64_t page) {
  return {std::ssize(tokens) / page, [&tokens, page](std::int64_t index) {
            NaiveTokens out;
            for (std::int64_t i = index * page; i < (index + 1) * page; ++i)
              out.push_back({tokens[static_cast<std::size_t>(i)], 0});
            return out;
          }};
}

/// Tokens from the root to a node's end -> length of its own run, locks, access time.
using Shape = std::map<Tokens, std::tuple<std::size_t, std::int64_t, std::uint64_t>>;

/// Access times are compared by their order only, since the naive tree reads its clock less often.
Shape ranked(Shape shape) {
  std::map<std::uint64_t, std::uint64_t> ranks;
  for (const auto& [path, node] : shape) ranks[std::get<2>(node)] = 0;
  std::uint64_t rank = 0;
  for (auto& [time, place] : ranks) place = rank++;
  for (auto& [path, node] : shape) std::get<2>(node) = ranks.at(std::get<2>(node));
  return shape;
}

Shape shape_of(const RadixTree& tree) {
  std::map<NodeId, RadixTree::NodeView> by_id;
  for (const auto& node : tree.nodes()) by_id.emplace(node.id, node);
  Shape shape;
  for (const auto& [id, node] : by_id) {
    Tokens path;
    for (NodeId up = id; up != kRoot; up = by_id.at(up).parent) {
      const Tokens key = tokens_of(*by_id.at(up).key);
      path.insert(path.begin(), key.begin(), key.end());
    }
    shape[path] = {static_cast<std::size_t>(node.key->size()), node.locks, node.last_access};
  }
  return ranked(shape);
}

Shape shape_of(const NaiveTree& tree) {
  Shape shape;
  for (const NaiveTree::Node* node : tree.nodes()) {
    Tokens path, own;
    for (const NaiveTree::Node* up = node; up != nullptr; up = up->parent) {
      Tokens key;
      for (const NaiveTree::Page& page : up->pages)
        for (const auto& token : page.tokens) key.push_back(token.name);
      if (up == node) own = key;
      path.insert(path.begin(), key.begin(), key.end());
    }
    shape[path] = {own.size(), node->locks, static_cast<std::uint64_t>(node->last_access)};
  }
  return ranked(shape);
}

/// Continues an earlier sequence from some token on, mostly with consecutive numbers. There are so few numbers that
/// equal pages, and different pages with equal beginnings, are both common.
Tokens draw_tokens(Random& random, const std::vector<Tokens>& earlier) {
  Tokens tokens;
  if (!earlier.empty() && random.chance(4, 5)) {
    tokens = earlier[random.below(earlier.size())];
    if (random.chance(2, 3)) tokens.resize(random.below(tokens.size() + 1));
  }
  for (std::int64_t more = random.between(0, 12); more > 0; --more)
    tokens.push_back(!tokens.empty() && random.chance(3, 4) ? tokens.back() + 1 : random.below(5));
  return tokens;
}

class BothTrees {
 public:
  explicit BothTrees(std::int64_t page) : page_(page), fast(page) { fast.tell_evicted(&told_); }

  void match(const Tokens& tokens, bool lock) {
    const std::int64_t peeked = fast.peek(sequence_of(tokens), static_cast<std::int64_t>(tokens.size()));
    const auto found = fast.match(sequence_of(tokens), static_cast<std::int64_t>(tokens.size()));
    ASSERT_EQ(peeked, found.tokens);
    const auto pages = pages_of(tokens, page_);
    ASSERT_EQ(peeked, naive.peek(pages) * page_);
    const auto expected = naive.match(pages);
    ASSERT_EQ(found.tokens, std::ssize(expected.pages) * page_);
    ASSERT_EQ(found.node == kRoot, expected.node == naive.root());
    if (!lock) return;
    fast.lock(found.node);
    naive.lock(expected.node);
    locked_.emplace_back(found.node, expected.node);
  }
  void insert(const Tokens& tokens) {
    const auto pages = pages_of(tokens, page_);
    ASSERT_EQ(
        fast.insert(sequence_of(tokens), std::ssize(pages) * page_),
        naive.insert(pages, std::vector<NaivePageId>(static_cast<std::size_t>(pages.size()), 0)) * page_);
  }
  void evict(std::int64_t tokens) {
    told_.clear();
    const auto gone = fast.evict(tokens);
    const auto leaves = naive.evict(tokens);
    ASSERT_EQ(gone.nodes, std::ssize(leaves));
    ASSERT_EQ(told_.size(), leaves.size());
    std::int64_t pages = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      pages += std::ssize(leaves[i]);
      ASSERT_EQ(told_[i].count, std::ssize(leaves[i]));
      for (std::size_t k = 0; k < leaves[i].size(); ++k)
        ASSERT_EQ(told_[i].first + static_cast<std::int64_t>(k), leaves[i][k].number);
    }
    ASSERT_EQ(gone.tokens, pages * page_);
  }
  void unlock(std::size_t which) {
    fast.unlock(locked_[which].first);
    naive.unlock(locked_[which].second);
    locked_.erase(locked_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  [[nodiscard]] std::size_t locked() const { return locked_.size(); }
  void compare() {
    ASSERT_EQ(fast.violation(), "");
    std::int64_t evictable = 0, guarded = 0;
    for (const NaiveTree::Node* node : naive.nodes())
      (node->locks == 0 ? evictable : guarded) += std::ssize(node->pages) * page_;
    ASSERT_EQ(fast.evictable_tokens(), evictable);
    ASSERT_EQ(fast.protected_tokens(), guarded);
    ASSERT_EQ(shape_of(fast), shape_of(naive));
  }

 private:
  std::int64_t page_;

 public:
  RadixTree fast;
  NaiveTree naive;

 private:
  std::vector<std::pair<NodeId, NaiveTree::Node*>> locked_;
  std::vector<RadixTree::Pages> told_;  // pages of the latest eviction
};

TEST(RadixTree, EqualsTheNaiveOneAfterEveryOperation) {
  const std::int64_t cases = test::random_cases(120, 30);
  std::int64_t evicted = 0, refused = 0, splits = 0;
  for (std::int64_t seed = 0; seed < cases; ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "radix tree");
    BothTrees trees(random.between(1, random.chance(1, 2) ? 1 : 5));
    std::vector<Tokens> earlier;
    const std::uint64_t locks = random.below(3), evictions = random.below(4);  // how common, none too
    for (int step = 0; step < 120; ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      const Tokens tokens = draw_tokens(random, earlier);
      const std::size_t nodes = trees.fast.nodes().size();
      if (random.chance(evictions, 8)) {
        const std::int64_t wanted = random.between(0, 20);
        const std::int64_t before = trees.fast.evictable_tokens() + trees.fast.protected_tokens();
        trees.evict(wanted);
        evicted += before - trees.fast.evictable_tokens() - trees.fast.protected_tokens();
        refused += trees.fast.protected_tokens() > 0 && trees.fast.evictable_tokens() == 0 ? 1 : 0;
      } else if (random.chance(locks, 4) && trees.locked() > 0) {
        trees.unlock(random.below(trees.locked()));
      } else if (random.chance(1, 2)) {
        trees.match(tokens, random.chance(locks, 3));
        splits += trees.fast.nodes().size() > nodes ? 1 : 0;
      } else {
        trees.insert(tokens);
        earlier.push_back(tokens);
      }
      if (HasFatalFailure()) return;
      ASSERT_NO_FATAL_FAILURE(trees.compare());
    }
    while (trees.locked() > 0) trees.unlock(0);
    trees.evict(INT64_MAX);
    ASSERT_EQ(trees.fast.nodes().size(), 0U);
  }
  for (const std::int64_t seen : {evicted, refused, splits}) EXPECT_GT(seen, 0);
}

TEST(RadixTree, SplittingGivesTheUpperPartTheNewerTime) {
  RadixTree tree(1);
  TokenSequence abc, abx;
  abc.append({10, 6});
  abx.append({10, 3});
  abx.append({90, 3});
  EXPECT_EQ(tree.insert(abc, 6), 0);  // root 1, leaf 2 (and 3)
  EXPECT_EQ(tree.insert(abx, 6), 3);  // root 4, leaf 5, upper part 6 (and 7), new leaf 8 (and 9)
  std::map<std::uint64_t, std::uint64_t> times;
  for (const auto& node : tree.nodes()) times[node.key->runs()[0].first] = node.last_access;
  EXPECT_EQ(times, (std::map<std::uint64_t, std::uint64_t>{{10, 6}, {13, 5}, {90, 8}}));
  const auto gone = tree.evict(1);  // the older leaf is evicted as a whole
  EXPECT_EQ(gone.tokens, 3);
  EXPECT_EQ(tree.match(abc, 6).tokens, 3);
}

TEST(RadixTree, LessThanAPageIsNothing) {
  RadixTree tree(4);
  TokenSequence tokens;
  tokens.append({0, 7});
  EXPECT_EQ(tree.match(tokens, 3).node, kRoot);
  EXPECT_EQ(tree.insert(tokens, 4), 0);
  EXPECT_EQ(tree.match(tokens, 7).tokens, 4);
  EXPECT_EQ(tree.nodes().size(), 1U);
}

/// A hundred thousand tokens, and as many prompts that share all but their ends: the time depends on runs, not on
/// tokens.
TEST(RadixTree, LongPromptsAreFewSteps) {
  RadixTree tree(16);
  constexpr std::int64_t kPrompt = 100'000;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    TokenSequence prompt;
    prompt.append({0, kPrompt});
    prompt.append({(std::uint64_t{1} << 40) + i * 64, 48});
    ASSERT_EQ(tree.insert(prompt, kPrompt + 48), i == 0 ? 0 : kPrompt);
  }
  EXPECT_EQ(tree.evictable_tokens(), kPrompt + 20'000 * 48);
  EXPECT_EQ(tree.evict(48).nodes, 1);
}

}  // namespace
}  // namespace kvplan
