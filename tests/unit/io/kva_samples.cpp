#include "tests/unit/io/kva_samples.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/io/number_formats.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan::io {

using attention::Element;

ByteSink into(std::string& bytes) {
  return [&bytes](std::string_view part) -> Status {
    bytes += part;
    return Done{};
  };
}

TensorSample tensor_sample(std::uint64_t seed, int tokens, Element element) {
  TensorSample out;
  out.info.model = "test model";
  out.info.query_heads = 4;
  out.info.kv_heads = 2;
  out.info.key_size = 8;
  out.info.value_size = 6;
  out.info.cache_element_bytes = 2;
  out.info.form = attention::RecordedForm::kTensors;
  out.info.element = element;
  out.info.logit_scale = 1 / std::sqrt(8.0);
  out.info.has_values = true;
  out.info.positions = "rope, absolute";
  out.info.sequences.push_back({"one", tokens, tokens / 2});
  Random random(seed, "tensors");
  const auto fill = [&](std::vector<std::vector<float>>& heads, int count, int size) {
    for (int h = 0; h < count; ++h) {
      heads.emplace_back();
      for (int i = 0; i < tokens * size; ++i) {
        auto x = static_cast<float>(4 * random.unit() - 2);
        if (element == Element::kF16) x = float_from_f16(f16_from_float(x));
        if (element == Element::kBf16) x = float_from_bf16(bf16_from_float(x));
        heads.back().push_back(x);
      }
    }
  };
  fill(out.queries, 4, 8);
  fill(out.keys, 2, 8);
  fill(out.values, 2, 6);
  return out;
}

std::string kva_of(const TensorSample& sample, Codec codec) {
  std::string bytes;
  auto writer = KvaWriter::make(sample.info, codec, into(bytes));
  EXPECT_TRUE(writer.ok()) << writer.error().to_string();
  const auto put = [&](const std::vector<std::vector<float>>& heads, TensorPart part) {
    for (std::size_t h = 0; h < heads.size(); ++h)
      EXPECT_TRUE(writer.value()->tensor({0, 0, static_cast<std::int32_t>(h)}, part, heads[h]).ok());
  };
  put(sample.values, TensorPart::kValues);  // in any order
  put(sample.queries, TensorPart::kQueries);
  put(sample.keys, TensorPart::kKeys);
  EXPECT_TRUE(writer.value()->finish().ok());
  return bytes;
}

std::string row_sample(std::uint64_t seed, int tokens, Element element, std::int64_t top) {
  Random random(seed, "rows");
  std::vector<attention::Rows> layers;
  for (int layer = 0; layer < 2; ++layer)
    layers.push_back(attention::random_rows(random, 2, tokens, attention::RowKind::kSmooth));
  std::string bytes;
  EXPECT_TRUE(write_kva(*attention::recording_of(layers), element, top, Codec::kZstd, into(bytes)).ok());
  return bytes;
}

}  // namespace kvplan::io
