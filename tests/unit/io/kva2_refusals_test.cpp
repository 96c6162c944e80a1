// Recordings of version 2 that are refused, and the error texts.
#include <gtest/gtest.h>
#include <zlib.h>
#include <cstring>
#include <limits>

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

using attention::LayerInfo;
using attention::Part;

std::string error_of(const std::string& bytes) {
  const auto recording = open_kva(random_access_of(bytes, "x.kva"));
  return recording.ok() ? "" : recording.error().to_string();
}

/// A correct header of version 2, to be changed by tests.
v1::AttentionHeader good_header() {
  return header_of(everything(2));
}

std::string header_error(const std::function<void(v1::AttentionHeader&)>& change) {
  v1::AttentionHeader header = good_header();
  change(header);
  v1::AttentionSequence sequence;
  sequence.set_tokens(1);
  return error_of(framed({{FrameKind::kHeader, header.SerializeAsString()},
                          {FrameKind::kSequence, sequence.SerializeAsString()}}));
}

TEST(KvaTwo, ImpossibleHeadersAreRefused) {
  using Header = v1::AttentionHeader;
  EXPECT_EQ(header_error([](Header&) {}), "");
  struct Case {
    std::function<void(Header&)> change;
    const char* error;
  };
  const Case cases[] = {
      {[](Header& h) { h.set_version(3); }, "version: expected version 1 or 2, found 3"},
      {[](Header& h) { h.set_form(v1::ATTENTION_FORM_TENSORS); },
       "expected no form, element, has_values and sequences: only version 1 has them"},
      {[](Header& h) { h.mutable_model()->set_layers(0); }, "model.layers: expected 1 to 4096, found 0"},
      {[](Header& h) { h.mutable_model()->set_query_heads(2000); },
       "model.query_heads: expected 1 to 1024, found 2000"},
      {[](Header& h) { h.mutable_model()->set_kv_heads(3); },
       "model.kv_heads: expected a divisor of 4 query heads, found 3"},
      {[](Header& h) { h.mutable_model()->set_cache_element_bytes(17); },
       "model.cache_element_bytes: expected 0 to 16, found 17"},
      {[](Header& h) { h.mutable_model()->set_hidden_size(0); },
       "model.hidden_size: expected 1 to 65536, found 0"},
      {[](Header& h) { h.mutable_parts(0)->set_part(static_cast<v1::AttentionPart>(11)); },
       "parts[0].part: expected a part from 1 to 10, found 11"},
      {[](Header& h) { h.mutable_parts(0)->set_element(static_cast<v1::AttentionElement>(9)); },
       "parts[0].element: expected 1 to 6, found 9"},
      {[](Header& h) { h.mutable_parts(0)->set_element(v1::ATTENTION_ELEMENT_BF16); },
       "parts[0].element: an element that rows cannot have"},
      {[](Header& h) { h.mutable_parts(1)->set_element(v1::ATTENTION_ELEMENT_F64); },
       "parts[1].element: an element that queries cannot have"},
      {[](Header& h) { h.mutable_parts()->SwapElements(0, 1); },
       "parts[1]: expected parts in ascending order"},
      {[](Header& h) { h.mutable_parts(4)->set_part(v1::ATTENTION_PART_TOP_ROWS); },
       "parts: expected rows or top rows, found both"},
      {[](Header& h) { h.clear_token_classes(); }, "token_classes: expected names of token classes"},
      {[](Header& h) { h.clear_layers(); }, "layers: expected at least one layer"},
      {[](Header& h) { h.mutable_layers(1)->set_layer(0); }, "layers[1]: expected layers in ascending order"},
      {[](Header& h) { h.mutable_layers(1)->set_layer(2); }, "layers[1].layer: expected 0 to 1, found 2"},
      {[](Header& h) { h.mutable_layers(0)->set_kv_heads(3); },
       "layers[0].kv_heads: expected a divisor of 4 query heads, found 3"},
      {[](Header& h) { h.mutable_layers(0)->set_key_size(70000); },
       "layers[0].key_size: expected 1 to 65536, found 70000"},
      {[](Header& h) { h.mutable_layers(0)->add_parts(v1::ATTENTION_PART_TOKEN_CLASSES); },
       "layers[0].parts: expected parts 1 to 8 that the header lists, found 9"},
      {[](Header& h) {
         h.mutable_layers(0)->clear_parts();
         h.mutable_layers(0)->add_parts(v1::ATTENTION_PART_QUERIES);
       },
       "layers[0].parts: expected queries and keys together"},
      {[](Header& h) { h.mutable_layers(0)->set_logit_scale(-1); },
       "layers[0].logit_scale: expected a number above 0 and at most 1e6"},
      {[](Header& h) { h.mutable_layers(0)->set_soft_cap(std::numeric_limits<double>::quiet_NaN()); },
       "layers[0].soft_cap: expected a number from 0 to 1e6"},
      {[](Header& h) { h.mutable_layers(0)->add_sink_logits(1); },
       "layers[0].sink_logits: expected 4 to 4, found 1"},
      {[](Header& h) {
         for (int i = 0; i < 4; ++i)
           h.mutable_layers(0)->add_bias_slopes(std::numeric_limits<double>::infinity());
       },
       "layers[0].bias_slopes: expected numbers from -1e6 to 1e6"},
      {[](Header& h) { h.mutable_layers(0)->add_recorded_kv_heads(2); },
       "layers[0].recorded_kv_heads: expected ascending numbers below 2, found 2"},
      {[](Header& h) { h.mutable_rotary()->set_layout(v1::ATTENTION_ROTARY_LAYOUT_UNSPECIFIED); },
       "rotary.layout: expected 1 or 2, found 0"},
      {[](Header& h) { h.mutable_rotary()->set_dims(6); },
       "layers[0].rotary.dims: expected an even number of elements within a key of 4, found 6 from 0"},
      {[](Header& h) { h.mutable_rotary()->set_dims(3); },
       "layers[0].rotary.dims: expected an even number of elements within a key of 4, found 3 from 0"},
      {[](Header& h) { h.mutable_rotary()->set_base(0.5); },
       "layers[0].rotary.base: expected a number from 1 to 1e30, found 0.5"},
      {[](Header& h) { h.mutable_rotary()->set_amplitude(-1); },
       "layers[0].rotary.amplitude: expected a number from 1e-6 to 1e6, found -1"},
      {[](Header& h) { h.mutable_rotary()->add_inverse_frequencies(1); },
       "layers[0].rotary.inverse_frequencies: expected 2 to 2, found 1"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(header_error(each.change), std::string("x.kva: byte 8: ") + each.error);
}

v1::AttentionChunk key_chunk(const std::vector<float>& numbers) {
  v1::AttentionChunk chunk;
  chunk.set_part(v1::ATTENTION_PART_VALUES);
  chunk.set_tokens(1);
  std::string raw(reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4);
  chunk.set_raw_bytes(raw.size());
  chunk.set_data(raw);
  return chunk;
}

std::string chunk_error(const std::function<void(v1::AttentionChunk&)>& change) {
  v1::AttentionHeader header = good_header();
  header.clear_parts();
  auto& part = *header.add_parts();
  part.set_part(v1::ATTENTION_PART_VALUES);
  part.set_element(v1::ATTENTION_ELEMENT_F32);
  for (auto& layer : *header.mutable_layers()) layer.clear_parts();
  header.mutable_layers(0)->add_recorded_kv_heads(0);
  header.clear_rotary();
  v1::AttentionChunk chunk = key_chunk({1, 2, 3});
  change(chunk);
  const std::string bytes = framed(
      {{FrameKind::kHeader, header.SerializeAsString()}, {FrameKind::kChunk, chunk.SerializeAsString()}});
  const auto recording = open_kva(random_access_of(bytes, "x.kva"));
  if (!recording.ok()) return recording.error().to_string();
  const auto found = recording.value()->numbers(0, 0, Part::kValues, 0);
  return found.ok() ? "" : found.error().to_string();
}

TEST(KvaTwo, ImpossibleChunksAreRefused) {
  using Chunk = v1::AttentionChunk;
  EXPECT_EQ(chunk_error([](Chunk&) {}), "");
  const auto expect = [&](const std::function<void(Chunk&)>& change, const std::string& error) {
    const std::string found = chunk_error(change);
    EXPECT_NE(found.find(error), std::string::npos) << found;
    EXPECT_EQ(found.find("x.kva: byte "), 0U) << found;
  };
  expect([](Chunk& c) { c.set_layer(2); }, "layer: expected less than 2, found 2");
  expect([](Chunk& c) { c.set_head(2); }, "head: expected less than 2, found 2");
  expect([](Chunk& c) { c.set_head(1); }, "head: expected a head that the header lists, found 1");
  expect([](Chunk& c) { c.set_sequence(1 << 20); }, "sequence: expected less than 1048576, found 1048576");
  expect([](Chunk& c) { c.set_part(v1::ATTENTION_PART_KEYS); },
         "part: a part that this version of the file cannot have");
  expect([](Chunk& c) { c.set_part(static_cast<v1::AttentionPart>(300)); },
         "part: a part that this version of the file");
  expect([](Chunk& c) { c.set_tokens(0); }, "tokens: expected tokens within the sequence's 1048576, found 0");
  expect([](Chunk& c) { c.set_tokens(2); }, "raw_bytes: expected 24 for 2 tokens, found 12");
  expect([](Chunk& c) { c.set_raw_bytes(11); }, "raw_bytes: expected 12 for 1 tokens, found 11");
  expect([](Chunk& c) { c.set_codec(static_cast<v1::AttentionCodec>(5)); },
         "unknown codec 5 (known: 0 stored, 1 zstd, 2 zlib, 3 planes and zstd, 4 planes and zlib)");
  expect([](Chunk& c) { c.set_codec(v1::ATTENTION_CODEC_PLANES_ZSTD); }, "damaged zstd data");
  expect([](Chunk& c) { c.set_data("123"); }, "expected 12 bytes of data, found 3");
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    expect(
        [bad](Chunk& c) {
          c.set_data(key_chunk({1, bad, 3}).data());
        },
        "values of head 0: expected finite numbers");
}

TEST(KvaTwo, TheWriterRefusesWhatIsNotFinite) {
  FullSample sample;
  sample.info = everything(1);
  std::string bytes;
  auto writer = KvaWriter::make(sample.info, Codec::kStored, into(bytes));
  ASSERT_TRUE(writer.ok() && writer.value()->begin_sequence("s", 0).ok());
  const auto put = [&](Part part, float x) {
    return writer.value()->numbers({}, part, 0, std::vector<float>(part == Part::kValues ? 3 : 4, x)).ok();
  };
  EXPECT_TRUE(put(Part::kValues, 1e38F));
  EXPECT_FALSE(put(Part::kValues, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_TRUE(put(Part::kQueries, 65504));
  EXPECT_FALSE(put(Part::kQueries, 65536)) << "no f16";
}

TEST(KvaTwo, ARowThatIsNoRowIsRefused) {
  struct Case {
    std::vector<double> last;
    std::int64_t window;
    bool sink;
    std::string error;
  };
  const Case cases[] = {
      {{0.25, 0.25, 0.5}, 0, false, ""},
      {{0, 0.5, 0.5}, 2, false, ""},
      {{0.25, 0.25, 0.5}, 2, false, "expected weights of 0 before the window, found another for token 0"},
      {{0, 0, 0}, 0, false, "expected weights that sum to 1, found a sum of 0"},
      {{0, 0, 0}, 0, true, ""},
      {{0.25, std::numeric_limits<double>::quiet_NaN(), 0.5},
       0,
       true,
       "expected weights from 0 to 1, found nan"},
  };
  for (const Case& each : cases) {
    FullSample sample;
    sample.info = everything(1);
    sample.info.sequences = {{"s", 3, 1}};
    LayerInfo& layer = sample.info.recorded_layers[0];
    layer.model_query_heads = layer.model_kv_heads = layer.query_heads = layer.kv_heads = 1;
    layer.parts = {Part::kRows};
    layer.window = each.window;
    if (each.sink) layer.sink_logits = {0.5};
    const std::vector<std::vector<double>> rows{{1}, {0.5, 0.5}, each.last};
    sample.rows[{0, 0, Part::kRows, 0}] = rows;
    sample.classes[0] = {0, 1, 2};
    sample.positions[0] = {0, 1, 2};
    const auto recording = opened(kva2_of(sample, Codec::kStored, 3));
    ASSERT_NE(recording, nullptr);
    auto reader = recording->open(0, 0);
    ASSERT_TRUE(reader.ok()) << reader.error().to_string();
    const Status sought = reader.value()->seek(2);
    EXPECT_EQ(sought.ok(), each.error.empty());
    if (!sought.ok()) {
      EXPECT_NE(sought.error().to_string().find("row 2: " + each.error), std::string::npos);
    } else if (each.sink) {
      EXPECT_EQ(reader.value()->row(0).sink, 1.0);
    }
  }
}

TEST(KvaTwo, MissingLayersAndPartsAreNamed) {
  FullSample sample;
  sample.info = everything(7);
  auto& layers = sample.info.recorded_layers;
  layers.erase(layers.begin() + 3, layers.begin() + 5);
  sample.info.sequences = {{"s", 2, 1}};
  Random random(5, "missing");
  fill_sample(sample, random);
  const auto recording = opened(kva2_of(sample, Codec::kZstd, 2));
  ASSERT_NE(recording, nullptr);
  EXPECT_EQ(recording->tokens(0, 3), 0);
  const auto missing = recording->open(0, 3);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().to_string(),
            "x.kva: layer 3 of sequence 0 was not recorded; recorded layers: 0 to 2, 5, 6");
  const auto policy = attention::parse_policy("h2o:hh=1,recent=1");
  const auto evaluated =
      attention::evaluate(*recording, {.policy = policy.value(), .prompt = 1, .sequence = 0, .layer = 4},
                          [](const auto& /*replay*/) -> Status { return Done{}; });
  ASSERT_FALSE(evaluated.ok());
  EXPECT_EQ(evaluated.error().to_string(),
            "--layer: layer 4 of sequence 0 was not recorded; recorded layers: 0 to 2, 5, 6");
}

/// A token is missing in the middle of a part of a sequence that is marked as complete.
TEST(KvaTwo, GapsAreNamed) {
  FullSample sample;
  sample.info = everything(1);
  sample.info.sequences = {{"s", 4, 1}};
  Random random(6, "gap");
  fill_sample(sample, random);
  std::string bytes;
  auto writer = KvaWriter::make(sample.info, Codec::kStored, into(bytes));
  ASSERT_TRUE(writer.ok() && writer.value()->begin_sequence("s", 1).ok());
  const auto& values = sample.numbers.at({0, 0, Part::kValues, 0});
  ASSERT_TRUE(writer.value()->numbers({}, Part::kValues, 0, std::span(values).first(6)).ok());
  ASSERT_TRUE(writer.value()->numbers({}, Part::kValues, 3, std::span(values).subspan(9)).ok());
  ASSERT_TRUE(writer.value()->end_sequence(0, 4).ok() && writer.value()->finish().ok());
  const auto recording = opened(bytes);
  ASSERT_NE(recording, nullptr);
  EXPECT_EQ(recording->numbers(0, 0, Part::kValues, 0).error().to_string(),
            "x.kva: layer 0, values of head 0: expected all 4 tokens, token 2 is missing");
  EXPECT_EQ(recording->numbers(0, 0, Part::kKeys, 0).error().to_string(),
            "x.kva: layer 0, keys of head 0: were not recorded; other parts of this layer were");
  EXPECT_EQ(recording->token_classes(0).error().to_string(),
            "x.kva: token classes: were not recorded for this sequence");
}

}  // namespace
}  // namespace kvplan::io
