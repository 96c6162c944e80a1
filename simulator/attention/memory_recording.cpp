#include "simulator/attention/memory_recording.h"

#include <span>
#include <utility>

namespace kvplan::attention {
namespace {

class MemoryRows final : public LayerRows {
 public:
  MemoryRows(std::span<const HeadRows> heads, std::int64_t tokens) : heads_(heads), tokens_(tokens) {}

  Status seek(std::int64_t t) override {
    KVPLAN_CHECK(t >= 0 && t < tokens_, t, tokens_);
    t_ = t;
    return Done{};
  }
  [[nodiscard]] RowView row(std::int32_t head) const override {
    const HeadRows& rows = heads_[static_cast<std::size_t>(head)];
    const std::int64_t begin = triangle(t_);
    if (!rows.f64.empty()) return {.f64 = rows.f64.data() + begin, .f32 = nullptr, .logits = nullptr};
    return {.f64 = nullptr, .f32 = rows.f32.data() + begin, .logits = nullptr};
  }

 private:
  std::span<const HeadRows> heads_;
  std::int64_t tokens_;
  std::int64_t t_{0};
};

}  // namespace

MemoryRecording::MemoryRecording(RecordingInfo info, std::vector<HeadRows> heads)
    : info_(std::move(info)), heads_(std::move(heads)) {
  const auto layer_heads =
      static_cast<std::size_t>(info_.layers) * static_cast<std::size_t>(info_.query_heads);
  KVPLAN_CHECK(heads_.size() == info_.sequences.size() * layer_heads);
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const auto expected = static_cast<std::size_t>(triangle(info_.sequences[i / layer_heads].tokens));
    KVPLAN_CHECK(heads_[i].f64.size() + heads_[i].f32.size() == expected);
    KVPLAN_CHECK(heads_[i].f64.empty() || heads_[i].f32.empty());
  }
}

Result<std::unique_ptr<LayerRows>> MemoryRecording::open(std::int32_t sequence, std::int32_t layer) const {
  const auto heads = static_cast<std::size_t>(info_.query_heads);
  const auto first = (static_cast<std::size_t>(sequence) * static_cast<std::size_t>(info_.layers) +
                      static_cast<std::size_t>(layer)) *
                     heads;
  const std::span<const HeadRows> all(heads_);
  const std::int64_t tokens = info_.sequences[static_cast<std::size_t>(sequence)].tokens;
  return std::unique_ptr<LayerRows>(std::make_unique<MemoryRows>(all.subspan(first, heads), tokens));
}

}  // namespace kvplan::attention
