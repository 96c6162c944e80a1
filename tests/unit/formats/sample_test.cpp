// Properties that formats must have for every input, checked on keys and values of the bundled recording: errors of
// quantisers, the tokens that KIVI keeps exact, and truncations compared with the spectrum in the recording's analysis.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/attention/tensor_rows.h"
#include "simulator/formats/analysis.h"
#include "simulator/io/attention_json.h"
#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {
namespace {

constexpr std::int32_t kSequence = 7;
constexpr std::int64_t kPrompt = 64;

struct Recorded {
  Layer layer;
  std::array<std::vector<std::vector<float>>, 2> tensors;  ///< [side][KV head]
  std::int64_t tokens;
};

Recorded recorded(std::int32_t number) {
  static const auto kSample =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  const attention::LayerTensors in = kSample->tensors(kSequence, number).value();
  Recorded out{.layer = {.shape = {.query_heads = in.query_heads,
                                   .kv_heads = in.kv_heads,
                                   .key_size = in.key_size,
                                   .value_size = in.value_size},
                         .keys = {},
                         .values = {},
                         .queries = in.queries},
               .tensors = {in.keys, in.values},
               .tokens = in.tokens};
  for (const Side side : kSides)
    for (const std::vector<float>& head : out.tensors[static_cast<std::size_t>(side)]) {
      const auto size = static_cast<std::ptrdiff_t>(out.layer.shape.size(side));
      Rows rows;
      for (auto at = head.begin(); at != head.end(); at += size) rows.emplace_back(at, at + size);
      (side == Side::kKeys ? out.layer.keys : out.layer.values).push_back(std::move(rows));
    }
  return out;
}

/// The whole sequence at once, as a prompt.
std::unique_ptr<Codec> encoded(const std::string& text, const Recorded& in) {
  auto codec = codec_of(text, in.layer.shape, in.tokens);
  append(*codec, in.layer, 0, in.tokens);
  codec->end_prompt({.tokens = in.tokens, .heads = in.layer.queries});
  return codec;
}

template <class Check>
void each_element(const Codec& codec, const Recorded& in, const Check& check) {
  for (const Side side : kSides)
    for (std::int32_t h = 0; h < in.layer.shape.kv_heads; ++h)
      for (std::int32_t i = 0; i < in.tokens; ++i)
        for (std::int32_t c = 0; c < in.layer.shape.size(side); ++c) {
          const auto place = static_cast<std::size_t>(c);
          check(in.layer.side(side)[static_cast<std::size_t>(h)][static_cast<std::size_t>(i)][place],
                codec.plane(side, h).stored(i)[place], codec.coded(side, h, i, c));
        }
}

/// 13: errors are half a step plus the rounding of scale and zero point to binary16; codes are in range.
TEST(SampleFormats, QuantisersErrByHalfAStep) {
  for (std::int32_t number = 0; number < 6; ++number) {
    const Recorded in = recorded(number);
    for (const int bits : {8, 4, 2}) {
      const auto codec = encoded("int-token:bits=" + std::to_string(bits), in);
      each_element(*codec, in, [&](double x, double stored, const Coded& coded) {
        ASSERT_TRUE(coded.code && coded.scale && coded.zero);
        ASSERT_GE(*coded.code, 0);
        ASSERT_LT(*coded.code, 1 << bits);
        const double rounding = (*coded.scale * (1 << bits) + std::fabs(*coded.zero)) * 0x1p-10;
        ASSERT_LE(std::fabs(x - stored), *coded.scale / 2 + rounding) << number << ", " << bits << " bits";
      });
    }
    const auto codec = encoded("fp8", in);
    each_element(*codec, in, [](double x, double stored, const Coded&) {
      ASSERT_LE(std::fabs(x - stored), std::max(0x1p-4 * std::fabs(x), 0x1p-10));
      ASSERT_GE(x * stored, 0) << "odd";
    });
  }
}

/// 14: of T tokens, those that fill groups are encoded; keys keep fewer than a group exact, values the last ones.
TEST(SampleFormats, KiviKeepsATail) {
  constexpr std::int64_t kResidual = 32;
  const Recorded in = recorded(2);
  auto codec = codec_of("kivi:bits=2,group=32,residual=32", in.layer.shape, kPrompt);
  append(*codec, in.layer, 0, kPrompt);
  codec->end_prompt({.tokens = kPrompt, .heads = in.layer.queries});
  for (std::int64_t t = kPrompt; t < in.tokens; ++t) {
    append(*codec, in.layer, t, t + 1);
    codec->end_step();
    for (std::int32_t h = 0; h < in.layer.shape.kv_heads; ++h) {
      const Plane& keys = codec->plane(Side::kKeys, h);
      const Plane& values = codec->plane(Side::kValues, h);
      ASSERT_EQ(keys.tokens(), t + 1);
      ASSERT_EQ(values.tokens(), t + 1);
      ASSERT_LT(keys.exact_tokens(), kResidual);
      ASSERT_EQ((keys.tokens() - keys.exact_tokens()) % kResidual, 0);
      ASSERT_EQ(values.exact_tokens(), kResidual);
    }
  }
}

/// 17: with as many clusters as tokens, every token is unchanged.
TEST(SampleFormats, AsManyClustersAsTokensAreTheTokens) {
  const Recorded in = recorded(4);
  const auto codec = encoded("kmeans:recent=0,sinks=0,clusters=" + std::to_string(in.tokens), in);
  each_element(*codec, in, [](double x, double stored, const Coded&) { ASSERT_NEAR(x, stored, 1e-3); });
}

/// 15: the error of a truncation is the tail of the spectrum; it falls with the rank, and the full rank has no error.
TEST(SampleFormats, TruncationsErrByTheTailOfTheSpectrum) {
  for (const std::int32_t number : {0, 3, 5}) {
    const Recorded in = recorded(number);
    std::array<std::vector<double>, 2> before;
    for (std::size_t place = 0; place < 4; ++place) {
      const std::int64_t rank = std::int64_t{4} << place;  // an eighth of 32 channels, ..., all
      const std::string ranks = std::to_string(rank);
      const auto codec = encoded("eigen:rank=" + ranks + ",rank_v=" + ranks, in);
      for (const Side side : kSides)
        for (std::int32_t h = 0; h < in.layer.shape.kv_heads; ++h) {
          SCOPED_TRACE("layer " + std::to_string(number) + ", rank " + ranks + ", head " + std::to_string(h));
          const auto& tensor = in.tensors[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)];
          const TensorSpectrum found = tensor_spectrum(tensor, in.layer.shape.size(side), 0.99);
          double lost = 0;
          double all = 0;
          const Rows stored = stored_rows(codec->plane(side, h));
          for (std::size_t i = 0; i < stored.size(); ++i)
            for (std::size_t c = 0; c < stored[i].size(); ++c) {
              const double x = in.layer.side(side)[static_cast<std::size_t>(h)][i][c];
              lost += (x - stored[i][c]) * (x - stored[i][c]);
              all += x * x;
            }
          const double relative = std::sqrt(lost / all);
          const double wanted = place < 3 ? found.tails[place].relative : 0.0;
          EXPECT_NEAR(relative, wanted, 1e-9);
          auto& last = before[static_cast<std::size_t>(side)];
          last.resize(4, 1.0);
          EXPECT_LT(relative, last[static_cast<std::size_t>(h)]);
          last[static_cast<std::size_t>(h)] = relative;
        }
    }
  }
}

}  // namespace
}  // namespace kvplan::formats::test
