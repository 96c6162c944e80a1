// Cases that are worked out by hand: sets, masses and bytes.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/readers/page_bounds.h"
#include "tests/unit/readers/support.h"

namespace kvplan::readers::testing {
namespace {

/// One KV head with keys of two channels, values of one; scale 1. `queries` of the last token, for each query head.
LayerTensors tensors(const std::vector<std::vector<float>>& keys,
                     const std::vector<std::vector<float>>& queries) {
  LayerTensors out;
  out.tokens = static_cast<std::int64_t>(keys.size());
  out.query_heads = static_cast<std::int32_t>(queries.size());
  out.key_size = 2;
  out.value_size = 1;
  out.keys.emplace_back();
  out.values.emplace_back();
  for (std::size_t t = 0; t < keys.size(); ++t) {
    out.keys[0].insert(out.keys[0].end(), keys[t].begin(), keys[t].end());
    out.values[0].push_back(static_cast<float>(t + 1));
  }
  for (const auto& query : queries) {
    out.queries.emplace_back();
    for (std::size_t t = 0; t < keys.size(); ++t)
      out.queries.back().insert(out.queries.back().end(), query.begin(), query.end());
  }
  return out;
}

const std::vector<std::vector<float>> kKeys{{1, 0}, {0, 1}, {2, 0}, {-1, 1}, {0, 0}, {1, 1}};
// The query (1, 0) has the products 1, 0, 2, -1, 0, 1.
const double kAll = 2 * std::exp(1.0) + 2 + std::exp(2.0) + std::exp(-1.0);

Tally tally_of(const std::string& reader, const LayerTensors& in) {
  const Layers recording({{in}});
  const auto found = evaluate(recording, {.lanes = {lane(reader)}, .prompt = in.tokens - 1}, go_on);
  EXPECT_TRUE(found.ok());
  return found.value().lanes[0].total;
}

Read last_read(const std::string& reader, const LayerTensors& in) {
  return reads_of(lane(reader), in, 0, in.tokens - 1).back();
}

TEST(ReaderExamples, QuestKernelsReadTheNewestPageAndTheBestOther) {
  // Pages of two: bounds 1 (of 1, 0 and 0, 1) and 2 (of 2, 0 and -1, 1); the last page is not ranked.
  const LayerTensors in = tensors(kKeys, {{1, 0}});
  const std::string reader = "quest:form=kernels,page=2,budget=4,dense_layers=0";
  EXPECT_EQ(last_read(reader, in).sets[0], (ReadSet{2, 3, 4, 5}));
  const Tally tally = tally_of(reader, in);
  EXPECT_NEAR(tally.mass, (std::exp(2.0) + std::exp(-1.0) + 1 + std::exp(1.0)) / kAll, 1e-14);
  EXPECT_NEAR(tally.oracle_mass, (2 * std::exp(1.0) + std::exp(2.0) + 1) / kAll, 1e-14);
  EXPECT_EQ(tally.overlap, 0.75);  // the oracle reads 0, 2, 4, 5: of the two tokens with product 0 the newer
  EXPECT_EQ(tally.read.cells, 4 * (2 + 1) * 2);
  EXPECT_EQ(tally.read.metadata,
            2 * 2 * 2 * 2);  // two pages, least and greatest of two channels of two bytes
  EXPECT_EQ(tally.full_bytes, 6 * (2 + 1) * 2);
  EXPECT_EQ(last_read(reader, in).kept_metadata[0], 3 * 2 * 2 * 2);
}

/// Keys (1,0) (0,2) | (-1,1) (3,-1) | (0,-2) (2,2) and the query (1,-2): bounds 1, 5 and 6 of products 1 -4 | -3 5 |
/// 4 -2. By its bound the last page is the best, although the best key is in the one before.
TEST(ReaderExamples, QuestBoundsOfThreePages) {
  const std::vector<std::vector<float>> keys{{1, 0}, {0, 2}, {-1, 1}, {3, -1}, {0, -2}, {2, 2}};
  const std::vector<float> query{1, -2};
  PageBounds bounds(2, 2);
  for (const auto& key : keys) bounds.add(key);
  ASSERT_EQ(bounds.pages(), 3);
  EXPECT_EQ(bounds.bound(0, query), 1);
  EXPECT_EQ(bounds.bound(1, query), 5);
  EXPECT_EQ(bounds.bound(2, query), 6);
  // The kernels always read the last page, and of the others the one with bound 5.
  EXPECT_EQ(last_read("quest:form=kernels,page=2,budget=4,dense_layers=0", tensors(keys, {query})).sets[0],
            (ReadSet{2, 3, 4, 5}));
}

TEST(ReaderExamples, QuestEvaluationMayLeaveItsOwnPageOut) {
  auto keys = kKeys;
  keys.back() = {-3, 1};
  const LayerTensors in = tensors(keys, {{1, 0}});
  // Pages of one token: the three largest products are 2, 1 and, of the two that are 0, that of the newer token.
  EXPECT_EQ(last_read("quest:page=1,budget=1,dense_layers=0", in).sets[0], (ReadSet{0, 2, 4}));
  EXPECT_EQ(tally_of("quest:page=1,budget=1,dense_layers=0", in).read.metadata, 6 * 8);
}

TEST(ReaderExamples, InfiniGenCountsWhatIsNearTheGreatest) {
  // The channel with the larger queries is the first. The largest logit is 2; tokens 0 and 2 are above 2 - 1.5.
  const LayerTensors in = tensors(kKeys, {{1, 0}});
  const std::string reader = "infinigen:skew=false,partial=0.5,alpha=1.5,dense_layers=0";
  EXPECT_EQ(last_read(reader + ",fetch=0.6", in).sets[0], (ReadSet{0, 2, 5}));
  EXPECT_EQ(last_read(reader + ",fetch=0.2", in).sets[0], (ReadSet{2, 5}))
      << "a fifth of five earlier tokens";
  const Tally tally = tally_of(reader + ",fetch=0.6", in);
  EXPECT_EQ(tally.read.metadata, 5 * 1 * 2);
  EXPECT_EQ(last_read(reader, in).kept_metadata[0], 6 * 1 * 2);
}

TEST(ReaderExamples, ClusterKvTakesWholeClustersAndTheOldestOfTheLast) {
  const LayerTensors in = tensors({{1, 1}, {4, 0}, {0, 4}, {5, 0}, {0, 5}, {1, 0}}, {{1, 2}});
  // Clusters {1, 3} and {2, 4} with centres (4.5, 0) and (0, 4.5): products 4.5 and 9.
  const std::string reader = "clusterkv:sinks=1,clusters=2,budget=4,dense_layers=0";
  EXPECT_EQ(last_read(reader, in).sets[0], (ReadSet{0, 1, 2, 4, 5}));
  const Tally tally = tally_of(reader, in);
  EXPECT_EQ(tally.read.metadata, 2 * (2 * 2 + 8) + 3 * 4);
  EXPECT_EQ(last_read(reader, in).kept_metadata[0], 2 * (2 * 2 + 8) + 4 * 4);
  EXPECT_EQ(tally_of("clusterkv:sinks=1,clusters=2,budget=5,dense_layers=0", in).read.metadata, 0)
      << "the prompt fits";
}

TEST(ReaderExamples, RetroInferEstimatesTheSecondCluster) {
  // Clusters {1, 3}, {2, 4} with centres (4.5, 0), (0, 4.5): the second is read, the first has logit 4.5 twice.
  const LayerTensors in = tensors({{1, 1}, {4, 0}, {0, 4}, {5, 0}, {0, 5}, {1, 0}}, {{1, 2}});
  const std::string reader = "retro-infer:sinks=1,recent=0,cluster_tokens=2";
  const Tally tally = tally_of(reader + ",estimate=0.5", in);
  EXPECT_EQ(last_read(reader, in).sets[0], (ReadSet{0, 2, 4, 5}));
  EXPECT_EQ(tally.read.metadata, (2 * 2 + 1 * (1 + 1)) * 2);
  EXPECT_EQ(last_read(reader, in).kept_metadata[0], 2 * (2 + 1 + 1) * 2);
  // Products 3, 4, 8, 5, 10, 1 of values 1 to 6.
  const double read = std::exp(3.0) + std::exp(8.0) + std::exp(10.0) + std::exp(1.0);
  const double all = read + std::exp(4.0) + std::exp(5.0);
  const double of_read = std::exp(3.0) + 3 * std::exp(8.0) + 5 * std::exp(10.0) + 6 * std::exp(1.0);
  const double output = (of_read + 2 * std::exp(4.0) + 4 * std::exp(5.0)) / all;
  const double guessed = (of_read + (2 + 4) * std::exp(4.5)) / (read + 2 * std::exp(4.5));
  EXPECT_NEAR(tally.error, std::fabs(guessed - output) / output, 1e-12);
  EXPECT_NEAR(tally.mass, read / all, 1e-14);
  const Tally without = tally_of(reader + ",estimate=0", in);
  EXPECT_NEAR(without.error, std::fabs(of_read / read - output) / output, 1e-12);
}

TEST(ReaderExamples, ATokenIsFetchedOnceForAStoredHead) {
  // Query heads that select different tokens, then the same one.
  const LayerTensors apart = tensors(kKeys, {{1, 0}, {-1, 0}});
  EXPECT_EQ(last_read("oracle:budget=1", apart).sets, (std::vector<ReadSet>{{2}, {3}}));
  const LayerTensors alike = tensors(kKeys, {{1, 0}, {3, 0}});
  constexpr std::int64_t kCell = (2 + 1) * 2;
  EXPECT_EQ(tally_of("oracle:budget=1", apart).read.total(), 2 * kCell);
  EXPECT_EQ(tally_of("oracle:budget=1", apart).read_apart.total(), 2 * kCell);
  EXPECT_EQ(tally_of("oracle:budget=1", alike).read.total(), kCell);
  EXPECT_EQ(tally_of("oracle:budget=1", alike).read_apart.total(), 2 * kCell);
  EXPECT_EQ(tally_of("oracle:budget=1", alike).head_tokens, 1);
  EXPECT_EQ(tally_of("oracle:budget=1", alike).tokens, 2);
}

TEST(ReaderExamples, QuestReadsAnEighthAsItsPaperHasIt) {
  // 1/16 for bounds and 2048 of 32768 tokens: 0.125 (arXiv 2406.10774). Here 16 times smaller, with the same shares.
  constexpr std::int64_t kTokens = 2048;
  Random random(1, "eighth");
  LayerTensors in = attention::random_tensors(random, 1, 1, kTokens, false);
  in.value_size = in.key_size;
  in.values.assign(1, std::vector<float>(static_cast<std::size_t>(kTokens * in.key_size), 1.0F));
  const Layers recording({{in}});
  const auto found =
      evaluate(recording, {.lanes = {lane("quest:budget=128,dense_layers=0")}, .prompt = kTokens - 1}, go_on);
  ASSERT_TRUE(found.ok());
  EXPECT_DOUBLE_EQ(found.value().lanes[0].total.read_fraction().value(), 0.125);
}

}  // namespace
}  // namespace kvplan::readers::testing
