// Stores the elements of each key and value with the largest absolute values; the others are decoded as zeros.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"
#include "simulator/formats/shares.h"

namespace kvplan::formats::sparse {
namespace {

constexpr std::array kParams{Param{.name = "density",
                                   .help = "Share of the elements of a vector that are kept, rounded up",
                                   .kind = ParamKind::kDecimal,
                                   .unit = Unit::kRatio,
                                   .fallback = "0.5",
                                   .low = 0,
                                   .high = 1}};

/// Number of kept elements of a vector.
std::int64_t kept_of(const Share& density, std::int64_t size) {
  return density.ceil_of(size);
}

/// Bytes that tell which elements are kept: a list or a bitmap.
std::int64_t index_bytes(std::int64_t kept, std::int64_t size) {
  const auto id_bits = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(size - 1)));
  return (std::min(kept * id_bits, size) + 7) / 8;
}

class Sparse final : public QuantisedCodec {
 public:
  Sparse(const Shape& shape, const Share& density)
      : QuantisedCodec(shape, {.scale_bytes = 0, .zero_bytes = 0}), density_(density) {}

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out = QuantisedCodec::regions(side);
    const std::int64_t size = shape().size(side);
    for (const Plane& plane : planes(side))
      out.index += plane.tokens() * index_bytes(kept_of(density_, size), size);
    return out;
  }

 protected:
  void on_append() override {
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
        Plane& plane = plane_of(side, h);
        if (in_prompt()) plane.begin_block(16 * kept_of(density_, plane.size()));
        for (std::int32_t i = fresh(h); i < plane.tokens(); ++i) encode(plane, i);
      }
  }

 private:
  void encode(Plane& plane, std::int32_t i) const {
    const auto x = plane.stored(i);
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::fabs(x[a]) > std::fabs(x[b]); });
    const auto most = static_cast<std::size_t>(kept_of(density_, plane.size()));
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      plane.codes(i)[order[rank]] = rank < most ? 1 : 0;
      if (rank >= most) x[order[rank]] = 0;
    }
    plane.join(i, 0);
  }

  Share density_;
};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Sparse>(shape, Share(choice, "density"));
}

/// The kept elements of each vector, 2 bytes each, and the bytes that tell which they are.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const std::int64_t size = shape.size(side);
  const std::int64_t kept = kept_of(Share(choice, "density"), size);
  const std::int64_t vectors = shape.kv_heads * lengths.stored();
  Regions out;
  out.codes = vectors * kept * 2;
  out.index = vectors * index_bytes(kept, size);
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "sparse",
         .summary =
             "Keeps the largest elements of each key and value, with a list or bitmap of their positions",
         .source = "kvplan's design notes on KV caches (sparsification)",
         .params = kParams},
    .golden_name = "sparse",
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens}};

}  // namespace kvplan::formats::sparse
