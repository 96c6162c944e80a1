// .kva files: every form read back, rows computed from tensors compared with plain formulas, and every way to damage a
// file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/io/kva_reader.h"
#include "simulator/io/number_formats.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/io/kva_samples.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::LayerRows;
using attention::Outcome;
using attention::RecordedForm;

Result<std::shared_ptr<const attention::Recording>> open_bytes(const std::string& bytes) {
  return open_kva(random_access_of(bytes, "x.kva"));
}

double weight_at(const attention::RowView& row, std::size_t i) {
  return row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]);
}

TEST(Kva, DenseRowsComeBack) {
  for (const Element element : {Element::kF64, Element::kF32, Element::kF16}) {
    Random random(3, "rows");
    std::vector<attention::Rows> layers;
    for (int layer = 0; layer < 2; ++layer)
      layers.push_back(attention::random_rows(random, 2, 700, attention::RowKind::kSmooth));
    const auto recording = open_bytes(row_sample(3, 700, element, 0));  // several chunks per head
    ASSERT_TRUE(recording.ok()) << recording.error().to_string();
    for (std::int32_t layer = 0; layer < 2; ++layer) {
      auto rows = recording.value()->open(0, layer);
      ASSERT_TRUE(rows.ok());
      for (std::int64_t t = 0; t < 700; ++t) {
        ASSERT_TRUE(rows.value()->seek(t).ok());
        for (std::int32_t h = 0; h < 2; ++h) {
          const auto& expected = layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(h)]
                                       [static_cast<std::size_t>(t)];
          for (std::size_t i = 0; i < expected.size(); ++i) {
            const double found = weight_at(rows.value()->row(h), i);
            if (element == Element::kF64) {
              ASSERT_EQ(found, expected[i]);
            } else if (element == Element::kF32) {
              ASSERT_EQ(found, static_cast<double>(static_cast<float>(expected[i])));
            } else {
              ASSERT_NEAR(found, expected[i], expected[i] / 2000 + 3e-8);
            }
          }
        }
      }
    }
  }
}

TEST(Kva, TopEntriesKeepTheMass) {
  const auto full = open_bytes(row_sample(4, 80, Element::kF64, 0));
  const auto top = open_bytes(row_sample(4, 80, Element::kF64, 10));
  ASSERT_TRUE(full.ok() && top.ok());
  EXPECT_EQ(top.value()->info().form, RecordedForm::kTopEntries);
  auto a = full.value()->open(0, 1);
  auto b = top.value()->open(0, 1);
  ASSERT_TRUE(a.ok() && b.ok());
  for (std::int64_t t = 0; t < 80; ++t) {
    ASSERT_TRUE(a.value()->seek(t).ok() && b.value()->seek(t).ok());
    double sum = 0;
    int equal = 0;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(t); ++i) {
      sum += weight_at(b.value()->row(1), i);
      equal += weight_at(a.value()->row(1), i) == weight_at(b.value()->row(1), i) ? 1 : 0;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_GE(equal, std::min<std::int64_t>(t + 1, 10));
  }
  // A list of all entries loses nothing.
  const auto all = open_bytes(row_sample(4, 80, Element::kF64, 80));
  ASSERT_TRUE(all.ok());
  for (const char* policy : {"h2o:hh=5,recent=5", "tova:budget=9"}) {
    const Outcome exact = attention::run_policy(*full.value(), policy, 20);
    EXPECT_EQ(exact.retained, attention::run_policy(*all.value(), policy, 20).retained);
    EXPECT_TRUE(exact.summary.assumptions.empty());
    EXPECT_EQ(attention::run_policy(*top.value(), policy, 20).summary.assumptions.size(), 1U);
  }
}

/// Softmax by the plain formula over the given positions.
std::vector<double> softmax(const TensorSample& s, int head, int t, const std::vector<int>& over) {
  std::vector<double> out;
  const auto& q = s.queries[static_cast<std::size_t>(head)];
  const auto& k = s.keys[static_cast<std::size_t>(head / 2)];
  for (const int i : over) {
    double dot = 0;
    for (int c = 0; c < 8; ++c)
      dot += static_cast<double>(q[static_cast<std::size_t>(t * 8 + c)]) *
             static_cast<double>(k[static_cast<std::size_t>(i * 8 + c)]);
    out.push_back(dot * s.info.logit_scale);
  }
  const double top = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (double& x : out) sum += x = std::exp(x - top);
  for (double& x : out) x /= sum;
  return out;
}

std::vector<double> output(const TensorSample& s, int head, const std::vector<int>& over,
                           const std::vector<double>& weights) {
  std::vector<double> out(6);
  for (std::size_t i = 0; i < over.size(); ++i)
    for (std::size_t c = 0; c < 6; ++c)
      out[c] += weights[i] *
                static_cast<double>(
                    s.values[static_cast<std::size_t>(head / 2)][static_cast<std::size_t>(over[i]) * 6 + c]);
  return out;
}

TEST(Kva, TensorsGiveTheRowsOfTheFormula) {
  constexpr int kTokens = 75;
  for (const Element element : {Element::kF32, Element::kF16, Element::kBf16}) {
    const TensorSample sample = tensor_sample(5, kTokens, element);
    const auto recording = open_bytes(kva_of(sample, Codec::kZstd));
    ASSERT_TRUE(recording.ok()) << recording.error().to_string();
    EXPECT_EQ(recording.value()->info().group, 2);
    auto rows = recording.value()->open(0, 0);
    ASSERT_TRUE(rows.ok()) << rows.error().to_string();
    std::vector<int> all;
    for (int t = 0; t < kTokens; ++t) {
      all.push_back(t);
      ASSERT_TRUE(rows.value()->seek(t).ok());
      for (int h = 0; h < 4; ++h) {
        const auto expected = softmax(sample, h, t, all);
        for (std::size_t i = 0; i < all.size(); ++i)
          ASSERT_NEAR(rows.value()->row(h).f64[i], expected[i], 1e-13) << "t " << t << ", head " << h;
      }
    }
  }
}

TEST(Kva, PoliciesOnTensorsRecomputeOverWhatIsKept) {
  constexpr int kTokens = 60;
  constexpr int kPrompt = 20;
  const TensorSample sample = tensor_sample(6, kTokens, Element::kF32);
  const auto recording = open_bytes(kva_of(sample, Codec::kZlib));
  ASSERT_TRUE(recording.ok());
  // A second implementation of H2O: softmax over the kept tokens only, per query head, mean over the two of a KV head.
  const Outcome found = attention::run_policy(*recording.value(), "h2o:hh=5,recent=4", kPrompt);
  for (int kv = 0; kv < 2; ++kv) {
    std::vector<int> kept;
    std::vector<double> acc(kTokens);
    for (int t = 0; t < kTokens; ++t) {
      kept.push_back(t);
      for (int h = 2 * kv; h < 2 * kv + 2; ++h) {
        const auto row = softmax(sample, h, t, kept);
        for (std::size_t i = 0; i < kept.size(); ++i) acc[static_cast<std::size_t>(kept[i])] += row[i] / 2;
        if (t < kPrompt) continue;
        std::vector<int> all(static_cast<std::size_t>(t + 1));
        for (int i = 0; i <= t; ++i) all[static_cast<std::size_t>(i)] = i;
        const auto full = softmax(sample, h, t, all);
        double mass = 0;
        for (const int p : kept) mass += full[static_cast<std::size_t>(p)];
        const auto step = static_cast<std::size_t>(t - kPrompt);
        const auto head = static_cast<std::size_t>(h);
        EXPECT_NEAR(found.mass[step][head], mass, 1e-12);
        const auto o = output(sample, h, all, full);
        const auto o2 = output(sample, h, kept, row);
        double off = 0;
        double whole = 0;
        for (std::size_t c = 0; c < 6; ++c) {
          off += (o[c] - o2[c]) * (o[c] - o2[c]);
          whole += o[c] * o[c];
        }
        EXPECT_NEAR(found.error[step][head], std::sqrt(off / whole), 1e-9);
        // Invariant: the error is bounded by the mass that was lost.
        double longest = 0;
        for (const int p : all) {
          double square = 0;
          for (std::size_t c = 0; c < 6; ++c)
            square += std::pow(
                static_cast<double>(
                    sample.values[static_cast<std::size_t>(kv)][static_cast<std::size_t>(p) * 6 + c]),
                2);
          longest = std::max(longest, std::sqrt(square));
        }
        EXPECT_LE(std::sqrt(off), 2 * (1 - mass) * longest + 1e-12);
      }
      while (t >= kPrompt - 1 && kept.size() > 9) {
        std::size_t worst = 0;
        for (std::size_t i = 0; i + 4 < kept.size(); ++i)
          if (acc[static_cast<std::size_t>(kept[i])] < acc[static_cast<std::size_t>(kept[worst])]) worst = i;
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(worst));
      }
      if (t < kPrompt) continue;
      EXPECT_EQ(found.retained[static_cast<std::size_t>(t - kPrompt)][static_cast<std::size_t>(kv)],
                std::vector<std::int32_t>(kept.begin(), kept.end()));
    }
  }
  EXPECT_TRUE(found.summary.mean_output_error.has_value());
}

TEST(Kva, SoftmaxOverAVanishingRestIsTakenFromTheLogits) {
  // Token 0 gets the whole mass of every row; the others' weights underflow, yet they differ among themselves.
  TensorSample sample = tensor_sample(1, 6, Element::kF32);
  for (auto& q : sample.queries) std::fill(q.begin(), q.end(), 1.0F);
  for (auto& k : sample.keys) {
    std::fill(k.begin(), k.end(), 0.0F);
    k[0] = 1e5F;
    for (std::size_t t = 1; t < 6; ++t) k[t * 8] = static_cast<float>(t % 3);
  }
  const auto recording = open_bytes(kva_of(sample, Codec::kStored));
  ASSERT_TRUE(recording.ok());
  const Outcome found =
      attention::run_policy(*recording.value(), "h2o:hh=1,recent=1", 5);  // token 0 stays: its score is 5
  EXPECT_EQ(found.retained[0][0], (std::vector<std::int32_t>{0, 5}));
  const Outcome window = attention::run_policy(*recording.value(), "window:window=2", 2);
  EXPECT_EQ(window.mass.back()[0], 0.0);
  EXPECT_TRUE(std::isfinite(window.error.back()[0]));
  EXPECT_GT(window.error.back()[0], 0.0);
}

/// Everything that can be read from a file: sets and masses of two policies on every layer, or the error.
std::string answers(const std::string& bytes) {
  const auto recording = open_bytes(bytes);
  if (!recording.ok()) return "error: " + recording.error().to_string();
  std::string out;
  for (std::int32_t layer = 0; layer < recording.value()->info().layers; ++layer) {
    for (const char* text : {"h2o:hh=2,recent=2", "window:window=3"}) {
      const auto policy = attention::parse_policy(text);
      const attention::EvaluationRequest request{
          .policy = policy.value(), .prompt = 3, .sequence = 0, .layer = layer};
      const auto done = attention::evaluate(*recording.value(), request, [&](const auto& replay) -> Status {
        for (std::int32_t u = 0; u < replay.sets(); ++u)
          for (const auto p : replay.kept(u)) out += std::to_string(p) + " ";
        for (const double mass : replay.attended_mass()) out += std::to_string(mass) + " ";
        return Done{};
      });
      if (!done.ok()) return "error: " + done.error().to_string();
    }
  }
  return out;
}

std::vector<std::string> small_files() {
  return {row_sample(8, 9, Element::kF64, 0), row_sample(8, 9, Element::kF16, 0),
          row_sample(8, 9, Element::kF32, 3), kva_of(tensor_sample(8, 9, Element::kF16), Codec::kZstd),
          kva_of(tensor_sample(8, 9, Element::kBf16), Codec::kZlib)};
}

TEST(Kva, EveryTruncationIsNoticed) {
  for (const std::string& bytes : small_files()) {
    ASSERT_EQ(answers(bytes).substr(0, 5).find("error"), std::string::npos) << answers(bytes);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::string answer = answers(bytes.substr(0, length));
      ASSERT_EQ(answer.substr(0, 12), "error: x.kva") << length << ": " << answer;
      ASSERT_EQ(answer.find('\n'), std::string::npos);
    }
  }
}

TEST(Kva, EveryFlippedBitIsNoticed) {
  for (const std::string& bytes : small_files()) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ (1 << (i % 8)));
      const std::string answer = answers(broken);
      ASSERT_EQ(answer.substr(0, 12), "error: x.kva") << "byte " << i << ": " << answer;
    }
  }
}

std::string rows_error(const std::vector<double>& weights, std::int64_t first = 0) {
  std::string bytes;
  attention::RecordingInfo info;
  info.sequences.push_back({"", 3, 0});
  auto writer = KvaWriter::make(info, Codec::kStored, into(bytes));
  EXPECT_TRUE(writer.ok() && writer.value()->dense_rows({}, first, weights).ok() &&
              writer.value()->finish().ok());
  const auto recording = open_bytes(bytes);
  EXPECT_TRUE(recording.ok());
  auto rows = recording.value()->open(0, 0);
  if (!rows.ok()) return rows.error().to_string();
  const Status sought = rows.value()->seek(2);
  return sought.ok() ? "" : sought.error().to_string();
}

TEST(Kva, BadNumbersAreNamed) {
  EXPECT_EQ(rows_error({1, .5, .5, .5, .25, .25}), "");
  EXPECT_EQ(rows_error({1, .5, .5, .5, .75, -.25}),
            "x.kva: byte 42: row 2: expected weights from 0 to 1, found -0.25 for token 2");
  EXPECT_EQ(rows_error({1, .5, .5, .5, std::numeric_limits<double>::quiet_NaN(), .25}),
            "x.kva: byte 42: row 2: expected weights from 0 to 1, found nan for token 1");
  EXPECT_EQ(rows_error({1, .5, .5, .9, .9, .9}),
            "x.kva: byte 42: row 2: expected weights that sum to 1, found a sum of 2.7");
  EXPECT_EQ(rows_error({1, .5, .5, 0, 0, 0}),
            "x.kva: byte 42: row 2: expected weights that sum to 1, found a sum of 0");
  EXPECT_EQ(rows_error({1, .5, .5}), "x.kva: row 2 of query head 0 is needed but was not recorded");
}

/// A missing head is an error of that head when a policy needs its layer; other layers can be read.
TEST(Kva, MissingHeadsAreNamed) {
  std::string bytes;
  attention::RecordingInfo info;
  info.layers = 2;
  info.query_heads = 2;
  info.kv_heads = 2;
  info.sequences.push_back({"", 2, 0});
  auto writer = KvaWriter::make(info, Codec::kStored, into(bytes));
  ASSERT_TRUE(writer.ok());
  const std::vector<double> rows{1, .5, .5};
  ASSERT_TRUE(writer.value()->dense_rows({.sequence = 0, .layer = 0, .head = 0}, 0, rows).ok());
  for (const std::int32_t head : {0, 1})
    ASSERT_TRUE(writer.value()->dense_rows({.sequence = 0, .layer = 1, .head = head}, 0, rows).ok());
  ASSERT_TRUE(writer.value()->finish().ok());
  const auto recording = open_bytes(bytes);
  ASSERT_TRUE(recording.ok());
  const Status missing = recording.value()->open(0, 0).value()->seek(0);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().to_string(),
            "x.kva: layer 0, query head 1: was not recorded, but other heads of this layer were");
  EXPECT_TRUE(recording.value()->open(0, 1).value()->seek(1).ok());
}

TEST(Kva, ImpossibleHeadersAreRefused) {
  const auto error_of = [](const attention::RecordingInfo& info) {
    std::string bytes;
    const auto writer = KvaWriter::make(info, Codec::kStored, into(bytes));
    return writer.ok() ? "" : writer.error().to_string();
  };
  attention::RecordingInfo good;
  good.sequences.push_back({"", 5, 0});
  EXPECT_EQ(error_of(good), "");
  auto bad = good;
  bad.query_heads = 6;
  bad.kv_heads = 4;
  EXPECT_EQ(error_of(bad), "model.kv_heads: expected a divisor of 6 query heads, found 4");
  bad = good;
  bad.layers = 5000;
  EXPECT_EQ(error_of(bad), "model.layers: expected 1 to 4096, found 5000");
  bad = good;
  bad.sequences[0].tokens = 1 << 30;
  EXPECT_EQ(error_of(bad), "sequences[0].tokens: expected 1 to 1048576, found 1073741824");
  bad = good;
  bad.sequences.clear();
  EXPECT_EQ(error_of(bad), "sequences: expected 1 to 1048576, found 0");
  bad = good;
  bad.element = Element::kBf16;
  EXPECT_EQ(error_of(bad), "element: rows are f64, f32 or f16");
}

TEST(Kva, MemoryOfALayerIsBounded) {
  const std::string bytes = kva_of(tensor_sample(2, 500, Element::kF16), Codec::kZstd);
  KvaOptions options;
  options.max_layer_bytes = 100'000;
  const auto recording = open_kva(random_access_of(bytes, "x.kva"), options);
  ASSERT_TRUE(recording.ok());
  const auto layer = recording.value()->open(0, 0);
  ASSERT_FALSE(layer.ok());
  EXPECT_EQ(layer.error().to_string().substr(0, 45), "x.kva: reading one layer would take 186048 by");
}

TEST(Kva, MemoryOfOpenRowsIsBounded) {
  KvaOptions options;
  options.max_layer_bytes = 1'500'000;  // two heads, each a chunk of about 1 MB
  for (const std::int64_t top : {0, 600}) {
    const std::string bytes = row_sample(2, 600, Element::kF64, top);
    const auto recording = open_kva(random_access_of(bytes, "x.kva"), options);
    ASSERT_TRUE(recording.ok());
    auto layer = recording.value()->open(0, 0);
    ASSERT_TRUE(layer.ok());
    const Status sought = layer.value()->seek(400);
    ASSERT_FALSE(sought.ok());
    EXPECT_NE(sought.error().to_string().find("at most 1500000 are allowed"), std::string::npos);
  }
}

TEST(NumberFormats, HalvesRoundTripAndRoundToEven) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = float_from_f16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(f16_from_float(value), bits);
    if (std::isinf(value) || bits >= 0x7BFF) continue;
    const float next = float_from_f16(static_cast<std::uint16_t>(bits + 1));
    const float middle = (value + next) / 2;
    ASSERT_EQ(f16_from_float(middle), bits % 2 == 0 ? bits : bits + 1) << value;
    ASSERT_EQ(f16_from_float(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(f16_from_float(std::nextafter(middle, 1e9F)), bits + 1);
  }
  EXPECT_EQ(f16_from_float(65519.9F), 0x7BFF);
  EXPECT_EQ(f16_from_float(65520.0F), 0x7C00);
  EXPECT_EQ(float_from_bf16(bf16_from_float(1.0F + 1.0F / 256)), 1.0F);  // a tie goes to even
  EXPECT_EQ(float_from_bf16(bf16_from_float(1.0F + 3.0F / 256)), 1.0F + 1.0F / 64);
}

}  // namespace
}  // namespace kvplan::io
