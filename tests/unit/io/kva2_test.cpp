// .kva files of version 2: every part read back in any mixture, files cut off anywhere, and what is refused.
#include <gtest/gtest.h>
#include <zlib.h>
#include <algorithm>
#include <cstring>

#include "proto/attention.pb.h"
#include "simulator/attention/evaluation.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/io/byte_planes.h"
#include "simulator/io/kva_header.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/kva_shape.h"
#include "tests/unit/io/kva2_samples.h"
#include "tests/unit/io/kva2_support.h"
#include "tests/unit/io/kva_samples.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::LayerInfo;
using attention::Part;
using attention::Recording;
using attention::RecordingInfo;

constexpr Codec kCodecs[] = {Codec::kStored, Codec::kZstd, Codec::kZlib, Codec::kPlanesZstd,
                             Codec::kPlanesZlib};

double weight_at(const attention::RowView& row, std::size_t i) {
  return row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]);
}

/// Checks all of `sample` up to the tokens that the recording calls complete.
void expect_same(const FullSample& sample, const Recording& recording, const std::string& bytes) {
  const KvaShape shape(sample.info);
  for (const auto& [stream, numbers] : sample.numbers) {
    const auto& [s, layer, part, head] = stream;
    if (recording.info().sequences.size() <= static_cast<std::size_t>(s)) continue;
    const std::int64_t tokens = recording.tokens(s, layer);
    if (tokens == 0 || part == Part::kOutputWeights) continue;
    const auto found = recording.numbers(s, layer, part, head);
    ASSERT_TRUE(found.ok()) << found.error().to_string() << " of " << bytes.size();
    const auto wanted = static_cast<std::size_t>(tokens * shape.numbers(part, layer));
    ASSERT_EQ(found.value(),
              std::vector<float>(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(wanted)));
  }
  for (const auto& [stream, rows] : sample.rows) {
    const auto& [s, layer, part, head] = stream;
    if (recording.info().sequences.size() <= static_cast<std::size_t>(s)) continue;
    const std::int64_t tokens = recording.tokens(s, layer);
    if (tokens == 0) continue;
    const LayerInfo info = recording.info().layer(layer);
    auto reader = recording.open(s, layer);
    ASSERT_TRUE(reader.ok()) << reader.error().to_string();
    std::int32_t number = 0;
    while (info.model_query_head(number) != head) ++number;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const Status sought = reader.value()->seek(t);
      ASSERT_TRUE(sought.ok()) << sought.error().to_string();
      const auto& row = rows[static_cast<std::size_t>(t)];
      double sum = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        ASSERT_EQ(weight_at(reader.value()->row(number), i), row[i]) << t << " " << i;
        sum += row[i];
      }
      const double sink = info.sink_logits.empty() ? 0 : std::max(0.0, 1 - sum);
      ASSERT_NEAR(reader.value()->row(number).sink, sink, 1e-12);
    }
  }
  for (std::size_t s = 0; s < recording.info().sequences.size(); ++s) {
    const auto number = static_cast<std::int32_t>(s);
    if (sample.classes.count(number) == 0 || recording.info().sequences[s].tokens == 0) continue;
    const auto found = recording.token_classes(number);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    const auto& classes = sample.classes.at(number);
    ASSERT_EQ(found.value(), std::vector<std::uint8_t>(
                                 classes.begin(), classes.begin() + recording.info().sequences[s].tokens));
  }
}

TEST(KvaTwo, EveryMixtureOfPartsComesBack) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "kva2");
    const FullSample sample = full_sample(random, 1 + static_cast<int>(random.below(3)), 20);
    const Codec codec = kCodecs[random.below(5)];
    const std::string bytes = kva2_of(sample, codec, 1 + static_cast<std::int64_t>(random.below(25)));
    const auto recording = opened(bytes);
    ASSERT_NE(recording, nullptr);
    const RecordingInfo& info = recording->info();
    EXPECT_EQ(info.version, 2);
    EXPECT_EQ(info.cut, "");
    EXPECT_EQ(info.stored, sample.info.stored);
    EXPECT_EQ(info.token_classes, sample.info.token_classes);
    ASSERT_EQ(info.recorded_layers.size(), sample.info.recorded_layers.size());
    for (std::size_t i = 0; i < info.recorded_layers.size(); ++i) {
      const LayerInfo& found = info.recorded_layers[i];
      const LayerInfo& wanted = sample.info.recorded_layers[i];
      EXPECT_EQ(found.layer, wanted.layer);
      EXPECT_EQ(found.query_heads, wanted.query_heads);
      EXPECT_EQ(found.kv_heads, wanted.kv_heads);
      EXPECT_EQ(found.group, wanted.group);
      EXPECT_EQ(found.key_size, wanted.key_size);
      EXPECT_EQ(found.value_size, wanted.value_size);
      EXPECT_EQ(found.parts, wanted.parts);
      EXPECT_EQ(found.logit_scale, wanted.logit_scale);
      EXPECT_EQ(found.window, wanted.window);
      EXPECT_EQ(found.soft_cap, wanted.soft_cap);
      EXPECT_EQ(found.sink_logits, wanted.sink_logits);
      EXPECT_EQ(found.bias_slopes, wanted.bias_slopes);
      EXPECT_EQ(found.rotary, wanted.rotary);
      EXPECT_EQ(found.recorded_kv_heads, wanted.recorded_kv_heads);
    }
    ASSERT_EQ(info.sequences.size(), sample.info.sequences.size());
    for (std::size_t s = 0; s < info.sequences.size(); ++s) {
      EXPECT_EQ(info.sequences[s].name, sample.info.sequences[s].name);
      EXPECT_EQ(info.sequences[s].tokens, sample.info.sequences[s].tokens);
      EXPECT_EQ(info.sequences[s].prompt_tokens, sample.info.sequences[s].prompt_tokens);
    }
    for (const auto& [stream, numbers] : sample.numbers) {
      const auto& [s, layer, part, head] = stream;
      if (part != Part::kOutputWeights || recording->tokens(s, layer) == 0) continue;
      const auto found = recording->numbers(s, layer, part, head);
      ASSERT_TRUE(found.ok()) << found.error().to_string();
      EXPECT_EQ(found.value(), numbers);
    }
    expect_same(sample, *recording, bytes);
    if (HasFatalFailure()) return;
  }
}

TEST(KvaTwo, HeaderFieldsComeBack) {
  FullSample sample;
  sample.info = everything(2);
  sample.info.sequences.push_back({"only", 5, 2});
  Random random(1, "fields");
  fill_sample(sample, random);
  const auto recording = opened(kva2_of(sample, Codec::kPlanesZstd, 2));
  ASSERT_NE(recording, nullptr);
  const RecordingInfo& info = recording->info();
  EXPECT_EQ(info.model, "test model");
  EXPECT_EQ(info.recorder, "recorder");
  EXPECT_EQ(info.recorder_version, "1.2");
  EXPECT_EQ(info.machine, "none");
  EXPECT_EQ(info.model_digest, "sha256:0");
  EXPECT_EQ(info.positions, "rope");
  EXPECT_EQ(info.hidden_size, 5);
  EXPECT_EQ(info.rotary, sample.info.rotary);
  EXPECT_TRUE(info.has_values);
  EXPECT_FALSE(info.sizes_assumed);
  const auto tensors = recording->tensors(0, 1);
  ASSERT_TRUE(tensors.ok()) << tensors.error().to_string();
  EXPECT_EQ(tensors.value().positions, sample.positions.at(0));
  EXPECT_EQ(tensors.value().output_weights[3], (sample.numbers.at({0, 1, Part::kOutputWeights, 3})));
  EXPECT_EQ(tensors.value().value_norms[1], (sample.numbers.at({0, 1, Part::kValueNorms, 1})));
}

/// Tokens that all parts and heads of a layer have, by what the second reader read.
std::int64_t whole_by_hand(const FullSample& sample, const WalkedFile& walked, std::int32_t s,
                           const LayerInfo& layer) {
  const KvaShape shape(sample.info);
  std::int64_t out = INT64_MAX;
  bool any = false;
  const auto end_of = [&](const Stream& stream) {
    const auto at = walked.ends.find(stream);
    return at == walked.ends.end() ? 0 : at->second;
  };
  for (std::uint32_t p = 1; p <= 7; ++p) {
    const auto part = static_cast<Part>(p);
    if (!layer.parts.has(part)) continue;
    any = true;
    for (const std::int32_t head : shape.recorded_heads(part, layer))
      out = std::min(out, end_of({s, layer.layer, part, head}));
  }
  if (!any) return 0;
  if (!sample.classes.empty()) out = std::min(out, end_of({s, 0, Part::kTokenClasses, 0}));
  if (!sample.positions.empty()) out = std::min(out, end_of({s, 0, Part::kPositions, 0}));
  return out;
}

/// The byte after the frame at `at`.
std::size_t frame_end(const std::string& bytes, std::size_t at) {
  std::uint64_t length = 0;
  if (at + 16 <= bytes.size()) std::memcpy(&length, bytes.data() + at + 8, 8);
  return at + 16 + length;
}

TEST(KvaTwo, CutAnywhereEverythingWholeIsRead) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "cut");
    const FullSample sample = full_sample(random, 2, 6);
    const std::string bytes = kva2_of(sample, kCodecs[seed % 5], 2);
    const std::size_t header_end = frame_end(bytes, 8);
    std::size_t read = 0;
    WalkedFile walked;
    std::size_t next = 0;  // where the next complete frame begins
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::string cut = bytes.substr(0, length);
      const auto recording = open_kva(random_access_of(cut, "x.kva"));
      const bool another = length >= next;
      if (another) {
        walked = walk_file(cut);
        next = frame_end(bytes, std::max<std::size_t>(8, static_cast<std::size_t>(walked.end)));
      }
      if (length < header_end || walked.sequences.empty()) {
        ASSERT_FALSE(recording.ok()) << length;
        ASSERT_EQ(recording.error().to_string().substr(0, 6), "x.kva:");
        ASSERT_EQ(recording.error().to_string().find('\n'), std::string::npos);
        continue;
      }
      ASSERT_TRUE(recording.ok()) << length << ": " << recording.error().to_string();
      const RecordingInfo& info = recording.value()->info();
      ASSERT_EQ(info.cut.find("the file was truncated at byte " + std::to_string(walked.end) + " "), 0U)
          << info.cut;
      ASSERT_EQ(info.cut.find('\n'), std::string::npos);
      for (std::size_t s = 0; s < info.sequences.size(); ++s) {
        const auto number = static_cast<std::int32_t>(s);
        const bool complete = walked.sequences.at(number).second;
        ASSERT_EQ(info.sequences[s].complete, complete);
        for (const LayerInfo& layer : sample.info.recorded_layers) {
          const std::int64_t tokens = whole_by_hand(sample, walked, number, layer);
          ASSERT_EQ(recording.value()->tokens(number, layer.layer), tokens) << length;
          read += static_cast<std::size_t>(tokens);
        }
      }
      if (another) expect_same(sample, *recording.value(), cut);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(read, 0U);
  }
}

TEST(KvaTwo, ACutFileSaysHowMuchIsWhole) {
  FullSample sample;
  sample.info = everything(2);
  sample.info.sequences = {{"first", 4, 2}, {"second", 4, 2}};
  Random random(2, "cut");
  fill_sample(sample, random);
  const std::string bytes = kva2_of(sample, Codec::kStored, 2, false);
  const auto whole = opened(bytes);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->info().cut, "the file was truncated at byte " + std::to_string(bytes.size()) +
                                   " or is unfinished: all of its sequences are complete");
  const auto less = opened(bytes.substr(0, bytes.size() - 40));
  ASSERT_NE(less, nullptr);
  EXPECT_NE(less->info().cut.find(
                ": of sequence 1 2 to 4 tokens are complete, by layer; 1 other sequence is complete"),
            std::string::npos)
      << less->info().cut;
}

TEST(KvaTwo, EveryFlippedBitIsNoticed) {
  FullSample sample;
  sample.info = everything(1);
  sample.info.sequences = {{"s", 3, 1}};
  Random random(3, "flip");
  fill_sample(sample, random);
  const std::string bytes = kva2_of(sample, Codec::kPlanesZlib, 2);
  // The index repeats the contents of a sequence's own frames; readers use the index.
  std::vector<bool> repeated(bytes.size());
  for (std::size_t at = 8; at + 20 < bytes.size(); at = frame_end(bytes, at))
    if (bytes.compare(at, 4, "SEQN") == 0)
      std::fill(repeated.begin() + static_cast<std::ptrdiff_t>(at),
                repeated.begin() + static_cast<std::ptrdiff_t>(frame_end(bytes, at)), true);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (repeated[i]) continue;
    std::string broken = bytes;
    broken[i] = static_cast<char>(broken[i] ^ (1 << (i % 8)));
    const auto recording = open_kva(random_access_of(broken, "x.kva"));
    if (!recording.ok()) continue;
    if (!recording.value()->info().cut.empty()) {
      ASSERT_GE(i, bytes.size() - 8) << "only a broken end makes a file look cut";
      continue;
    }
    bool refused = !recording.value()->token_classes(0).ok();
    const KvaShape shape(sample.info);
    for (std::uint32_t p = 2; p <= 8; ++p) {
      const auto part = static_cast<Part>(p);
      if (!sample.info.recorded_layers[0].parts.has(part)) continue;
      for (const std::int32_t head : shape.recorded_heads(part, sample.info.recorded_layers[0]))
        refused = refused || !recording.value()->numbers(0, 0, part, head).ok();
    }
    auto rows = recording.value()->open(0, 0);
    for (std::int64_t t = 0; rows.ok() && t < 3; ++t) refused = refused || !rows.value()->seek(t).ok();
    ASSERT_TRUE(refused || !rows.ok()) << "byte " << i;
  }
}

TEST(KvaTwo, FramesOfAnUnknownKindArePassedOver) {
  FullSample sample;
  sample.info = everything(1);
  sample.info.sequences = {{"s", 3, 1}};
  Random random(7, "unknown");
  fill_sample(sample, random);
  std::string bytes = kva2_of(sample, Codec::kStored, 2, false);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + 16, 8);
  std::string strange = frame(FrameKind::kSequence, "anything at all");
  strange.replace(0, 4, "XTRA");
  const std::string covered = strange.substr(0, 4) + strange.substr(8);
  const auto sum = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(covered.data()), static_cast<uInt>(covered.size())));
  std::memcpy(strange.data() + 4, &sum, 4);
  bytes.insert(24 + length, strange);
  const auto recording = opened(bytes);
  ASSERT_NE(recording, nullptr);
  expect_same(sample, *recording, bytes);
  EXPECT_EQ(recording->tokens(0, 0), 3);
}

TEST(BytePlanes, AreWhatThePageSays) {
  EXPECT_EQ(to_planes("a1b2c3", 2), "abc123");
  EXPECT_EQ(to_planes("a1b2c3x", 2), "abc123x");
  EXPECT_EQ(to_planes("abcd", 1), "abcd");
  EXPECT_EQ(to_planes("", 4), "");
  Random random(1, "planes");
  for (int round = 0; round < 50; ++round) {
    std::string raw(random.below(20000), '\0');
    for (char& c : raw) c = static_cast<char>(random.below(256));
    for (const std::int64_t width : {1, 2, 4, 8}) EXPECT_EQ(from_planes(to_planes(raw, width), width), raw);
  }
}

/// Files of version 1 have the same bytes as before version 2 existed.
TEST(Kva, VersionOneIsWrittenAsEver) {
  const auto sum = [](const std::string& bytes) {
    return crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  };
  EXPECT_EQ(sum(kva_of(tensor_sample(8, 9, Element::kF16), Codec::kStored)), 3475427979U);
  EXPECT_EQ(sum(kva_of(tensor_sample(8, 9, Element::kBf16), Codec::kStored)), 4148637487U);
}

}  // namespace
}  // namespace kvplan::io
