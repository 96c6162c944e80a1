// Bytes from lengths alone are those that codecs count while they encode, in every region.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <functional>
#include <set>

#include "tests/unit/formats/lengths_support.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

/// A text, and the numbers of channels that it divides.
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
  /// Parameters `group` and a residual of whole groups.
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

  /// Drops equally many tokens of each head, chosen by `random`: separately for each head, or for all heads together if
  /// heads share the stored data of a token. Returns how many.
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

/// If any tokens may be dropped, their number suffices; otherwise equal numbers of drops take different bytes.
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

/// The table of paging classes in the documentation of policies and formats: a fixed size per token means PG0.
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

/// The outliers of a chunk are where the numbers are, so a part of the chunk may have any number of them.
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
  // Tokens 0 to 7 are encoded with the prompt, in two groups; 8 to 11 wait. Three steps drop 0, 1 and 2.
  EXPECT_EQ(of(3).keys.codes, 5 * 16 * 4 / 8);
  EXPECT_EQ(of(3).keys.scales, 2 * 16 * 2) << "token 3 keeps its group's scales";
  EXPECT_EQ(of(3).keys.exact, 7 * 16 * 2);
  // The fourth step encodes 8 to 15, and 3 is dropped: of four groups, three are left.
  EXPECT_EQ(of(4).keys.codes, 12 * 16 * 4 / 8);
  EXPECT_EQ(of(4).keys.scales, 3 * 16 * 2);
  EXPECT_EQ(of(4).keys.exact, 0);
  // Of the values, the newest 8 are always exact, and each of the 4 others has its own four scales.
  EXPECT_EQ(of(4).values.codes, 4 * 16 * 4 / 8);
  EXPECT_EQ(of(4).values.scales, 4 * 4 * 2);
  EXPECT_EQ(of(4).values.exact, 8 * 16 * 2);
  // A window smaller than the residual plus one never has enough tokens to encode.
  const Lengths narrow{.prompt = 6, .generated = 100, .dropped = 100, .sinks = 0};
  EXPECT_EQ(bytes_from_lengths(choice_of("kivi:bits=4,group=4,residual=8"), shape, narrow).value().total(),
            6 * 2 * 16 * 2);
}

/// If tokens are stored at once, n of them take n times the bytes of one, and nothing changes when the prompt ends; for
/// every other format, at least one of these is false for some layer.
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
    // Elements smaller than a byte are packed over the tokens of a layer: eight tokens take whole bytes.
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

}  // namespace
}  // namespace kvplan::formats::test
