// GEAR: integers, a low-rank matrix for what they lose, and the extreme elements exactly.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "simulator/formats/formats.h"
#include "simulator/formats/linear.h"
#include "simulator/formats/quantised.h"
#include "simulator/formats/shares.h"

namespace kvplan::formats::gear {
namespace {

constexpr std::array kParams{
    bits_param("Bits per code", "2"),
    Param{.name = "group",
          .help = "Group size for scales: tokens of a key channel, and channels of a value",
          .fallback = "32",
          .low = 1,
          .high = kMostChannels},
    Param{.name = "residual",
          .help = "Exact tokens that are encoded together as one chunk",
          .unit = Unit::kTokens,
          .fallback = "128",
          .low = 1,
          .high = kMostTokens},
    Param{.name = "rank",
          .help = "Rank of a chunk's low-rank correction",
          .fallback = "4",
          .low = 0,
          .high = kMostChannels},
    Param{.name = "outliers",
          .help = "Share of the elements of a key channel, or of a value, that stay exact as outliers; half "
                  "of them are the largest, half the smallest",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0.02",
          .low = 0,
          .high = 1}};

struct GearOptions {
  int bits;
  std::int32_t group;
  std::int32_t residual;
  std::int64_t rank;
  Share outliers;
};

/// Number of extreme elements at each end of `elements` numbers.
std::size_t half_of_outliers(const Share& outliers, std::size_t elements) {
  return static_cast<std::size_t>(outliers.half_of(static_cast<std::int64_t>(elements)));
}

class Gear final : public QuantisedCodec {
 public:
  Gear(const Shape& shape, const GearOptions& options)
      : QuantisedCodec(shape, {.key_group = 1, .value_group = options.group}), options_(options) {
    for (auto& of_side : beside_) of_side.resize(static_cast<std::size_t>(shape.kv_heads));
  }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out = QuantisedCodec::regions(side);
    for (const Beside& beside : beside_[static_cast<std::size_t>(side)]) {
      for (const Token& token : beside.tokens) {
        out.exact += token.outliers * 2;
        out.index += token.outliers * 2;
      }
      for (const Chunk& chunk : beside.chunks)
        if (chunk.tokens > 0) out.factors += chunk.rank * (chunk.tokens + shape().size(side)) * 2;
    }
    return out;
  }

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override { encode(); }
  void on_step_end() override { encode(); }
  void on_drop(std::int32_t head, std::span<const std::int32_t> indices) override {
    for (const Side side : kSides) {
      Beside& beside = of(side, head);
      std::vector<Token> left;
      std::size_t next = 0;
      for (std::size_t i = 0; i < beside.tokens.size(); ++i) {
        if (next < indices.size() && static_cast<std::size_t>(indices[next]) == i) {
          ++next;
          --beside.chunks[beside.tokens[i].chunk].tokens;
        } else {
          left.push_back(beside.tokens[i]);
        }
      }
      beside.tokens = std::move(left);
    }
  }

 private:
  struct Chunk {
    std::int64_t tokens;
    std::int64_t rank;
  };
  struct Token {
    std::size_t chunk;
    std::int64_t outliers;
  };
  /// The data that a plane needs in addition to its codes.
  struct Beside {
    std::vector<Token> tokens;  ///< encoded ones, oldest first
    std::vector<Chunk> chunks;
  };
  Beside& of(Side side, std::int32_t head) {
    return beside_[static_cast<std::size_t>(side)][static_cast<std::size_t>(head)];
  }

  void encode() {
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
        Plane& plane = plane_of(side, h);
        const std::int32_t exact = tail(plane);
        const std::int32_t begin = plane.tokens() - exact;
        const std::int32_t end = begin + exact / options_.residual * options_.residual;
        if (end > begin) encode_chunk(side, plane, of(side, h), begin, end);
      }
  }

  /// Numbers of a vector: a channel of the chunk's tokens, or the channels of a token.
  struct Line {
    std::size_t first;
    std::size_t count;
    std::size_t stride;
  };

  /// Replaces the extreme numbers of a line by the mean of all its numbers; stores their positions in `taken`.
  void take_outliers(Matrix& chunk, const Line& line, std::vector<std::size_t>& taken) const {
    const auto half = half_of_outliers(options_.outliers, line.count);
    if (half == 0) return;
    std::vector<std::size_t> order(line.count);
    double sum = 0;
    for (std::size_t i = 0; i < line.count; ++i) {
      order[i] = line.first + i * line.stride;
      sum += chunk.data[order[i]];
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return chunk.data[a] < chunk.data[b]; });
    const double mean = sum / static_cast<double>(line.count);
    for (std::size_t i = 0; i < line.count; ++i) {
      if (i >= half && i + half < line.count) continue;
      taken.push_back(order[i]);
      chunk.data[order[i]] = mean;
    }
  }

  void encode_chunk(Side side, Plane& plane, Beside& beside, std::int32_t begin, std::int32_t end) const {
    const auto tokens = static_cast<std::size_t>(end - begin);
    const auto size = static_cast<std::size_t>(plane.size());
    Matrix lost(tokens, size);
    std::copy_n(plane.stored(begin).data(), lost.data.size(), lost.data.begin());
    const std::vector<double> recorded = lost.data;
    std::vector<std::size_t> taken;
    const std::size_t lines = side == Side::kKeys ? size : tokens;
    for (std::size_t i = 0; i < lines; ++i)
      take_outliers(lost,
                    side == Side::kKeys ? Line{.first = i, .count = tokens, .stride = size}
                                        : Line{.first = i * size, .count = size, .stride = 1},
                    taken);
    double* const stored = plane.stored(begin).data();
    std::copy(lost.data.begin(), lost.data.end(), stored);
    if (side == Side::kKeys) {
      for (std::int32_t i = begin; i < end; i += options_.group)
        encode_channels(plane, i, i + options_.group, options_.bits);
    } else {
      for (std::int32_t i = begin; i < end; ++i) encode_token(plane, i, options_.bits);
    }
    for (std::size_t i = 0; i < lost.data.size(); ++i) lost.data[i] -= stored[i];
    const std::int64_t rank = add_correction(std::move(lost), stored);
    beside.chunks.push_back({.tokens = end - begin, .rank = rank});
    beside.tokens.resize(beside.tokens.size() + tokens, {.chunk = beside.chunks.size() - 1, .outliers = 0});
    for (const std::size_t at : taken) {
      stored[at] = recorded[at];
      ++beside.tokens[beside.tokens.size() - tokens + at / size].outliers;
    }
  }

  /// Adds the best low-rank approximation of the lost part to the stored numbers; returns its rank.
  [[nodiscard]] std::int64_t add_correction(Matrix lost, double* stored) const {
    const std::size_t rank = std::min({static_cast<std::size_t>(options_.rank), lost.rows, lost.columns});
    if (rank == 0) return 0;
    const RightSingular found = right_singular(lost);
    for (std::size_t r = 0; r < lost.rows; ++r) project(found.vectors, rank, lost.row(r));
    for (std::size_t i = 0; i < lost.data.size(); ++i) stored[i] += lost.data[i];
    return static_cast<std::int64_t>(rank);
  }

  GearOptions options_;
  std::array<std::vector<Beside>, 2> beside_;  ///< [side][KV head]
};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  const std::int64_t group = choice.integer("group");
  if (choice.integer("residual") % group != 0)
    return wrong_param(choice, "residual", "a multiple of group = " + std::to_string(group));
  if (shape.value_size % group != 0)
    return wrong_param(choice, "group",
                       "a divisor of the " + std::to_string(shape.value_size) + " channels of a value");
  return Done{};
}

GearOptions options_of(const Choice& choice) {
  return {.bits = static_cast<int>(choice.integer("bits")),
          .group = static_cast<std::int32_t>(choice.integer("group")),
          .residual = static_cast<std::int32_t>(choice.integer("residual")),
          .rank = choice.integer("rank"),
          .outliers = Share(choice, "outliers")};
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Gear>(shape, options_of(choice));
}

/// Outliers in a line of `elements` numbers: those of both ends, or all numbers if the ends meet.
std::int64_t outliers_of(const Share& share, std::int64_t elements) {
  const auto half = static_cast<std::int64_t>(half_of_outliers(share, static_cast<std::size_t>(elements)));
  return std::min(2 * half, elements);
}

/// Chunks made of `of` tokens, and how many tokens of all these chunks remain.
struct ChunksLeft {
  std::int64_t of;  ///< tokens when it was made
  std::int64_t chunks;
  std::int64_t tokens;
};

/// Bytes of chunks in addition to their codes: factors of the correction, and outliers of a key's channel (or of a
/// value) with 2 bytes for each position. REQUIRES: no token was dropped, or there are no outliers.
void add_chunks(Regions& out, const GearOptions& options, const Shape& shape, Side side,
                const ChunksLeft& left) {
  const std::int64_t size = shape.size(side);
  const std::int64_t rank = std::min({options.rank, left.of, size});
  const std::int64_t outliers = side == Side::kKeys ? size * outliers_of(options.outliers, left.of)
                                                    : left.of * outliers_of(options.outliers, size);
  out.factors += shape.kv_heads * rank * (left.tokens + left.chunks * size) * 2;
  out.exact += shape.kv_heads * left.chunks * outliers * 2;
  out.index += shape.kv_heads * left.chunks * outliers * 2;
}

/// Integers as for KIVI, but whole residuals of keys and values. The prompt is one chunk, and so is each later one.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const GearOptions options = options_of(choice);
  const std::int64_t residual = options.residual;
  const std::int64_t of_prompt = lengths.prompt / residual * residual;
  const std::int64_t end = (lengths.prompt + encoding_steps(lengths, residual)) / residual * residual;
  const Left left(lengths);
  const std::int64_t coded = left.tokens(0, end);
  Regions out = split_bytes(shape, side, {.coded = coded, .exact = lengths.stored() - coded}, options.bits);
  const std::int64_t scales = side == Side::kKeys ? left.groups(0, end, options.group) * shape.key_size
                                                  : coded * shape.value_size / options.group;
  out.scales = shape.kv_heads * scales * 2;
  out.zeros = out.scales;
  const auto add = [&](std::int64_t begin, std::int64_t until, std::int64_t of) {
    if (until > begin)
      add_chunks(out, options, shape, side,
                 {.of = of, .chunks = left.groups(begin, until, of), .tokens = left.tokens(begin, until)});
  };
  add(0, of_prompt, of_prompt);
  add(of_prompt, end, residual);
  return out;
}

/// Which of a chunk's keys have its outliers depends on the numbers.
bool by_position(const Choice& choice, std::int64_t /*sinks*/) {
  return options_of(choice).outliers.none();
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "gear",
                   .summary = "Integers, a low-rank correction of the quantisation error, and exact outliers",
                   .source = "arXiv 2403.05527; opengear-project/GEAR@efe0bfe",
                   .params = kParams,
                   .divergences = "kvplan uses the best correction of its rank; the public code approximates "
                                  "it by power iteration. The prompt and later chunks have the same rank. An "
                                  "outlier counts 2 bytes for its value and 2 for its position."},
    .golden_name = "gear",
    .exactness = Exactness::kTolerance,
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_position = by_position}};

}  // namespace kvplan::formats::gear
