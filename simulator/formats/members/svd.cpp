// Online SVD: all tokens except the newest few are stored as factors, of a fixed rank or of one that keeps a share of
// their squares; they are factored again when there are enough new tokens.
#include <array>

#include "simulator/formats/formats.h"
#include "simulator/formats/low_rank.h"
#include "simulator/formats/shares.h"

namespace kvplan::formats::svd {
namespace {

constexpr std::array kParams{
    Param{.name = "rank", .help = "Rank of the factors", .fallback = "32", .low = 1, .high = kMostChannels},
    Param{.name = "update",
          .help = "Number of exact tokens after which all tokens are factorised again",
          .unit = Unit::kTokens,
          .fallback = "16",
          .low = 1,
          .high = kMostTokens},
    Param{.name = "compression_ratio",
          .help =
              "Above 0, it replaces rank by channels times (1 - compression_ratio), rounded down, at least 1",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0",
          .low = 0,
          .high = 1},
    Param{.name = "energy",
          .help = "Above 0, it replaces rank and compression_ratio: each factorisation uses the smallest "
                  "rank with singular values that have this share of the sum of squares",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0",
          .low = 0,
          .high = 1}};

class Svd final : public LowRankCodec {
 public:
  /// `rank`: ranks of keys and of values; if `energy` is above 0, it decides instead.
  Svd(const Shape& shape, std::array<std::int64_t, 2> rank, double energy, std::int64_t update)
      : LowRankCodec(shape), rank_(rank), energy_(energy), update_(update) {
    for (auto& of_side : ranks_) of_side.resize(static_cast<std::size_t>(shape.kv_heads));
  }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out;
    out.exact = exact_bytes(side);
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      const Plane& plane = this->plane(side, h);
      const std::int64_t factored = plane.tokens() - plane.exact_tokens();
      const std::int64_t rank = ranks_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)];
      if (factored > 0) out.factors += rank * (factored + plane.size() + 1) * kBytes;
    }
    return out;
  }

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override { factor(1); }
  void on_step_end() override { factor(update_); }

 private:
  /// Factors the heads that have at least `least` exact tokens.
  void factor(std::int64_t least) {
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
        Plane& plane = plane_of(side, h);
        if (plane.exact_tokens() < least) continue;
        ranks_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)] =
            energy_ > 0 ? truncate_by_energy(plane, 0, plane.tokens(), energy_)
                        : truncate(plane, 0, plane.tokens(), rank_[static_cast<std::size_t>(side)]);
      }
  }

  std::array<std::int64_t, 2> rank_;
  double energy_;
  std::int64_t update_;
  std::array<std::vector<std::int64_t>, 2> ranks_;  ///< [side][KV head] ranks of the latest factors
};

/// The rank that the parameters give, for keys or for values.
std::int64_t rank_of(const Choice& choice, std::int32_t size) {
  const Share taken(choice, "compression_ratio");
  if (taken.none()) return choice.integer("rank");
  return std::max<std::int64_t>(taken.rest_of(size), 1);
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Svd>(shape,
                               std::array{rank_of(choice, shape.key_size), rank_of(choice, shape.value_size)},
                               choice.decimal("energy"), choice.integer("update"));
}

bool numbers_decide(const Choice& choice) {
  return choice.decimal("energy") > 0;
}

/// The prompt and whole updates in factors: U, V and the singular values; the remaining tokens are exact.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const std::int64_t update = choice.integer("update");
  const std::int64_t end = lengths.prompt + encoding_steps(lengths, update) / update * update;
  const std::int64_t factored = Left(lengths).tokens(0, end);
  const std::int64_t size = shape.size(side);
  Regions out = split_bytes(shape, side, {.exact = lengths.stored() - factored}, 0);
  if (factored == 0) return out;
  // A step drops after factoring: if a token had to be dropped then, the latest factors were made of one token more.
  const std::int64_t made_of = lengths.dropped == 0 ? end : std::min(end, lengths.stored() + 1);
  const std::int64_t rank = std::min({rank_of(choice, shape.size(side)), made_of, size});
  out.factors = shape.kv_heads * rank * (factored + size + 1) * 2;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "svd",
         .summary =
             "All tokens except the newest few as factors U, S, V, with a fixed rank or a rank by energy",
         .source = "kvplan's design notes on KV caches (online SVD)",
         .params = kParams,
         .divergences =
             "kvplan follows the text of the design notes; their code keeps the dense product and never "
             "factorises the pending tokens. In the code the rank is int(d_head * ratio), with the ratio as "
             "the kept share. In their table the ratio is the removed share: 0.2, 0.4 and 0.6 leave 102, 76 "
             "and 51 of 128 channels, rounded down. kvplan follows the table."},
    .golden_name = "svd",
    .exactness = Exactness::kTolerance,
    .make = make,
    .lengths = {.regions = bytes_of,
                .numbers_decide = "with energy above 0, singular values decide the rank",
                .by_position = always_by_position,
                .undecided = numbers_decide}};

}  // namespace kvplan::formats::svd
