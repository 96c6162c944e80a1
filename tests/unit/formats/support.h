// Random layers, and codecs that receive their tokens.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/formats/formats.h"
#include "tests/unit/formats/naive.h"
#include "tests/unit/formats/nearest.h"

namespace kvplan::formats::test {

/// Keys and values of a layer: binary16 numbers, some of them zero, some outliers.
struct Layer {
  Shape shape;
  std::vector<Rows> keys;                   ///< [KV head], those of other layers last
  std::vector<Rows> values;                 ///< the same
  std::vector<std::vector<float>> queries;  ///< [query head]

  [[nodiscard]] const std::vector<Rows>& side(Side which) const {
    return which == Side::kKeys ? keys : values;
  }
};

inline Layer random_layer(Random& random, const Shape& shape, std::int64_t tokens,
                          std::int32_t other_heads = 0) {
  static const std::vector<double> kHalves = values_of(kBinary16);
  Layer out{.shape = shape, .keys = {}, .values = {}, .queries = {}};
  const auto number = [&] {
    if (random.chance(1, 20)) return 0.0;
    const double size = random.chance(1, 50) ? 30 : 2;
    return nearest(kHalves, size * (2 * random.unit() - 1));
  };
  for (const Side side : kSides)
    for (std::int32_t h = 0; h < shape.kv_heads + other_heads; ++h) {
      Rows rows(static_cast<std::size_t>(tokens), Vector(static_cast<std::size_t>(shape.size(side))));
      const bool constant = random.chance(1, 8);
      for (Vector& row : rows)
        for (double& v : row) v = constant ? 0.25 : number();
      (side == Side::kKeys ? out.keys : out.values).push_back(std::move(rows));
    }
  for (std::int32_t q = 0; q < shape.query_heads; ++q) {
    out.queries.emplace_back();
    for (std::int64_t i = 0; i < tokens * shape.key_size; ++i)
      out.queries.back().push_back(static_cast<float>(number()));
  }
  return out;
}

/// A layer with numbers as the bytes-from-lengths rule of KVQuant assumes them: no two of a prompt's keys or of a
/// value are equal; of the elements of later keys the share `outliers`, rounded down, lies outside [-1, 1], while the
/// prompt's all lie inside. The others lie in the middle of the range that their channel had in the prompt, if any.
inline Layer usual_layer(Random& random, const Shape& shape, std::int64_t tokens, std::int64_t prompt,
                         double outliers) {
  Layer out = random_layer(random, shape, tokens);
  for (std::vector<Rows>* side : {&out.keys, &out.values})
    for (Rows& head : *side)
      for (Vector& row : head)
        for (double& v : row) v = 2 * random.unit() - 1;
  const auto channels = static_cast<std::int64_t>(shape.kv_heads) * shape.key_size;
  std::int64_t beyond = 0;
  for (std::int64_t t = prompt; t < tokens; ++t) {
    // A share with an exact decimal value may be a little less in binary.
    const double share = outliers * static_cast<double>(channels * (t + 1 - prompt)) + 1e-9;
    for (std::int64_t c = 0; c < channels; ++c) {
      Rows& head = out.keys[static_cast<std::size_t>(c / shape.key_size)];
      const auto channel = static_cast<std::size_t>(c % shape.key_size);
      double& v = head[static_cast<std::size_t>(t)][channel];
      if (beyond < static_cast<std::int64_t>(share)) {
        v = random.chance(1, 2) ? 3 : -3;
        ++beyond;
        continue;
      }
      if (prompt == 0) continue;
      Vector seen;
      for (std::int64_t i = 0; i < prompt; ++i) seen.push_back(head[static_cast<std::size_t>(i)][channel]);
      std::nth_element(seen.begin(), seen.begin() + prompt / 2, seen.end());
      v = seen[static_cast<std::size_t>(prompt / 2)];
    }
  }
  return out;
}

/// Random numbers, or numbers as the format's bytes-from-lengths rule assumes them.
inline Layer layer_for(Random& random, const FormatChoice& format, const Shape& shape, std::int64_t tokens,
                       std::int64_t prompt, std::int32_t other_heads) {
  if (assumed(format).empty()) return random_layer(random, shape, tokens, other_heads);
  return usual_layer(random, shape, tokens, prompt, format.choice.decimal("outliers"));
}

/// Appends tokens [begin, end) of every head that the codec stores. REQUIRES: the layer has these tokens.
inline void append(Codec& codec, const Layer& layer, std::int64_t begin, std::int64_t end) {
  struct Flat {
    std::vector<std::int64_t> positions;
    std::vector<double> keys, values;
  };
  std::vector<Flat> flat(static_cast<std::size_t>(codec.shape().kv_heads + codec.other_heads()));
  std::vector<HeadTokens> heads;
  for (std::size_t h = 0; h < flat.size(); ++h) {
    for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(end); ++t) {
      flat[h].positions.push_back(static_cast<std::int64_t>(t));
      flat[h].keys.insert(flat[h].keys.end(), layer.keys[h][t].begin(), layer.keys[h][t].end());
      flat[h].values.insert(flat[h].values.end(), layer.values[h][t].begin(), layer.values[h][t].end());
    }
    heads.push_back({flat[h].positions, flat[h].keys, flat[h].values});
  }
  codec.append(heads);
}

inline std::unique_ptr<Codec> codec_of(const std::string& text, const Shape& shape, std::int64_t prompt) {
  auto format = parse_format(text);
  KVPLAN_CHECK(format.ok());
  KVPLAN_CHECK(check_format(format.value(), shape, prompt).ok());
  return format.value().kind->make(format.value().choice, shape);
}

inline Rows stored_rows(const Plane& plane) {
  Rows out;
  for (std::int32_t i = 0; i < plane.tokens(); ++i)
    out.emplace_back(plane.stored(i).begin(), plane.stored(i).end());
  return out;
}

}  // namespace kvplan::formats::test
