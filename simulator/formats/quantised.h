// Shared by the quantised formats: bytes by counting blocks, and the code of an element.
#pragma once

#include "simulator/formats/codec.h"
#include "simulator/formats/quantisers.h"

namespace kvplan::formats {

/// Channels that share a scale, and the bytes of a scale. `zero_bytes` = 0: blocks have no zero points.
struct Layout {
  std::int32_t key_group{0};
  std::int32_t value_group{0};
  std::int64_t scale_bytes{2};
  std::int64_t zero_bytes{2};
  CodeForm form{CodeForm::kElements};
};

class QuantisedCodec : public Codec {
 public:
  QuantisedCodec(const Shape& shape, const Layout& layout)
      : Codec(shape, layout.key_group, layout.value_group), layout_(layout) {}

  [[nodiscard]] Regions regions(Side side) const override;
  [[nodiscard]] CodeForm code_form() const override { return layout_.form; }
  [[nodiscard]] Coded coded(Side side, std::int32_t head, std::int32_t index,
                            std::int32_t channel) const override;

 protected:
  /// Encodes token i in a block of its own, each group of channels between its least and greatest number.
  static void encode_token(Plane& plane, std::int32_t i, int bits);
  /// Encodes tokens [begin, end) in one block, each channel between its least and greatest number.
  static void encode_channels(Plane& plane, std::int32_t begin, std::int32_t end, int bits);
  /// Number of exact tokens at the end of a plane, behind the newest token with a block.
  static std::int32_t tail(const Plane& plane);

 private:
  Layout layout_;
};

}  // namespace kvplan::formats
