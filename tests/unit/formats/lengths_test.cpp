// Bytes from lengths alone are those that codecs count while they encode, in every region.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::int64_t Regions::*, 7> kColumns{
    &Regions::codes,   &Regions::scales,    &Regions::zeros, &Regions::index,
    &Regions::factors, &Regions::centroids, &Regions::exact};

std::string text_of(const Regions& bytes) {
  std::string out;
  for (const auto column : kColumns) out += std::to_string(bytes.*column) + " ";
  return out;
}

FormatChoice choice_of(const std::string& text) {
  auto format = parse_format(text);
  KVPLAN_CHECK(format.ok());
  return std::move(format).value();
}

/// Text, and numbers of channels that it divides.
struct Draw {
  std::string text;
  std::int64_t divisor{1};
};
using Drawing = std::function<Draw(Random&)>;

/// Random parameters of each member, for layers of a few dozen tokens.
const std::map<std::string, Drawing>& drawings() {
  const auto n = [](Random& r, std::int64_t low, std::int64_t high) {
    return std::to_string(r.between(low, high));
  };
  const auto share = [](Random& r) { return std::to_string(r.between(0, 100)) + "e-2"; };
  const auto one_of = [](Random& r, const std::vector<std::string>& of) {
    return of[static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(of.size()) - 1))];
  };
  const auto scale = [=](Random& r) { return ",scale=" + one_of(r, {"chunk", "static", "running"}); };
  const auto in_groups = [](Random& r, const std::string& before, const std::string& after) {
    const std::int64_t group = r.between(0, 6);
    return Draw{before + "group=" + std::to_string(group) + after, std::max<std::int64_t>(group, 1)};
  };
  /// `group` and a residual of whole groups.
  const auto residuals = [](Random& r, const std::string& before) {
    const std::int64_t group = r.between(1, 6);
    return Draw{
        before + ",group=" + std::to_string(group) + ",residual=" + std::to_string(group * r.between(1, 4)),
        group};
  };
  static const std::map<std::string, Drawing> kDrawings{
      {"full", [](Random&) { return Draw{"full"}; }},
      {"bf16", [](Random&) { return Draw{"bf16"}; }},
      {"int-tensor", [=](Random& r) { return Draw{"int-tensor:bits=" + n(r, 2, 8) + scale(r)}; }},
      {"int-token",
       [=](Random& r) {
         return in_groups(r, "int-token:bits=" + n(r, 2, 8) + ",", r.chance(1, 2) ? ",symmetric=true" : "");
       }},
      {"int-channel",
       [=](Random& r) { return Draw{"int-channel:bits=" + n(r, 2, 8) + ",group=" + n(r, 1, 9)}; }},
      {"fp8",
       [=](Random& r) {
         return Draw{"fp8:type=" + one_of(r, {"e4m3", "e5m2"}) + ",scale=" + one_of(r, {"one", "amax"}) +
                     ",per=" + one_of(r, {"tensor", "head"})};
       }},
      {"nvfp4",
       [](Random&) {
         return Draw{"nvfp4", 16};
       }},
      {"mxfp4",
       [](Random&) {
         return Draw{"mxfp4", 32};
       }},
      {"kivi", [=](Random& r) { return residuals(r, "kivi:bits=" + n(r, 2, 8)); }},
      {"kvquant",
       [=](Random& r) {
         const std::string outliers = r.chance(1, 4) ? "0" : n(r, 1, 50) + "e-2";
         return Draw{"kvquant:iterations=1,bits=" + n(r, 2, 8) + ",outliers=" + outliers};
       }},
      {"gear",
       [=](Random& r) {
         const std::string outliers = r.chance(1, 3) ? "0" : share(r);
         return residuals(r, "gear:bits=" + n(r, 2, 8) + ",rank=" + n(r, 0, 7) + ",outliers=" + outliers);
       }},
      {"mixed",
       [=](Random& r) {
         return in_groups(r,
                          "mixed:recent=" + n(r, 0, 9) + ",middle=" + n(r, 0, 9) + ",bits=" + n(r, 2, 8) +
                              ",middle_bits=" + n(r, 2, 8) + ",",
                          "");
       }},
      {"sparse", [=](Random& r) { return Draw{"sparse:density=" + share(r)}; }},
      {"pyramid-int8",
       [=](Random& r) {
         return Draw{"pyramid-int8:max_len=" + n(r, 1, 40) + ",min_size=" + n(r, 1, 9) + ",layers=5,layer=" +
                     n(r, 0, 4) + ",ratio=" + share(r) + ",bits=" + n(r, 2, 8) + scale(r)};
       }},
      {"svd",
       [=](Random& r) {
         return Draw{"svd:rank=" + n(r, 1, 9) + ",update=" + n(r, 1, 9) +
                     (r.chance(1, 3) ? ",compression_ratio=" + share(r) : std::string())};
       }},
      {"layered",
       [=](Random& r) {
         const std::int64_t window = r.between(0, 9);
         return Draw{"layered:window=" + std::to_string(window) + ",keep_recent=" + n(r, 0, window) +
                     ",rank=" + n(r, 1, 9) + (r.chance(1, 2) ? ",factor_v=true" : "")};
       }},
      {"eigen",
       [=](Random& r) {
         return Draw{"eigen:rank=" + n(r, 1, 9) + ",rank_v=" + n(r, 1, 9) +
                     ",basis=" + one_of(r, {"k", "kq"}) + ",method=" + one_of(r, {"exact", "random"}) +
                     ",oversample=" + n(r, 0, 4)};
       }},
      {"kmeans",
       [=](Random& r) {
         return Draw{"kmeans:iterations=1,clusters=" + n(r, 1, 9) + ",recent=" + n(r, 0, 6) +
                     ",sinks=" + n(r, 0, 3) + ",form=" + one_of(r, {"paired", "seed"})};
       }},
      {"minicache",
       [=](Random& r) {
         return Draw{"minicache:share=" + share(r) + ",from=" + share(r) + ",layers=5,layer=" + n(r, 0, 4)};
       }},
      {"cla", [=](Random& r) { return Draw{"cla:span=" + n(r, 1, 4) + ",layer=" + n(r, 0, 9)}; }},
      {"smaller-model", [=](Random&) { return Draw{"smaller-model:model_layers=3"}; }},
      {"palu", [](Random&) { return Draw{"palu"}; }},
      {"lorc", [](Random&) { return Draw{"lorc"}; }},
      {"cam",
       [=](Random& r) {
         return Draw{"cam:score=" + one_of(r, {"sum", "newest"})};
       }},
      {"merge",
       [=](Random& r) {
         return Draw{"merge:rule=" + one_of(r, {"d2o", "pivot", "values"})};
       }},
      {"int8", [=](Random& r) { return in_groups(r, "int8:", ""); }},
      {"int4", [=](Random& r) { return in_groups(r, "int4:", ""); }},
      {"fp4", [](Random&) {
         return Draw{"fp4", 16};
       }}};
  return kDrawings;
}

TEST(FormatLengths, EveryMemberHasARule) {
  std::set<std::string> names;
  for (const FormatKind* kind : formats()) {
    const std::string name(kind->descriptor.name);
    names.insert(name);
    EXPECT_TRUE(drawings().contains(name)) << name;
    if (kind->stands_for != nullptr) continue;
    EXPECT_NE(kind->lengths.regions, nullptr) << name;
    EXPECT_NE(kind->lengths.undecided != nullptr, kind->lengths.numbers_decide.empty()) << name;
  }
  EXPECT_EQ(names.size(), drawings().size());
}

class FormatLengthsOf : public testing::TestWithParam<std::string> {
 protected:
  /// A random layer with a codec that has appended its prompt.
  struct Started {
    FormatChoice format;
    std::string text;
    Layer layer;
    std::int64_t prompt{1};
    std::int64_t tokens{1};
    std::unique_ptr<Codec> codec;

    void step(std::int64_t t) const {
      append(*codec, layer, t, t + 1);
      codec->end_step();
    }
  };

  static Started start(std::uint64_t seed) {
    Random random(seed, "lengths");
    for (;;) {
      const Draw draw = drawings().at(GetParam())(random);
      const auto heads = static_cast<std::int32_t>(random.between(1, 2));
      const auto size = [&] {
        return static_cast<std::int32_t>(draw.divisor *
                                         random.between(1, std::max<std::int64_t>(12 / draw.divisor, 2)));
      };
      const Shape shape{
          .query_heads = 2 * heads, .kv_heads = heads, .key_size = size(), .value_size = size()};
      Started out{.format = choice_of(draw.text), .text = draw.text, .layer = {}, .codec = {}};
      out.prompt = random.between(1, 30);
      out.tokens = out.prompt + random.between(0, 40);
      if (!check_format(out.format, shape, out.prompt).ok()) continue;
      out.codec = out.format.kind->make(out.format.choice, shape);
      out.layer = layer_for(random, out.format, shape, out.tokens, out.prompt, out.codec->other_heads());
      append(*out.codec, out.layer, 0, out.prompt);
      out.codec->end_prompt({.tokens = out.prompt, .heads = out.layer.queries});
      return out;
    }
  }

  static void expect_equal(const Started& run, const Lengths& lengths) {
    const auto found = bytes_from_lengths(run.format, run.layer.shape, lengths);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    for (const Side side : kSides)
      ASSERT_EQ(text_of(found.value().of(side)), text_of(run.codec->regions(side)))
          << run.text << (side == Side::kKeys ? " keys" : " values") << ", prompt " << lengths.prompt
          << ", generated " << lengths.generated << ", dropped " << lengths.dropped;
  }

  static bool counted(const FormatChoice& format) {
    return format.kind->lengths.by_count != nullptr && format.kind->lengths.by_count(format.choice);
  }

  /// As many tokens of each head, whichever: `random` chooses them, of each head or, where heads share what is stored
  /// of a token, of all at once. Returns how many.
  static std::int64_t drop(Random& random, const Started& run, std::int64_t most) {
    const std::int64_t count = std::min<std::int64_t>(most, run.codec->plane(Side::kKeys, 0).tokens() - 1);
    std::set<std::int32_t> gone;
    for (std::int32_t h = 0; h < run.layer.shape.kv_heads; ++h) {
      if (!run.format.kind->lengths.heads_share) gone.clear();
      while (static_cast<std::int64_t>(gone.size()) < count)
        gone.insert(
            static_cast<std::int32_t>(random.between(0, run.codec->plane(Side::kKeys, h).tokens() - 1)));
      const std::vector<std::int32_t> indices(gone.begin(), gone.end());
      run.codec->drop(h, indices);
    }
    return count;
  }
};

TEST_P(FormatLengthsOf, EveryRegionAfterThePromptAndAfterEachStep) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Started run = start(seed);
    expect_equal(run, {.prompt = run.prompt});
    for (std::int64_t t = run.prompt; t < run.tokens && !HasFatalFailure(); ++t) {
      run.step(t);
      expect_equal(run, {.prompt = run.prompt, .generated = t + 1 - run.prompt});
    }
    if (HasFatalFailure()) return;
  }
}

/// If any tokens may be dropped, the count suffices; otherwise runs with the same number of drops take other bytes.
TEST_P(FormatLengthsOf, WhatIsLeftAfterDrops) {
  std::size_t refused = 0;
  std::size_t different = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Started run = start(seed);
    Random random(seed, "drops");
    Lengths lengths{.prompt = run.prompt};
    for (std::int64_t t = run.prompt; t < run.tokens; ++t) {
      run.step(t);
      ++lengths.generated;
      if (!counted(run.format) && t + 1 < run.tokens) continue;
      lengths.dropped += drop(random, run, random.between(0, 3));
      if (!counted(run.format)) break;
      expect_equal(run, lengths);
      if (HasFatalFailure()) return;
    }
    if (counted(run.format) || lengths.dropped == 0) continue;
    const auto found = bytes_from_lengths(run.format, run.layer.shape, lengths);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().field, run.format.choice.name());
    ++refused;
    const Started again = start(seed);
    for (std::int64_t t = run.prompt; t < run.tokens; ++t) again.step(t);
    Random other(seed, "other drops");
    drop(other, again, lengths.dropped);
    if (again.codec->total_bytes() != run.codec->total_bytes()) ++different;
  }
  if (refused > 0) {
    EXPECT_GT(different, 0U) << "a format that need not be refused";
  }
}

/// If positions decide which tokens are dropped: compared with a codec that gets each of them, after each step.
TEST_P(FormatLengthsOf, WhatPositionsLeave) {
  std::size_t told = 0, gone = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Started run = start(seed);
    Random random(seed, "positions");
    const std::int64_t most = run.prompt + random.between(0, 15);
    const std::int64_t sinks = random.chance(1, 3) ? 0 : random.between(0, most);
    if (!follows_from_positions(run.format, sinks)) continue;
    ++told;
    Lengths lengths{.prompt = run.prompt, .sinks = sinks};
    for (std::int64_t t = run.prompt; t < run.tokens; ++t) {
      run.step(t);
      ++lengths.generated;
      if (lengths.stored() > most) {
        for (std::int32_t h = 0; h < run.layer.shape.kv_heads; ++h) {
          const auto positions = run.codec->positions(h);  // a window of the format's own may have dropped it
          const auto at = std::find(positions.begin(), positions.end(), sinks + lengths.dropped);
          if (at == positions.end()) continue;
          const auto index = static_cast<std::int32_t>(at - positions.begin());
          run.codec->drop(h, std::span(&index, 1));
        }
        ++lengths.dropped;
        ++gone;
      }
      expect_equal(run, lengths);
      if (HasFatalFailure()) return;
    }
  }
  // numbers decide which of a pair's tokens are merged
  static const std::set<std::string> kNever{"minicache"};
  EXPECT_EQ(told == 0, kNever.contains(GetParam()));
  EXPECT_EQ(gone < 50, kNever.contains(GetParam())) << gone;
}

/// The table of paging classes in the documentation of policies and formats: what has a fixed size by token is PG0.
TEST(FormatLengths, PagingClassesAreTold) {
  const auto text_of_member = [](std::string_view name) {
    for (const FormatKind* kind : formats())
      if (kind->descriptor.name == name) return paging_text(*kind);
    return std::string("none");
  };
  const std::string tokens = "PG0, one page holds this many tokens";
  const std::string own = "PG5, pages with a geometry of their own";
  for (const char* name : {"full", "bf16", "int-token", "mxfp4", "sparse", "palu", "lorc", "cla",
                           "smaller-model", "cam", "merge"})
    EXPECT_EQ(text_of_member(name), "Paging class " + tokens + ".") << name;
  for (const char* name : {"int8", "int4", "fp4"}) EXPECT_EQ(text_of_member(name), "") << name;
  for (const char* name : {"kivi", "gear", "mixed", "svd", "layered", "kmeans", "kvquant", "int-channel"})
    EXPECT_EQ(text_of_member(name), "Paging class " + own + ".") << name;
  EXPECT_EQ(text_of_member("fp8"), "Paging class " + tokens + "; with scale=amax " + own + ".");
}

/// Outliers of a chunk lie where the numbers put them, so a dropped part of it has as many as it happens to have.
TEST(FormatLengths, OutliersOfAPartOfAChunkDoNotFollow) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 8, .value_size = 8};
  EXPECT_FALSE(follows_from_positions(choice_of("gear:group=4,residual=8"), 0));
  EXPECT_TRUE(follows_from_positions(choice_of("gear:group=4,residual=8,outliers=0"), 3));
  EXPECT_FALSE(follows_from_positions(choice_of("kvquant"), 0));
  EXPECT_TRUE(follows_from_positions(choice_of("pyramid-int8"), 0));
  EXPECT_FALSE(follows_from_positions(choice_of("pyramid-int8"), 1));
  std::set<std::int64_t> totals;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const auto codec = codec_of("gear:group=4,residual=8,outliers=0.3", shape, 20);
    const Layer layer = random_layer(random, shape, 20);
    append(*codec, layer, 0, 20);
    codec->end_prompt({.tokens = 20, .heads = layer.queries});
    codec->drop(0, std::vector<std::int32_t>{0, 1, 2});
    totals.insert(codec->total_bytes());
  }
  EXPECT_GT(totals.size(), 1U);
}

/// KIVI with groups of 4 and residuals of 8 after a window of 12, one head of 16 channels, by hand.
TEST(FormatLengths, AGroupGoesWithItsLastToken) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 16, .value_size = 16};
  const auto of = [&](std::int64_t generated) {
    const Lengths lengths{.prompt = 12, .generated = generated, .dropped = generated, .sinks = 0};
    return bytes_from_lengths(choice_of("kivi:bits=4,group=4,residual=8"), shape, lengths).value();
  };
  // Tokens 0 to 7 are encoded with the prompt, in two groups; 8 to 11 wait. Three steps take 0, 1 and 2 away.
  EXPECT_EQ(of(3).keys.codes, 5 * 16 * 4 / 8);
  EXPECT_EQ(of(3).keys.scales, 2 * 16 * 2) << "token 3 keeps its group's scales";
  EXPECT_EQ(of(3).keys.exact, 7 * 16 * 2);
  // The fourth step encodes 8 to 15, and 3 goes: of four groups three are left.
  EXPECT_EQ(of(4).keys.codes, 12 * 16 * 4 / 8);
  EXPECT_EQ(of(4).keys.scales, 3 * 16 * 2);
  EXPECT_EQ(of(4).keys.exact, 0);
  // Of values the newest 8 are always exact, and each of the 4 others has four scales of its own.
  EXPECT_EQ(of(4).values.codes, 4 * 16 * 4 / 8);
  EXPECT_EQ(of(4).values.scales, 4 * 4 * 2);
  EXPECT_EQ(of(4).values.exact, 8 * 16 * 2);
  // A window of fewer tokens than a residual and one less never has enough of them.
  const Lengths narrow{.prompt = 6, .generated = 100, .dropped = 100, .sinks = 0};
  EXPECT_EQ(bytes_from_lengths(choice_of("kivi:bits=4,group=4,residual=8"), shape, narrow).value().total(),
            6 * 2 * 16 * 2);
}

/// Where tokens are stored at once, n of them take n times the bytes of one, and nothing changes when the prompt ends;
/// of every other format one of both is untrue for some layer.
TEST_P(FormatLengthsOf, TokensStoredAtOnceAreAlike) {
  std::size_t alike = 0, claimed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Started run = start(seed);
    const auto bytes_of = [&](std::int64_t tokens) {
      return bytes_from_lengths(run.format, run.layer.shape, {.prompt = tokens}).value().total();
    };
    const auto codec = run.format.kind->make(run.format.choice, run.layer.shape);
    append(*codec, run.layer, 0, run.prompt);
    const std::int64_t appended = codec->total_bytes();
    codec->end_prompt({.tokens = run.prompt, .heads = run.layer.queries});
    const bool stays = appended == codec->total_bytes();
    // Elements of a part of a byte are packed over the tokens of a layer: eight tokens take whole bytes.
    const bool linear = bytes_of(8 * run.prompt) == run.prompt * bytes_of(8);
    if (paging_of(run.format) == Paging::kTokens) {
      ++claimed;
      EXPECT_TRUE(stays && linear) << run.text;
    } else if (stays && linear) {
      ++alike;
    }
  }
  if (claimed < 40U) {
    EXPECT_LT(alike, 40U - claimed) << "stored at once, and not declared";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatLengthsOf, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const FormatKind* kind : formats())
                             if (kind->bytes_alone.empty()) names.emplace_back(kind->descriptor.name);
                           return names;
                         }()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// The same lengths with numbers that are not as a rule assumes take other bytes: what it assumes has to be said.
TEST(FormatLengths, OtherNumbersTakeOtherBytesThanAssumed) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 8, .value_size = 8};
  for (const FormatKind* kind : formats()) {
    if (kind->lengths.assumes.empty()) continue;
    std::set<std::int64_t> totals;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const Layer layer = random_layer(random, shape, 40);
      const auto codec = codec_of(std::string(kind->descriptor.name), shape, 20);
      append(*codec, layer, 0, 20);
      codec->end_prompt({.tokens = 20, .heads = layer.queries});
      for (std::int64_t t = 20; t < 40; ++t) append(*codec, layer, t, t + 1);
      totals.insert(codec->total_bytes());
    }
    EXPECT_GT(totals.size(), 1U) << kind->descriptor.name;
  }
}

/// 3 bits, 1 % of outliers and heads of 128 channels: the shares by hand.
TEST(FormatLengths, OutliersAreSharesInWholeNumbers) {
  const Shape shape{.query_heads = 8, .kv_heads = 8, .key_size = 128, .value_size = 400};
  const auto of = [&](const std::string& text, const Lengths& lengths) {
    return bytes_from_lengths(choice_of(text), shape, lengths).value();
  };
  // Of 1000 numbers of a channel 5 lie above and 5 below; of 399 one each, since 0.005 x 399 = 1.995.
  EXPECT_EQ(of("kvquant", {.prompt = 1000}).keys.exact, 2 * 8 * 128 * 10);
  EXPECT_EQ(of("kvquant", {.prompt = 399}).keys.exact, 2 * 8 * 128 * 2);
  EXPECT_EQ(of("kvquant", {.prompt = 199}).keys.exact, 0);
  // A later key has 1024 elements: 10 of one, 102 of ten.
  EXPECT_EQ(of("kvquant", {.prompt = 199, .generated = 1}).keys.exact, 2 * 10);
  EXPECT_EQ(of("kvquant", {.prompt = 399, .generated = 10}).keys.exact, 2 * (8 * 128 * 2 + 102));
  // Of a token's 8 x 400 numbers of values 16 lie at either end, whenever it was added; positions take the same
  // number of bytes. A token has one pointer of 4 bytes on either side, and one scale and zero point of its values.
  const LayerBytes both = of("kvquant", {.prompt = 399, .generated = 10});
  EXPECT_EQ(both.values.exact, 2 * 409 * 32);
  EXPECT_EQ(both.values.index, 2 * 409 * 32 + 4 * 409);
  EXPECT_EQ(both.keys.index, 2 * (8 * 128 * 2 + 102) + 4 * 409);
  EXPECT_EQ(both.values.scales + both.values.zeros, 4 * 409);
  EXPECT_EQ(both.keys.scales + both.keys.zeros, 4 * 8 * 128);
  EXPECT_EQ(both.keys.centroids + both.values.centroids, 2 * 2 * 8);
  // A side file's thresholds were learnt from other prompts, so that all keys are as later ones are.
  const LayerBytes told = of("kvquant:file=x", {.prompt = 399, .generated = 10});
  EXPECT_EQ(told.keys.exact, 2 * 4188);  // 0.01 x 1024 x 409 = 4188.16
  EXPECT_EQ(told.keys.scales + told.keys.zeros + told.keys.centroids + told.values.centroids, 0);
  EXPECT_EQ(told.values.exact, both.values.exact);
  EXPECT_EQ(of("kvquant:outliers=0", {.prompt = 399, .generated = 10, .dropped = 9}).total(),
            8 * 400 * (128 + 400) * 3 / 8 + 4 * 8 * 128 + 4 * 400 + 2 * 2 * 8);
}

/// Whatever follows from lengths with some parameters, and with others not, says so of each.
TEST(FormatLengths, AnglesDecideWhereAThresholdKeepsTokens) {
  const Shape shape{.query_heads = 1, .kv_heads = 1, .key_size = 8, .value_size = 8};
  for (const std::string rule : {"far", "near"}) {
    const auto of = [&](const std::string& layer) {
      return bytes_from_lengths(choice_of("minicache:layers=4,layer=" + layer + ",keep=" + rule), shape,
                                {.prompt = 20});
    };
    ASSERT_FALSE(of("2").ok());
    EXPECT_NE(of("2").error().to_string().find("angles decide"), std::string::npos);
    EXPECT_EQ(of("1").value().total(), 20 * 16 * 2) << "a layer that stays as it is";
    std::set<std::int64_t> totals;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const auto codec = codec_of("minicache:layers=4,layer=2,gamma=0.3,keep=" + rule, shape, 20);
      const Layer layer = random_layer(random, shape, 20, 1);
      append(*codec, layer, 0, 20);
      codec->end_prompt({.tokens = 20, .heads = layer.queries});
      totals.insert(codec->total_bytes());
    }
    EXPECT_GT(totals.size(), 1U);
  }
}

/// 2 bytes of each element that the smaller model has, and all layers together those of its own formula.
TEST(FormatLengths, ASmallerModelTakesItsOwnBytes) {
  const Shape shape{.query_heads = 4, .kv_heads = 4, .key_size = 16, .value_size = 8};
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t layers = random.between(1, 9);
    const std::int64_t own_layers = random.between(1, layers);
    const std::int64_t heads = random.between(0, 5);
    const std::int64_t size = random.between(0, 20);
    const Lengths lengths{
        .prompt = random.between(1, 50), .generated = random.between(0, 9), .dropped = random.between(0, 1)};
    const FormatChoice format =
        choice_of("smaller-model:model_layers=" + std::to_string(own_layers) +
                  ",heads=" + std::to_string(heads) + ",size=" + std::to_string(size));
    const std::int64_t elements = (heads == 0 ? 4 : heads) * (size == 0 ? 16 + 8 : 2 * size);
    EXPECT_EQ(check_format(of_layer(format, 0, layers), shape, 1).ok(), elements <= 4 * (16 + 8));
    std::int64_t total = 0;
    for (std::int64_t l = 0; l < layers; ++l)
      total += bytes_from_lengths(of_layer(format, l, layers), shape, lengths).value().total();
    const std::int64_t channels = size == 0 ? 16 + 8 : 2 * size;
    EXPECT_EQ(total, own_layers * (heads == 0 ? 4 : heads) * channels * 2 * lengths.stored());
  }
  const Status refused = check_format(of_layer(choice_of("smaller-model:model_layers=5"), 0, 4), shape, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("at most the 4 layers"), std::string::npos);
  const auto error = [&](const std::string& more) {
    const Status found =
        check_format(of_layer(choice_of("smaller-model:model_layers=4," + more), 0, 4), shape, 1);
    return found.ok() ? std::string() : found.error().to_string();
  };
  const std::string limit =
      ", so that a layer stores at most the 96 elements per token that this model's does, found ";
  EXPECT_EQ(error("heads=5"), "smaller-model:heads: expected at most 4" + limit + "5");
  EXPECT_EQ(error("size=13"), "smaller-model:size: expected at most 12 with 4 heads" + limit + "13");
  EXPECT_EQ(error("heads=8,size=7"), "smaller-model:size: expected at most 6 with 8 heads" + limit + "7");
  EXPECT_EQ(error("heads=49,size=1"), "smaller-model:heads: expected at most 48" + limit + "49");
  EXPECT_EQ(error("heads=8,size=6") + error("heads=1,size=48"), "") << "as many elements in other heads";
}

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/formats/";

std::string component(dom::element golden) {
  std::ostringstream out;
  std::string name{std::string_view(golden["format"])};
  std::replace(name.begin(), name.end(), '_', '-');
  out << name;
  char separator = ':';
  for (const auto& [key, value] : dom::object(golden["params"])) {
    out << separator << key << '=';
    if (value.is_string()) {
      out << std::string_view(value);
    } else {
      out << simdjson::minify(value);
    }
    separator = ',';
  }
  return out.str();
}

/// The columns of both sides and their total.
std::string columns(const LayerBytes& bytes) {
  return text_of(bytes.keys) + text_of(bytes.values) + std::to_string(bytes.total());
}
std::string columns(dom::element golden) {
  std::string out;
  for (const dom::element number : dom::array(golden))
    out += (out.empty() ? "" : " ") + simdjson::minify(number);
  return out;
}

/// SnapKV cuts the prompt and leaves later tokens alone: lengths say it.
TEST(FormatLengths, BytesOfTheGoldenCases) {
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden + "cases")) {
    if (entry.path().stem().string().starts_with("analysis")) continue;
    SCOPED_TRACE(entry.path().stem().string());
    dom::parser golden_parser;
    dom::parser input_parser;
    const dom::element golden = golden_parser.load(entry.path().string());
    const dom::element input = input_parser.load(kGolden + std::string(std::string_view(golden["input"])));
    const auto number = [&](const char* key) { return static_cast<std::int32_t>(std::int64_t(input[key])); };
    const Shape shape{.query_heads = number("query_heads"),
                      .kv_heads = number("kv_heads"),
                      .key_size = number("head_dim"),
                      .value_size = number("head_dim")};
    const FormatChoice format = choice_of(component(golden));
    Lengths lengths{.prompt = golden["prefill_len"]};
    if (!golden["evict"].is_null())
      lengths.prompt = std::min<std::int64_t>(lengths.prompt, golden["evict"]["params"]["capacity"]);
    const auto told = [&] {
      const auto found = bytes_from_lengths(format, shape, lengths);
      return found.ok() ? columns(found.value()) : found.error().to_string();
    };
    EXPECT_EQ(told(), columns(golden["after_prefill"]["bytes"]));
    for (const dom::element step : dom::array(golden["steps"])) {
      ++lengths.generated;
      ASSERT_EQ(told(), columns(step["bytes"])) << "t = " << std::int64_t(step["t"]);
    }
    ++cases;
  }
  EXPECT_EQ(cases, 33U);
}

}  // namespace
}  // namespace kvplan::formats::test
