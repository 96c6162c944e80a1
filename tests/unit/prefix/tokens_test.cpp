// Sequences of runs compared with plain vectors of tokens, and the tokens of requests.
#include "simulator/prefix/tokens.h"

#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "simulator/prefix/request_tokens.h"
#include "tests/support/ids.h"

namespace kvplan {
namespace {

using prefix::TokenReader;
using prefix::TokenSequence;
using test::operator""_r;
using Plain = std::vector<prefix::Token>;

Plain plain(TokenReader reader) {
  Plain out;
  for (; reader.left() > 0; reader.skip(1)) out.push_back(reader.run().first);
  return out;
}
Plain plain(const TokenSequence& sequence) {
  return plain(TokenReader(sequence, sequence.size()));
}

TokenSequence sequence_of(const Plain& tokens) {
  TokenSequence out;
  for (const auto token : tokens) out.append({token, 1});
  return out;
}

TEST(TokenSequence, RunsAreAsLongAsCanBe) {
  TokenSequence tokens;
  tokens.append({5, 3});
  tokens.append({8, 2});
  tokens.append({0, 0});
  tokens.append({10, 1});
  tokens.append({5, 1});
  EXPECT_EQ(tokens.size(), 7);
  EXPECT_EQ(tokens.runs().size(), 2U);
  EXPECT_EQ(plain(tokens), (Plain{5, 6, 7, 8, 9, 10, 5}));
}

TEST(TokenSequence, PrefixesHashesAndSlicesAreThoseOfPlainTokens) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, "tokens");
    const auto draw = [&](Plain tokens) {
      for (std::int64_t more = random.between(0, 10); more > 0; --more)
        tokens.push_back(!tokens.empty() && random.chance(2, 3) ? tokens.back() + 1 : random.below(4));
      return tokens;
    };
    const Plain a = draw({}), b = draw(random.chance(1, 2) ? a : Plain{});
    const TokenSequence sa = sequence_of(a), sb = sequence_of(b);
    EXPECT_EQ(plain(sa), a);
    EXPECT_EQ(sa == sb, a == b);
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    EXPECT_EQ(prefix::common_prefix(TokenReader(sa, sa.size()), TokenReader(sb, sb.size())),
              differ.first - a.begin());
    // A slice from the middle equals the sequence made of its tokens.
    const auto begin = static_cast<std::int64_t>(random.below(a.size() + 1));
    const auto length =
        static_cast<std::int64_t>(random.below(a.size() - static_cast<std::size_t>(begin) + 1));
    const Plain middle(a.begin() + begin, a.begin() + begin + length);
    TokenReader reader(sa, sa.size());
    reader.skip(begin);
    const TokenReader from_middle = reader;
    EXPECT_EQ(reader.take(length), sequence_of(middle));
    EXPECT_EQ(reader.left(), sa.size() - begin - length);
    const TokenSequence alone = sequence_of(middle);
    EXPECT_EQ(prefix::hash_of(from_middle, length), prefix::hash_of(TokenReader(alone, length), length));
  }
}

TEST(RequestTokens, IdsNamePromptsAndNothingElseIsShared) {
  traces::PrefixHashes hashes{.block_tokens = 8, .offsets = {0, 2, 4, 4}, .ids = {3, 4, 3, 7}, .distinct = 8};
  core::Workload workload;
  workload.input = {12, 20, 5};
  workload.output = {3, 1, 2};
  workload.prefix = &hashes;
  // Ids 3 and 4 name consecutive tokens: one run up to the prompt's end, then the output.
  const TokenSequence first = prefix::request_tokens(workload, 0_r);
  ASSERT_EQ(first.runs().size(), 2U);
  EXPECT_EQ(first.runs()[0], (prefix::TokenRun{24, 12}));
  EXPECT_EQ(first.size(), 15);
  // The last four tokens of this prompt have no id.
  const TokenSequence second = prefix::request_tokens(workload, 1_r);
  ASSERT_EQ(second.runs().size(), 3U);
  EXPECT_EQ(second.runs()[1], (prefix::TokenRun{56, 8}));
  EXPECT_EQ(second.runs()[2].length, 5);
  EXPECT_EQ(prefix::common_prefix(TokenReader(first, 15), TokenReader(second, 21)), 8);
  const TokenSequence third = prefix::request_tokens(workload, 2_r);
  EXPECT_EQ(third.runs().size(), 1U);
  EXPECT_EQ(third.size(), 7);
  EXPECT_NE(third.runs()[0].first, second.runs()[2].first);
  // Without ids nothing is shared.
  workload.prefix = nullptr;
  EXPECT_EQ(prefix::request_tokens(workload, 0_r).runs().size(), 1U);
  EXPECT_NE(prefix::request_tokens(workload, 0_r).runs()[0].first,
            prefix::request_tokens(workload, 1_r).runs()[0].first);
}

}  // namespace
}  // namespace kvplan
