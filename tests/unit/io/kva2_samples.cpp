#include "tests/unit/io/kva2_samples.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "proto/attention.pb.h"
#include "simulator/io/kva_shape.h"
#include "simulator/io/number_formats.h"
#include "tests/unit/io/kva_samples.h"

namespace kvplan::io {

using attention::Element;
using attention::LayerInfo;
using attention::Part;
using attention::RecordingInfo;

namespace {

double rounded(double x, Element element) {
  const auto narrow = static_cast<float>(x);
  if (element == Element::kF64) return x;
  if (element == Element::kF32) return static_cast<double>(narrow);
  if (element == Element::kF16) return static_cast<double>(float_from_f16(f16_from_float(narrow)));
  return static_cast<double>(float_from_bf16(bf16_from_float(narrow)));
}

LayerInfo random_layer(Random& random, const RecordingInfo& info, std::int32_t number) {
  LayerInfo layer;
  layer.layer = number;
  layer.model_kv_heads = 1 + static_cast<std::int32_t>(random.below(3));
  layer.group = 1 + static_cast<std::int32_t>(random.below(3));
  layer.model_query_heads = layer.model_kv_heads * layer.group;
  layer.key_size = 2 * (1 + static_cast<std::int32_t>(random.below(4)));
  layer.value_size = 1 + static_cast<std::int32_t>(random.below(6));
  layer.logit_scale = 0.25 + random.unit();
  if (random.chance(1, 2)) layer.window = 1 + static_cast<std::int64_t>(random.below(9));
  if (random.chance(1, 2)) layer.soft_cap = 1 + random.unit();
  for (std::int32_t h = 0; h < layer.model_query_heads; ++h) {
    if (random.chance(1, 2) || !layer.sink_logits.empty()) layer.sink_logits.push_back(2 * random.unit() - 1);
    if (random.chance(1, 2) || !layer.bias_slopes.empty()) layer.bias_slopes.push_back(random.unit());
  }
  if (layer.sink_logits.size() < static_cast<std::size_t>(layer.model_query_heads)) layer.sink_logits.clear();
  if (layer.bias_slopes.size() < static_cast<std::size_t>(layer.model_query_heads)) layer.bias_slopes.clear();
  layer.rotary = info.rotary;
  if (random.chance(1, 2))
    layer.rotary = attention::Rotary{.layout = attention::RotaryLayout::kInterleaved,
                                     .dims = layer.key_size,
                                     .base = 500.0,
                                     .linear_factor = 2,
                                     .inverse_frequencies = {},
                                     .amplitude = 1.5};
  for (std::int32_t kv = 0; kv < layer.model_kv_heads; ++kv)
    if (random.chance(2, 3)) layer.recorded_kv_heads.push_back(kv);
  layer.kv_heads = layer.recorded_kv_heads.empty()
                       ? layer.model_kv_heads
                       : static_cast<std::int32_t>(layer.recorded_kv_heads.size());
  layer.query_heads = layer.kv_heads * layer.group;
  for (const attention::StoredPart& stored : info.stored)
    if (stored.part < Part::kTokenClasses && random.chance(4, 5)) layer.parts.add(stored.part);
  if (layer.parts.has(Part::kQueries)) layer.parts.add(Part::kKeys);
  if (layer.parts.empty()) layer.parts = {Part::kKeys};
  return layer;
}

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

std::string without_planes(const std::string& planes, std::size_t width) {
  std::string out = planes;
  const std::size_t n = planes.size() / width;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t b = 0; b < width; ++b) out[i * width + b] = planes[b * n + i];
  return out;
}

std::string unpacked(const v1::AttentionChunk& chunk, std::size_t width) {
  std::string out(chunk.raw_bytes(), '\0');
  const std::string& data = chunk.data();
  if (chunk.codec() == v1::ATTENTION_CODEC_STORED) {
    out = data;
  } else if (chunk.codec() == v1::ATTENTION_CODEC_ZSTD || chunk.codec() == v1::ATTENTION_CODEC_PLANES_ZSTD) {
    EXPECT_EQ(ZSTD_decompress(out.data(), out.size(), data.data(), data.size()), out.size());
  } else {
    uLongf size = out.size();
    EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                         reinterpret_cast<const Bytef*>(data.data()), data.size()),
              Z_OK);
    EXPECT_EQ(size, out.size());
  }
  const bool planes = chunk.codec() >= v1::ATTENTION_CODEC_PLANES_ZSTD;
  return planes ? without_planes(out, width) : out;
}

}  // namespace

RecordingInfo everything(int layers) {
  RecordingInfo info;
  info.version = 2;
  info.model = "test model";
  info.layers = layers;
  info.query_heads = 4;
  info.kv_heads = 2;
  info.key_size = 4;
  info.value_size = 3;
  info.cache_element_bytes = 2;
  info.hidden_size = 5;
  info.positions = "rope";
  info.source = "random numbers";
  info.recorded_by = "test";
  info.recorder = "recorder";
  info.recorder_version = "1.2";
  info.machine = "none";
  info.model_digest = "sha256:0";
  info.token_classes = {"system", "user", "needle"};
  info.rotary = attention::Rotary{.dims = 4, .base = 100, .inverse_frequencies = {}};
  info.stored = {{Part::kRows, Element::kF32},          {Part::kQueries, Element::kF16},
                 {Part::kKeys, Element::kBf16},         {Part::kValues, Element::kF32},
                 {Part::kValueNorms, Element::kF32},    {Part::kLayerInputs, Element::kF16},
                 {Part::kOutputWeights, Element::kF32}, {Part::kTokenClasses, Element::kU8},
                 {Part::kPositions, Element::kU32}};
  for (std::int32_t number = 0; number < layers; ++number) {
    LayerInfo layer = info.layer(0);
    layer.layer = number;
    layer.group = 2;
    layer.parts = {};
    for (const attention::StoredPart& stored : info.stored)
      if (stored.part < Part::kTokenClasses) layer.parts.add(stored.part);
    layer.logit_scale = 0.5;
    info.recorded_layers.push_back(layer);
  }
  return info;
}

FullSample full_sample(Random& random, int sequences, int tokens) {
  FullSample out;
  RecordingInfo& info = out.info;
  info.version = 2;
  info.model = "random";
  info.layers = 4;
  info.query_heads = 2;
  info.kv_heads = 1;
  info.cache_element_bytes = 2;
  info.hidden_size = 1 + static_cast<std::int32_t>(random.below(5));
  const auto one_of = [&](std::vector<Element> elements) { return elements[random.below(elements.size())]; };
  const std::vector<Element> tensor{Element::kF32, Element::kF16, Element::kBf16};
  const std::vector<Element> weights{Element::kF64, Element::kF32, Element::kF16};
  const bool rows = random.chance(1, 2);
  const bool queries = random.chance(2, 3);
  if (rows && random.chance(1, 2)) info.stored.push_back({Part::kRows, one_of(weights)});
  if (queries) info.stored.push_back({Part::kQueries, one_of(tensor)});
  if (queries || random.chance(1, 2)) info.stored.push_back({Part::kKeys, one_of(tensor)});
  if (random.chance(2, 3)) info.stored.push_back({Part::kValues, one_of(tensor)});
  if (rows && (info.stored.empty() || info.stored.front().part != Part::kRows))
    info.stored.push_back({Part::kTopRows, one_of(weights)});
  for (const Part part : {Part::kValueNorms, Part::kLayerInputs, Part::kOutputWeights})
    if (random.chance(1, 2)) info.stored.push_back({part, one_of(tensor)});
  if (info.stored.empty()) info.stored.push_back({Part::kKeys, Element::kF16});
  const bool has_keys = std::any_of(info.stored.begin(), info.stored.end(),
                                    [](const auto& s) { return s.part == Part::kKeys; });
  if (random.chance(1, 2)) {
    info.stored.push_back({Part::kTokenClasses, Element::kU8});
    info.token_classes = {"system", "needle"};
  }
  if (random.chance(1, 2)) info.stored.push_back({Part::kPositions, Element::kU32});
  for (std::int32_t number = 0; number < info.layers; ++number) {
    if (number > 0 && random.chance(1, 3)) continue;
    LayerInfo layer = random_layer(random, info, number);
    if (!has_keys && layer.parts == attention::PartSet{Part::kKeys}) layer.parts = {info.stored.front().part};
    info.recorded_layers.push_back(std::move(layer));
  }
  for (int s = 0; s < sequences; ++s) {
    const auto length = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(tokens)));
    info.sequences.push_back({"sequence " + std::to_string(s), length, length / 2});
  }
  fill_sample(out, random);
  return out;
}

void fill_sample(FullSample& sample, Random& random) {
  const RecordingInfo& info = sample.info;
  const KvaShape shape(info);
  const auto count = static_cast<std::int32_t>(info.sequences.size());
  for (std::int32_t s = 0; s < count; ++s) {
    const std::int64_t tokens = info.sequences[static_cast<std::size_t>(s)].tokens;
    for (const LayerInfo& layer : info.recorded_layers)
      for (std::uint32_t p = 1; p <= attention::kLastPart; ++p) {
        const auto part = static_cast<Part>(p);
        if (!layer.parts.has(part)) continue;
        const Element element = *shape.element(part);
        for (const std::int32_t head : shape.recorded_heads(part, layer)) {
          const Stream stream{s, layer.layer, part, head};
          if (part == Part::kOutputWeights && s > 0) continue;
          if (!is_rows(part)) {
            const std::int64_t length = part == Part::kOutputWeights ? layer.value_size : tokens;
            auto& to = sample.numbers[stream];
            for (std::int64_t i = 0; i < length * shape.numbers(part, layer.layer); ++i) {
              const double x = part == Part::kValueNorms ? random.unit() : 4 * random.unit() - 2;
              to.push_back(static_cast<float>(rounded(x, element)));
            }
            continue;
          }
          auto& to = sample.rows[stream];
          for (std::int64_t t = 0; t < tokens; ++t) {
            const std::int64_t first = layer.first_seen(t);
            std::vector<double> row(static_cast<std::size_t>(t + 1));
            double sum = layer.sink_logits.empty() ? 0 : 0.5;
            for (auto i = static_cast<std::size_t>(first); i < row.size(); ++i)
              sum += row[i] = 0.1 + random.unit();
            for (double& weight : row) weight = rounded(weight / sum, element);
            to.push_back(std::move(row));
          }
        }
      }
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (shape.element(Part::kTokenClasses))
        sample.classes[s].push_back(static_cast<std::uint8_t>(random.below(info.token_classes.size())));
      if (shape.element(Part::kPositions))
        sample.positions[s].push_back(static_cast<std::uint32_t>(2 * t + 3));
    }
  }
}

namespace {

void write_block(KvaWriter& writer, const FullSample& sample, std::int32_t s, std::int64_t begin,
                 std::int64_t end) {
  const KvaShape shape(sample.info);
  const auto from = static_cast<std::ptrdiff_t>(begin);
  const auto count = static_cast<std::size_t>(end - begin);
  if (sample.classes.count(s) > 0) {
    ASSERT_TRUE(writer.token_classes(s, begin, {sample.classes.at(s).data() + from, count}).ok());
  }
  if (sample.positions.count(s) > 0) {
    ASSERT_TRUE(writer.positions(s, begin, {sample.positions.at(s).data() + from, count}).ok());
  }
  for (const auto& [stream, rows] : sample.rows) {
    const auto& [sequence, layer, part, head] = stream;
    if (sequence != s) continue;
    std::vector<double> dense;
    std::vector<TopRow> top;
    for (std::int64_t t = begin; t < end; ++t) {
      const auto& row = rows[static_cast<std::size_t>(t)];
      dense.insert(dense.end(), row.begin(), row.end());
      TopRow listed;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == 0) continue;
        listed.positions.push_back(static_cast<std::int32_t>(i));
        listed.weights.push_back(row[i]);
      }
      top.push_back(std::move(listed));
    }
    const PartPlace place{.sequence = s, .layer = layer, .head = head};
    ASSERT_TRUE(
        (part == Part::kRows ? writer.dense_rows(place, begin, dense) : writer.top_rows(place, begin, top))
            .ok());
  }
  for (const auto& [stream, numbers] : sample.numbers) {
    const auto& [sequence, layer, part, head] = stream;
    if (sequence != s || part == Part::kOutputWeights) continue;
    const std::int64_t size = shape.numbers(part, layer);
    ASSERT_TRUE(writer
                    .numbers({.sequence = s, .layer = layer, .head = head}, part, begin,
                             {numbers.data() + from * size, count * static_cast<std::size_t>(size)})
                    .ok());
  }
}

}  // namespace

std::string kva2_of(const FullSample& sample, Codec codec, std::int64_t block, bool finish) {
  std::string bytes;
  auto made = KvaWriter::make(sample.info, codec, into(bytes));
  EXPECT_TRUE(made.ok()) << made.error().to_string();
  if (!made.ok()) return bytes;
  KvaWriter& writer = *made.value();
  for (std::size_t s = 0; s < sample.info.sequences.size(); ++s) {
    const attention::SequenceInfo& sequence = sample.info.sequences[s];
    const auto number = writer.begin_sequence(sequence.name, sequence.prompt_tokens);
    EXPECT_TRUE(number.ok());
    for (const auto& [stream, numbers] : sample.numbers) {
      const auto& [first, layer, part, head] = stream;
      if (s > 0 || part != Part::kOutputWeights) continue;
      EXPECT_TRUE(writer.numbers({.layer = layer, .head = head}, part, 0, numbers).ok());
    }
    for (std::int64_t begin = 0; begin < sequence.tokens; begin += block)
      write_block(writer, sample, static_cast<std::int32_t>(s), begin,
                  std::min(begin + block, sequence.tokens));
    EXPECT_TRUE(writer.end_sequence(number.value(), sequence.tokens).ok());
  }
  if (finish) {
    EXPECT_TRUE(writer.finish().ok());
  }
  return bytes;
}

WalkedFile walk_file(const std::string& bytes) {
  WalkedFile out;
  std::size_t at = 8;
  std::map<std::int32_t, std::size_t> widths;
  while (at + 16 <= bytes.size()) {
    std::uint64_t length = 0;
    std::uint32_t sum = 0;
    std::memcpy(&sum, bytes.data() + at + 4, 4);
    std::memcpy(&length, bytes.data() + at + 8, 8);
    if (length > bytes.size() - at - 16) break;
    const std::string payload = bytes.substr(at + 16, length);
    const std::string covered = bytes.substr(at, 4) + bytes.substr(at + 8, 8) + payload;
    if (crc32(0, reinterpret_cast<const Bytef*>(covered.data()), static_cast<uInt>(covered.size())) != sum)
      break;
    const std::string kind = bytes.substr(at, 4);
    if (kind == "HEAD") {
      v1::AttentionHeader header;
      EXPECT_TRUE(header.ParseFromString(payload));
      constexpr std::size_t kWidths[] = {0, 8, 4, 2, 2, 1, 4};
      for (const auto& part : header.parts()) widths[part.part()] = kWidths[part.element()];
    } else if (kind == "SEQN") {
      v1::AttentionSequence sequence;
      EXPECT_TRUE(sequence.ParseFromString(payload));
      out.sequences[static_cast<std::int32_t>(sequence.sequence())] = {sequence.tokens(),
                                                                       sequence.complete()};
    } else if (kind == "CHNK") {
      v1::AttentionChunk chunk;
      EXPECT_TRUE(chunk.ParseFromString(payload));
      const Stream stream{static_cast<std::int32_t>(chunk.sequence()),
                          static_cast<std::int32_t>(chunk.layer()), static_cast<Part>(chunk.part()),
                          static_cast<std::int32_t>(chunk.head())};
      out.chunks[stream][chunk.first_token()] = unpacked(chunk, widths[chunk.part()]);
      out.ends[stream] = chunk.first_token() + chunk.tokens();
    }
    at += 16 + length;
    out.end = static_cast<std::int64_t>(at);
  }
  return out;
}

std::string framed(const std::vector<std::pair<FrameKind, std::string>>& frames) {
  std::string out(kKvaMagic);
  for (const auto& [kind, payload] : frames) out += frame(kind, payload);
  return out;
}

}  // namespace kvplan::io
