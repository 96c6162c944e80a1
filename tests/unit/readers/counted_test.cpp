// What a reader reads by lengths, compared with what it reads of random keys and of the bundled recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "simulator/io/attention_json.h"
#include "tests/unit/readers/support.h"

namespace kvplan::readers::testing {
namespace {

constexpr std::int64_t kPrompt = 40;

CountedReads counted_on(const Lane& lane, const LayerTensors& in, std::int32_t layer, std::int32_t head) {
  const UnrecordedHead of{.choice = lane.reader.choice,
                          .layer = layer,
                          .head = head,
                          .heads = in.kv_heads,
                          .query_heads = in.query_heads / in.kv_heads,
                          .key_size = in.key_size,
                          .element_bytes = kElementBytes,
                          .tables = lane.reader.tables};
  const auto reads = lane.reader.kind->counted(of);
  EXPECT_TRUE(reads.ok()) << reads.error().to_string();
  return reads.value();
}

/// The tokens that any query head of a KV head reads in one step.
std::int64_t fetched_in(const Read& read, const LayerTensors& in, std::int32_t head) {
  const std::int32_t group = in.query_heads / in.kv_heads;
  std::set<std::int32_t> tokens;
  for (std::int32_t q = head * group; q < (head + 1) * group; ++q)
    tokens.insert(read.sets[static_cast<std::size_t>(q)].begin(),
                  read.sets[static_cast<std::size_t>(q)].end());
  return std::ssize(tokens);
}

struct Case {
  std::string text;
  std::int64_t
      page;  ///< by which a head may read less than is counted, though nothing agrees; 0: the count is exact
  std::vector<attention::HeadTable> tables{};
};

/// The count is an upper limit; where it is stated as exact, it is reached, except for a page that is not full.
void expect_counted(const Case& c, const LayerTensors& in, std::int32_t layer) {
  const Lane asked = lane(c.text, c.tables);
  for (const Read& read : reads_of(asked, in, layer, kPrompt)) {
    const std::int64_t seen = read.t + 1;
    for (std::int32_t h = 0; h < in.kv_heads; ++h) {
      const CountedReads counted = counted_on(asked, in, layer, h);
      const std::int64_t most = std::min(counted.rule.fetched, seen);
      const std::int64_t fetched = fetched_in(read, in, h);
      ASSERT_LE(fetched, most) << c.text << " t " << read.t << " head " << h;
      if (!counted.at_most) {
        ASSERT_GE(fetched, most - c.page) << c.text << " t " << read.t << " head " << h;
      }
      const auto i = static_cast<std::size_t>(h);
      // Metadata of all tokens; a page that is not full counts by its share.
      const auto metadata = [&](std::int64_t tokens) {
        return ceil_div(tokens, counted.metadata_tokens) * counted.metadata_bytes;
      };
      ASSERT_EQ(read.kept_metadata[i], metadata(seen)) << c.text;
      const bool ranks = seen > counted.rule.ranked_beyond;
      ASSERT_LE(read.read_metadata[i], ranks ? metadata(seen) : 0) << c.text << " t " << read.t;
      if (ranks) {
        ASSERT_GE(read.read_metadata[i], metadata(seen) - counted.metadata_bytes) << c.text;
      }
    }
  }
}

std::vector<Case> cases_of(std::int32_t layers, std::int32_t heads) {
  attention::HeadTable gates;
  for (std::int32_t l = 0; l < layers; ++l) {
    gates.emplace_back();
    for (std::int32_t h = 0; h < heads; ++h) gates.back().push_back(0.1 * (l + 1) + 0.25 * h);
  }
  return {{"full", 0},
          {"oracle:budget=24", 0},
          {"quest:budget=64,page=16,share=mean,dense_layers=0", 15},
          {"quest:budget=64,page=16,dense_layers=0", 15},
          {"quest:budget=48,page=16,form=kernels,share=max,dense_layers=0", 15},
          {"quest:budget=7,page=5,share=max,dense_layers=0", 4},
          {"infinigen:budget=20,dense_layers=0", 0},
          {"infinigen:budget=20,partial=0.5,skew=false,dense_layers=0", 0},
          {"retrieval-heads:gates=g,sparsity=0.5,sink=4,recent=20", 0, {gates}}};
}

TEST(CountedReads, BoundWhatIsReadOfRandomKeys) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed, "counted reads");
    const Layers recording = random_recording(random, {130}, 2, false, false);
    for (std::int32_t layer = 0; layer < 2; ++layer)
      for (const Case& c : cases_of(2, recording.info().kv_heads))
        expect_counted(c, recording.at(0, layer), layer);
  }
}

TEST(CountedReads, BoundWhatIsReadOfTheSample) {
  const auto sample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  for (const std::int32_t layer : {0, 3}) {
    const LayerTensors in = sample->tensors(7, layer).value();
    for (const Case& c : cases_of(sample->info().layers, in.kv_heads)) expect_counted(c, in, layer);
  }
}

/// Some readers read by clusters, with sizes that depend on keys; counts exist for all others.
TEST(CountedReads, AreGivenForReadersWithReadsFromLengths) {
  std::vector<std::string> counted;
  for (const ReaderKind* kind : readers())
    if (kind->counted != nullptr) counted.emplace_back(kind->descriptor.name);
  EXPECT_EQ(counted, (std::vector<std::string>{"full", "quest", "infinigen", "retrieval-heads", "oracle"}));
}

TEST(CountedReads, RefuseWhatLengthsDoNotSay) {
  Random random(1, "refused");
  const Layers recording = random_recording(random, {60}, 1, false, false);
  const auto error = [&](const std::string& text, std::vector<attention::HeadTable> tables = {}) {
    const Lane asked = lane(text, std::move(tables));
    const auto reads = asked.reader.kind->counted({.choice = asked.reader.choice,
                                                   .layer = 1,
                                                   .heads = 2,
                                                   .query_heads = 1,
                                                   .key_size = 64,
                                                   .tables = asked.reader.tables});
    return reads.ok() ? std::string() : reads.error().to_string();
  };
  EXPECT_NE(error("infinigen").find("infinigen:budget"), std::string::npos) << error("infinigen");
  EXPECT_NE(error("quest:budget=8,page=16,form=kernels").find("quest:budget"), std::string::npos);
  EXPECT_NE(error("retrieval-heads:gates=g", {{{0.5, 0.5}}}).find("a list for layer 1"), std::string::npos);
  EXPECT_NE(error("retrieval-heads:gates=g", {{{0.5, 0.5}, {0.5}}}).find("a number for each of 2"),
            std::string::npos);
}

}  // namespace
}  // namespace kvplan::readers::testing
