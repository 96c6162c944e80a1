#include "simulator/formats/codec.h"

#include "simulator/base/check.h"

namespace kvplan::formats {

Codec::Codec(const Shape& shape, std::int32_t key_group, std::int32_t value_group, std::int32_t other_heads)
    : shape_(shape) {
  const auto heads = static_cast<std::size_t>(std::int64_t{shape.kv_heads} + other_heads);
  planes_[0].assign(heads, Plane(shape.key_size, key_group));
  planes_[1].assign(heads, Plane(shape.value_size, value_group));
  positions_.resize(heads);
  fresh_.resize(heads);
}

void Codec::append(std::span<const HeadTokens> heads) {
  KVPLAN_CHECK(heads.size() == positions_.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const HeadTokens& tokens = heads[h];
    auto& positions = positions_[h];
    KVPLAN_CHECK(positions.empty() || tokens.positions.empty() ||
                 positions.back() < tokens.positions.front());
    fresh_[h] = static_cast<std::int32_t>(positions.size());
    positions.insert(positions.end(), tokens.positions.begin(), tokens.positions.end());
    for (const Side side : kSides) {
      const auto size = static_cast<std::size_t>(shape_.size(side));
      const std::span<const double> rows = side == Side::kKeys ? tokens.keys : tokens.values;
      for (std::size_t i = 0; i < tokens.positions.size(); ++i)
        planes_[static_cast<std::size_t>(side)][h].append(rows.subspan(i * size, size));
    }
  }
  ++appends_;
  on_append();
}

void Codec::drop(std::int32_t head, std::span<const std::int32_t> indices) {
  if (indices.empty()) return;
  on_drop(head, indices);
  for (const Side side : kSides) plane_of(side, head).erase(indices);
  auto& positions = positions_[static_cast<std::size_t>(head)];
  std::size_t next = 0;
  std::size_t to = 0;
  for (std::size_t from = 0; from < positions.size(); ++from) {
    if (next < indices.size() && static_cast<std::size_t>(indices[next]) == from) {
      ++next;
    } else {
      positions[to++] = positions[from];
    }
  }
  positions.resize(to);
}

void Codec::drop(std::span<const std::vector<std::int32_t>> heads) {
  KVPLAN_CHECK(heads.size() == positions_.size());
  on_merge(heads);
  for (std::size_t h = 0; h < heads.size(); ++h) drop(static_cast<std::int32_t>(h), heads[h]);
}

Coded Codec::coded(Side side, std::int32_t head, std::int32_t index, std::int32_t channel) const {
  const Plane& plane = this->plane(side, head);
  const std::int32_t block = plane.block(index);
  const CodeForm form = code_form();
  if (block == Plane::kExact || form == CodeForm::kNone) return {};
  if (form == CodeForm::kLabels) return {.code = block, .scale = {}, .zero = {}};
  const auto c = static_cast<std::size_t>(channel);
  const std::uint8_t code = plane.codes(index)[c];
  Coded out;
  out.code = form == CodeForm::kSigned ? std::int64_t{static_cast<std::int8_t>(code)} : std::int64_t{code};
  if (plane.group() > 0) out.scale = plane.scales(block)[c / static_cast<std::size_t>(plane.group())];
  return out;
}

}  // namespace kvplan::formats
