// KVQuant: codes refer to numbers of a learnt table; keys are coded between thresholds of their channel, values between
// thresholds of their token; elements beyond the thresholds (outliers) are stored exactly.
//
// A row holds what the heads of the layer store side by side: first the first prompt token of each head, then the
// second, and so on (tokens of one position, unless a policy kept different tokens in different heads), then each new
// token. Its values have one pair of thresholds over all heads, and one pointer to its outliers on each side. Parts of
// a row that heads share are freed when the last head drops its token.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "simulator/formats/clusters.h"
#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"
#include "simulator/formats/shares.h"
#include "simulator/formats/small_floats.h"

namespace kvplan::formats::kvquant {
namespace {

constexpr Param kBits = bits_param("Bits per code", "3");
constexpr std::array kParams{
    kBits,
    Param{.name = "outliers",
          .help = "Share of outliers beyond the thresholds, half above and half below: of the elements of a "
                  "key channel in the prompt, or of a token's values in all heads",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0.01",
          .low = 0,
          .high = 0.5},
    Param{.name = "iterations",
          .help = "Maximum number of iterations of Lloyd's algorithm for the table",
          .fallback = "20",
          .low = 1,
          .high = 1000},
    kSideParam};

constexpr std::int64_t kPointerBytes = 4;  // position at which the outliers of a token begin
constexpr std::int64_t kOutlierBytes = 2;  // for its number, and for its position

/// Numbers between these become codes: those at zero - scale and zero + scale are -1 and 1.
struct Range {
  double scale;
  double zero;
  double low;
  double high;
};

Range range_between(double low, double high) {
  return {.scale = to_half((high - low) / 2), .zero = to_half((high + low) / 2), .low = low, .high = high};
}

class Kvquant final : public QuantisedCodec {
 public:
  /// `side`: thresholds of keys, and tables; null: they are learnt from the prompt.
  Kvquant(const Shape& shape, const Choice& choice, const SideLayer* side)
      : QuantisedCodec(shape, {.key_group = 1, .value_group = shape.value_size}),
        bits_(static_cast<int>(choice.integer("bits"))),
        outliers_(choice, "outliers"),
        iterations_(choice.integer("iterations")),
        learns_(side == nullptr) {
    const auto heads = static_cast<std::size_t>(shape.kv_heads);
    for (auto& of_side : taken_) of_side.resize(heads);
    rows_.resize(heads);
    ranges_.resize(heads);
    if (learns_) return;
    tables_ = side->tables;
    for (std::size_t h = 0; h < ranges_.size(); ++h)
      for (const Thresholds& each : side->key_thresholds[h])
        ranges_[h].push_back(range_between(each.low, each.high));
  }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out = QuantisedCodec::regions(side);
    for (const auto& of_head : taken_[static_cast<std::size_t>(side)]) {
      for (const std::int64_t taken : of_head) {
        out.exact += kOutlierBytes * taken;
        out.index += kOutlierBytes * taken;
      }
    }
    if (!outliers_.none()) out.index += kPointerBytes * live_rows_;
    if (side == Side::kValues) out.scales = out.zeros = 2 * live_rows_;
    // The data of a side file belong to the model, so they are not stored with a sequence.
    if (learns_) {
      out.centroids = 2 * static_cast<std::int64_t>(tables_[static_cast<std::size_t>(side)].size());
    } else if (side == Side::kKeys) {
      out.scales = 0;
      out.zeros = 0;
    }
    return out;
  }

 protected:
  void on_append() override {
    if (!in_prompt()) encode();
  }
  void on_prompt_end(const PromptQueries& /*queries*/) override {
    if (learns_) {
      for (std::int32_t h = 0; h < shape().kv_heads; ++h) learn_channels(h);
      for (const Side side : kSides) learn_table(side);
    }
    encode();
  }
  void on_drop(std::int32_t head, std::span<const std::int32_t> indices) override {
    const auto h = static_cast<std::size_t>(head);
    for (auto at = indices.rbegin(); at != indices.rend(); ++at) {
      const auto i = static_cast<std::ptrdiff_t>(*at);
      if (*at >= std::ssize(rows_[h])) continue;  // not encoded yet
      if (--row_heads_[rows_[h][static_cast<std::size_t>(i)]] == 0) --live_rows_;
      rows_[h].erase(rows_[h].begin() + i);
      for (auto& of_side : taken_) of_side[h].erase(of_side[h].begin() + i);
    }
  }

 private:
  struct Place {
    std::int32_t head;
    std::int32_t index;
  };

  /// The range of these numbers without the extreme ones.
  [[nodiscard]] Range range_of(std::vector<double> numbers) const {
    std::sort(numbers.begin(), numbers.end());
    const auto beyond = static_cast<std::size_t>(outliers_.half_of(std::ssize(numbers)));
    return range_between(numbers[beyond], numbers[numbers.size() - 1 - beyond]);
  }

  void learn_channels(std::int32_t head) {
    const Plane& keys = plane(Side::kKeys, head);
    for (std::size_t c = 0; c < static_cast<std::size_t>(keys.size()); ++c) {
      std::vector<double> numbers(static_cast<std::size_t>(keys.tokens()));
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = keys.stored(static_cast<std::int32_t>(i))[c];
      ranges_[static_cast<std::size_t>(head)].push_back(
          numbers.empty() ? Range{.scale = 0, .zero = 0, .low = 0, .high = 0} : range_of(std::move(numbers)));
    }
  }

  /// Row i of the exact tokens; empty behind the last row.
  [[nodiscard]] std::vector<Place> exact_row(std::int32_t i) const {
    std::vector<Place> out;
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      const auto encoded = static_cast<std::int32_t>(rows_[static_cast<std::size_t>(h)].size());
      if (encoded + i < plane(Side::kKeys, h).tokens()) out.push_back({.head = h, .index = encoded + i});
    }
    return out;
  }

  /// Thresholds of the values of a row, all heads together.
  [[nodiscard]] Range value_range(std::span<const Place> row) const {
    std::vector<double> numbers;
    for (const Place& place : row) {
      const auto x = plane(Side::kValues, place.head).stored(place.index);
      numbers.insert(numbers.end(), x.begin(), x.end());
    }
    return range_of(std::move(numbers));
  }

  /// Without outliers nothing is stored exactly: a number beyond the thresholds takes the nearest code.
  [[nodiscard]] bool beyond(const Range& range, double x) const {
    return !outliers_.none() && (x < range.low || x > range.high);
  }
  [[nodiscard]] static double relative(const Range& range, double x) {
    return range.scale > 0 ? (x - range.zero) / range.scale : 0.0;
  }

  /// The numbers for which codes stand: clusters of the prompt's numbers between the thresholds, of all heads together.
  void learn_table(Side side) {
    Matrix points;
    points.columns = 1;
    std::vector<Range> of_values;
    if (side == Side::kValues)
      for (std::int32_t i = 0; !exact_row(i).empty(); ++i) of_values.push_back(value_range(exact_row(i)));
    for (std::int32_t h = 0; h < shape().kv_heads; ++h)
      for (std::int32_t i = 0; i < plane(side, h).tokens(); ++i) {
        const auto x = plane(side, h).stored(i);
        for (std::size_t c = 0; c < x.size(); ++c) {
          const Range& range = side == Side::kKeys ? ranges_[static_cast<std::size_t>(h)][c]
                                                   : of_values[static_cast<std::size_t>(i)];
          if (!beyond(range, x[c])) points.data.push_back(relative(range, x[c]));
        }
      }
    points.rows = points.data.size();
    auto& table = tables_[static_cast<std::size_t>(side)];
    if (points.rows > 0)
      table = cluster(points, std::int64_t{1} << bits_, iterations_, Random(static_cast<std::uint64_t>(side)))
                  .centres.data;
    std::sort(table.begin(), table.end());
  }

  /// Encodes all exact tokens.
  void encode() {
    if (tables_[0].empty()) return;  // no token of the prompt was kept, so there was nothing to learn from
    for (std::int32_t h = 0; h < shape().kv_heads; ++h)
      if (Plane& keys = plane_of(Side::kKeys, h); keys.blocks() == 0)
        begin_keys(keys, ranges_[static_cast<std::size_t>(h)]);
    for (auto row = exact_row(0); !row.empty(); row = exact_row(0)) {
      const Range of_values = value_range(row);
      for (const Place& place : row) {
        for (const Side side : kSides) encode_one(side, place, of_values);
        rows_[static_cast<std::size_t>(place.head)].push_back(row_heads_.size());
      }
      row_heads_.push_back(std::ssize(row));
      ++live_rows_;
    }
  }

  void begin_keys(Plane& plane, const std::vector<Range>& ranges) const {
    const std::int32_t block = plane.begin_block(std::int64_t{plane.size()} * bits_);
    for (std::size_t c = 0; c < ranges.size(); ++c) {
      plane.scales(block)[c] = ranges[c].scale;
      plane.zeros(block)[c] = ranges[c].zero;
    }
  }

  /// `of_values`: the range of the token's row.
  void encode_one(Side side, const Place& place, const Range& of_values) {
    Plane& plane = plane_of(side, place.head);
    const auto& table = tables_[static_cast<std::size_t>(side)];
    std::int32_t block = 0;
    if (side == Side::kValues) {
      block = plane.begin_block(std::int64_t{plane.size()} * bits_);
      plane.scales(block)[0] = of_values.scale;
      plane.zeros(block)[0] = of_values.zero;
    }
    std::int64_t taken = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(plane.size()); ++c) {
      const Range& range = side == Side::kKeys ? ranges_[static_cast<std::size_t>(place.head)][c] : of_values;
      double& x = plane.stored(place.index)[c];
      const double at = relative(range, x);
      std::size_t best = 0;
      for (std::size_t k = 1; k < table.size(); ++k)
        if (std::fabs(at - table[k]) < std::fabs(at - table[best])) best = k;
      plane.codes(place.index)[c] = static_cast<std::uint8_t>(best);
      if (beyond(range, x)) {
        ++taken;
      } else {
        x = table[best] * range.scale + range.zero;
      }
    }
    plane.join(place.index, block);
    taken_[static_cast<std::size_t>(side)][static_cast<std::size_t>(place.head)].push_back(taken);
  }

  int bits_;
  Share outliers_;
  std::int64_t iterations_;
  bool learns_;                                                  ///< from the prompt
  std::vector<std::vector<Range>> ranges_;                       ///< [KV head][channel] ranges of keys
  std::array<std::vector<double>, 2> tables_;                    ///< [side][code]
  std::array<std::vector<std::vector<std::int64_t>>, 2> taken_;  ///< [side][KV head][token] exact elements
  std::vector<std::vector<std::size_t>> rows_;                   ///< [KV head][token]
  std::vector<std::int64_t> row_heads_;                          ///< [row] heads that keep its token
  std::int64_t live_rows_{0};                                    ///< rows that any head keeps
};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Kvquant>(shape, choice, nullptr);
}

std::unique_ptr<Codec> make_with(const Choice& choice, const Shape& shape, const SideLayer& side) {
  return std::make_unique<Kvquant>(shape, choice, &side);
}

/// The number of bits that a table needs.
std::string bits_of(const SideLayer& layer) {
  return std::to_string(std::bit_width(layer.tables[0].size() - 1));
}

Status check_side(const Choice& choice, const SideLayer& layer, const Shape& shape) {
  const auto& keys = layer.key_thresholds;
  const auto heads = static_cast<std::size_t>(shape.kv_heads);
  const auto channels = static_cast<std::size_t>(shape.key_size);
  if (keys.size() != heads || keys.front().size() != channels)
    return bad_input("expected key thresholds for " + std::to_string(heads) + " KV heads of " +
                     std::to_string(channels) + " channels, found " + std::to_string(keys.size()) + " of " +
                     std::to_string(keys.empty() ? 0 : keys.front().size()));
  if (layer.tables[0].empty() || layer.tables[0].size() != layer.tables[1].size())
    return bad_input("expected tables of keys and of values with the same length");
  if (choice.given(kBits.name) && choice.text("bits") != bits_of(layer))
    return bad_input("expected tables of " + std::to_string(std::int64_t{1} << choice.integer("bits")) +
                     " numbers for bits=" + choice.text("bits") + ", found " +
                     std::to_string(layer.tables[0].size()))
        .at_field("kvquant:bits");
  return Done{};
}

/// The choice with the file's bits; bits that the user gave stay, so that `check_side` compares them.
Choice with_side(const Choice& choice, const SideLayer& layer) {
  if (layer.tables[0].empty() || choice.given(kBits.name)) return choice;
  return with_text(choice, "bits", bits_of(layer));
}

bool learns(const Choice& choice) {
  return choice.text(kSideParam.name) == kNoSideFile;
}

/// Number of elements of a key's channel of the prompt, or of a row of values, that lie beyond their own thresholds:
/// as in `range_of` if no two numbers are equal.
std::int64_t beyond_own(const Share& outliers, std::int64_t numbers) {
  return 2 * outliers.half_of(numbers);
}

/// Number of elements of a side that stay exact. Thresholds learnt from other tokens are percentiles of those tokens,
/// so a fixed share lies beyond them. The share is taken of all these elements together, and rounded down.
std::int64_t beyond(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const Share outliers(choice, "outliers");
  const std::int64_t channels = std::int64_t{shape.kv_heads} * shape.size(side);
  if (side == Side::kValues) return lengths.stored() * beyond_own(outliers, channels);
  const std::int64_t learnt_from = learns(choice) ? lengths.prompt : 0;
  return channels * beyond_own(outliers, learnt_from) +
         outliers.floor_of(channels * (lengths.stored() - learnt_from));
}

/// Size of a table: as many numbers as codes, or as there were numbers to learn from.
std::int64_t table_size(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const Lengths prompt{.prompt = lengths.prompt};
  const std::int64_t between =
      std::int64_t{shape.kv_heads} * shape.size(side) * prompt.stored() - beyond(choice, shape, prompt, side);
  return std::min(std::int64_t{1} << choice.integer("bits"), between);
}

Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  Regions out = split_bytes(shape, side, {.coded = lengths.stored()}, choice.integer("bits"));
  const std::int64_t taken = beyond(choice, shape, lengths, side);
  out.exact = kOutlierBytes * taken;
  out.index = kOutlierBytes * taken;
  if (!Share(choice, "outliers").none()) out.index += kPointerBytes * lengths.stored();
  if (side == Side::kValues) {
    out.scales = 2 * lengths.stored();
  } else if (learns(choice)) {
    out.scales = std::int64_t{2} * shape.kv_heads * shape.key_size;
  }
  out.zeros = out.scales;
  if (learns(choice)) out.centroids = 2 * table_size(choice, shape, lengths, side);
  return out;
}

/// Without outliers all tokens take the same bytes.
bool by_count(const Choice& choice) {
  return Share(choice, "outliers").none();
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "kvquant",
                   .summary =
                       "Non-uniform codes from a learnt table, keys per channel and values per token, with "
                       "exact outliers",
                   .source = "arXiv 2401.18079; SqueezeAILab/KVQuant@57a2383 quant/kvquant",
                   .params = kParams,
                   .divergences =
                       "The public code learns thresholds and tables offline: from calibration data, "
                       "weighted by Fisher information, on keys before position encoding. A side file "
                       "supplies them in this form; it does not count as bytes of a sequence. Without a side "
                       "file, kvplan learns them from the sequence's own prompt, unweighted, on keys as "
                       "recorded, and stores them with it. The values of a token have one pair of thresholds "
                       "over all heads, as in the public code. If a policy kept different prompt tokens in "
                       "different heads, the kept tokens with the same index share one pair."},
    .golden_name = "kvquant",
    .exactness = Exactness::kTolerance,
    .make = make,
    .lengths =
        {.regions = bytes_of,
         .assumes =
             "The thresholds were learnt from other tokens: kvplan assumes that the share `outliers` of the "
             "keys lies beyond them, and that no two numbers that thresholds are learnt from are equal.",
         .by_count = by_count,
         .heads_share = true},
    .side = {.check = check_side, .with_side = with_side, .make = make_with}};

}  // namespace kvplan::formats::kvquant
