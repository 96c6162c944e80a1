// Properties of every format in the catalogue; a new format is tested by being in it, with parameters for small layers.
#include <gtest/gtest.h>
#include <algorithm>
#include <set>

#include "simulator/formats/linear.h"
#include "simulator/formats/region_names.h"
#include "simulator/formats/shares.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

/// Parameters that have an effect on layers of a few dozen tokens.
const std::map<std::string, std::vector<std::string>>& small_params() {
  static const std::map<std::string, std::vector<std::string>> kParams{
      {"full", {""}},
      {"bf16", {""}},
      {"int-tensor", {":scale=chunk", ":scale=static,bits=4", ":scale=running,bits=5"}},
      {"int-token", {"", ":bits=3,group=8,symmetric=true"}},
      {"int-channel", {":group=4", ":group=1,bits=2"}},
      {"fp8", {"", ":type=e5m2,scale=amax,per=head"}},
      {"nvfp4", {""}},
      {"mxfp4", {""}},
      {"kivi", {":group=4,residual=8", ":group=2,residual=2,bits=4"}},
      {"kvquant", {"", ":bits=2,outliers=0.4"}},
      {"gear", {":group=4,residual=8,outliers=0.3", ":group=2,residual=6,rank=0"}},
      {"mixed", {":recent=4,middle=6", ":recent=0,middle=3,group=8"}},
      {"sparse", {":density=0.3"}},
      {"pyramid-int8", {":max_len=12,min_size=4,layer=3,layers=5"}},
      {"svd", {":rank=3,update=4", ":energy=0.9,update=3"}},
      {"layered", {":window=6,rank=2", ":window=6,rank=3,keep_recent=2,factor_v=true"}},
      {"eigen",
       {":rank=5,rank_v=7", ":rank=4,rank_v=3,basis=kq", ":rank=4,rank_v=3,method=random,oversample=2"}},
      {"kmeans", {":clusters=3,recent=2,sinks=1", ":clusters=4,recent=0,sinks=0,form=seed"}},
      {"minicache",
       {":share=0.2,layer=2,layers=4", ":share=0,layer=3,layers=4", ":keep=far,gamma=0.3,layer=3,layers=4",
        ":keep=near,gamma=0.3,layer=2,layers=4", ":layer=1,layers=4"}},
      {"cla", {":layer=2", ":layer=3", ":span=3,layer=5"}},
      {"smaller-model", {}},
      {"cam", {":spread=3", ":spread=2,score=newest,merge=expected"}},
      {"palu", {}},
      {"lorc", {}},
      {"merge", {"", ":rule=weighted", ":rule=pivot", ":rule=values"}},
      {"int8", {"", ":group=16"}},
      {"int4", {"", ":group=0"}},
      {"fp4", {""}}};
  return kParams;
}

std::vector<std::string> all_texts() {
  std::vector<std::string> out;
  for (const auto& [name, params] : small_params())
    for (const std::string& each : params) out.push_back(name + each);
  return out;
}

TEST(FormatCatalogue, EveryMemberIsTestedHere) {
  std::set<std::string> names;
  for (const FormatKind* kind : formats()) {
    EXPECT_TRUE(names.insert(std::string(kind->descriptor.name)).second);
    EXPECT_TRUE(small_params().contains(std::string(kind->descriptor.name))) << kind->descriptor.name;
    EXPECT_EQ(kind->descriptor.family, kFamily);
    if (kind->stands_for != nullptr) continue;
    EXPECT_EQ(kind->make == nullptr, !kind->bytes_alone.empty());
    EXPECT_EQ(kind->make == nullptr, small_params().at(std::string(kind->descriptor.name)).empty());
  }
  EXPECT_EQ(names.size(), small_params().size());
}

/// Regions count as metadata as results mark them, and as runs count them.
TEST(FormatRegions, MetadataAreThoseThatAreMarked) {
  Regions bytes;
  std::int64_t marked = 0, all = 0, one = 1;
  for (const NamedRegion& region : kRegions) {
    bytes.*region.bytes = one;
    marked += region.metadata ? one : 0;
    all += one;
    one *= 2;
  }
  EXPECT_EQ(bytes.total(), all);
  EXPECT_EQ(bytes.metadata(), marked);
}

/// What a head stores, by position.
struct Seen {
  Vector stored;
  std::int64_t version;
};
using Snapshot = std::map<std::tuple<Side, std::int32_t, std::int64_t>, Seen>;

Snapshot snapshot(const Codec& codec) {
  Snapshot out;
  for (const Side side : kSides)
    for (std::int32_t h = 0; h < codec.shape().kv_heads; ++h)
      for (std::int32_t i = 0; i < codec.plane(side, h).tokens(); ++i) {
        const auto x = codec.plane(side, h).stored(i);
        out[{side, h, codec.positions(h)[static_cast<std::size_t>(i)]}] = {{x.begin(), x.end()},
                                                                           codec.plane(side, h).version(i)};
      }
  return out;
}

class FormatConformance : public testing::TestWithParam<std::string> {
 protected:
  static void check_invariants(const Codec& codec, const Layer& layer) {
    for (const Side side : kSides) {
      const Regions bytes = codec.regions(side);
      std::int64_t exact = 0;
      for (std::int32_t h = 0; h < codec.shape().kv_heads; ++h) {
        const Plane& plane = codec.plane(side, h);
        const auto positions = codec.positions(h);
        ASSERT_EQ(static_cast<std::size_t>(plane.tokens()), positions.size());
        for (std::int32_t i = 0; i < plane.tokens(); ++i) {
          const auto position = static_cast<std::size_t>(positions[static_cast<std::size_t>(i)]);
          if (i > 0) {
            ASSERT_LT(positions[static_cast<std::size_t>(i) - 1], positions[static_cast<std::size_t>(i)]);
          }
          if (plane.block(i) != Plane::kExact) continue;
          ++exact;
          // Tokens into which others were merged are still as exact as elements of 2 bytes.
          if (plane.version(i) > 0) continue;
          const Vector& recorded = layer.side(side)[static_cast<std::size_t>(h)][position];
          ASSERT_TRUE(std::equal(recorded.begin(), recorded.end(), plane.stored(i).begin()));
          const Coded coded = codec.coded(side, h, i, 0);
          ASSERT_FALSE(coded.code || coded.scale || coded.zero);
        }
      }
      // In addition to exact tokens some formats keep exact elements, with an index of their positions.
      ASSERT_GE(bytes.exact, exact * codec.shape().size(side) * 2);
      if (bytes.index == 0) {
        ASSERT_EQ(bytes.exact, exact * codec.shape().size(side) * 2);
      }
      for (const std::int64_t region :
           {bytes.codes, bytes.scales, bytes.zeros, bytes.index, bytes.factors, bytes.centroids})
        ASSERT_GE(region, 0);
    }
  }

  /// Checks that every token with new decoded numbers has a new version.
  static void check_versions(const Snapshot& before, const Snapshot& after) {
    for (const auto& [key, seen] : before) {
      const auto now = after.find(key);
      if (now == after.end()) continue;
      ASSERT_GE(now->second.version, seen.version);
      if (now->second.stored != seen.stored) {
        ASSERT_GT(now->second.version, seen.version);
      }
    }
  }

  /// Drops some tokens of each head. The others stay unchanged unless dropped tokens are merged into them, and no
  /// region grows.
  static void drop_some(Random& random, Codec& codec, bool merges) {
    const Snapshot before = snapshot(codec);
    const std::array<Regions, 2> bytes{codec.regions(Side::kKeys), codec.regions(Side::kValues)};
    std::size_t dropped = 0;
    std::vector<std::vector<std::int32_t>> gone(
        static_cast<std::size_t>(codec.shape().kv_heads + codec.other_heads()));
    for (std::int32_t h = 0; h < codec.shape().kv_heads; ++h) {
      std::vector<std::int32_t>& indices = gone[static_cast<std::size_t>(h)];
      for (std::int32_t i = 0; i + 1 < codec.plane(Side::kKeys, h).tokens(); ++i)
        if (random.chance(1, 6)) indices.push_back(i);
      dropped += 2 * indices.size();
    }
    codec.drop(gone);
    const Snapshot after = snapshot(codec);
    ASSERT_EQ(before.size(), after.size() + dropped);
    for (const auto& [key, seen] : after) {
      if (merges && seen.version > before.at(key).version) continue;
      ASSERT_EQ(seen.stored, before.at(key).stored);
      ASSERT_EQ(seen.version, before.at(key).version);
    }
    for (const Side side : kSides) {
      const Regions now = codec.regions(side);
      const Regions& was = bytes[static_cast<std::size_t>(side)];
      EXPECT_LE(now.codes, was.codes);
      EXPECT_LE(now.scales, was.scales);
      EXPECT_LE(now.zeros, was.zeros);
      EXPECT_LE(now.index, was.index);
      EXPECT_LE(now.factors, was.factors);
      EXPECT_LE(now.centroids, was.centroids);
      EXPECT_LE(now.exact, was.exact);
    }
  }

  /// Weights of a query, if the format needs them.
  static void attend(Random& random, Codec& codec) {
    if (codec.weight_use() == WeightUse::kNone) return;
    for (std::int32_t h = 0; h < codec.shape().kv_heads; ++h) {
      Vector weights(codec.positions(h).size());
      for (double& weight : weights) weight = random.chance(1, 5) ? 0.0 : random.unit();
      codec.attended(h, weights);
    }
  }

  static Snapshot run(std::uint64_t seed, const std::string& text, bool drops) {
    Random random(seed, "conformance");
    const auto heads = static_cast<std::int32_t>(random.between(1, 3));
    const Shape shape{.query_heads = 2 * heads, .kv_heads = heads, .key_size = 32, .value_size = 64};
    const std::int64_t prompt = random.between(4, 24);
    const std::int64_t tokens = prompt + random.between(1, 24);
    const auto codec = codec_of(text, shape, prompt);
    const Layer layer = random_layer(random, shape, tokens, codec->other_heads());
    const bool merges = text.starts_with("cam") || text.starts_with("merge");
    append(*codec, layer, 0, prompt);
    attend(random, *codec);
    if (merges && drops) drop_some(random, *codec, merges);
    codec->end_prompt({.tokens = prompt, .heads = layer.queries});
    check_invariants(*codec, layer);
    for (std::int64_t t = prompt; t < tokens; ++t) {
      const Snapshot before = snapshot(*codec);
      append(*codec, layer, t, t + 1);
      check_versions(before, snapshot(*codec));
      const Snapshot attended = snapshot(*codec);
      attend(random, *codec);
      codec->end_step();
      check_versions(attended, snapshot(*codec));
      if (drops && random.chance(1, 3)) drop_some(random, *codec, merges);
      check_invariants(*codec, layer);
      if (HasFatalFailure()) break;
    }
    return snapshot(*codec);
  }
};

TEST_P(FormatConformance, StepsAndDropsKeepTheRules) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed, GetParam(), seed % 2 == 1);
    if (HasFatalFailure()) return;
  }
}

TEST_P(FormatConformance, TheSameRunGivesTheSameBits) {
  const Snapshot first = run(7, GetParam(), true);
  const Snapshot second = run(7, GetParam(), true);
  ASSERT_EQ(first.size(), second.size());
  for (const auto& [key, seen] : first) EXPECT_EQ(seen.stored, second.at(key).stored);
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatConformance, testing::ValuesIn(all_texts()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace kvplan::formats::test
