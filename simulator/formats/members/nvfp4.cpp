// NVFP4: 4-bit floating point, an E4M3 scale for each 16 channels, one scale for the whole tensor.
#include <algorithm>
#include <array>

#include "simulator/formats/four_bit.h"
#include "simulator/formats/small_floats.h"

namespace kvplan::formats::nvfp4 {
namespace {

constexpr std::int32_t kBlock = 16;

class Nvfp4 final : public FourBit {
 public:
  explicit Nvfp4(const Shape& shape) : FourBit(shape, kBlock) {}

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out = FourBit::regions(side);
    out.scales += 4;
    return out;
  }

 protected:
  void on_prompt() override {
    for (const Side side : kSides) {
      double most = 0;
      for (const Plane& plane : planes(side))
        for (std::int32_t i = 0; i < plane.tokens(); ++i)
          most = std::max(most, greatest_size(plane.stored(i)));
      const double scale = to_single(most / (kE2m1.largest * kE4m3.largest));
      tensor_[static_cast<std::size_t>(side)] = scale > 0 ? scale : 1.0;
    }
  }
  [[nodiscard]] double scale_of(Side side, std::span<const double> channels) const override {
    const double tensor = tensor_[static_cast<std::size_t>(side)];
    return round_to(kE4m3, greatest_size(channels) / (kE2m1.largest * tensor)).value * tensor;
  }

 private:
  std::array<double, 2> tensor_{1, 1};  ///< [side]
};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  return check_blocks(choice, shape, kBlock);
}
std::unique_ptr<Codec> make(const Choice& /*choice*/, const Shape& shape) {
  return std::make_unique<Nvfp4>(shape);
}

Regions bytes_of(const Choice& /*choice*/, const Shape& shape, const Lengths& lengths, Side side) {
  Regions out = four_bit_bytes(shape, lengths, side, kBlock);
  out.scales += 4;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "nvfp4",
                   .summary = "4 bits of floating point per element; each 16 channels of a token share a "
                              "1-byte scale, and one more scale follows the prompt's largest number",
                   .source = "NVIDIA Transformer Engine documentation, NVFP4; "
                             "OCP Microscaling Formats Specification 1.0 (E2M1)",
                   .params = {}},
    .golden_name = "nvfp4",
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count}};

}  // namespace kvplan::formats::nvfp4
