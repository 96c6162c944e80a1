#include "simulator/io/kva_limits.h"

#include <string>

#include "simulator/io/kva_writer.h"

namespace kvplan::io {
namespace {

Status within(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return Done{};
  return bad_input("expected " + std::to_string(low) + " to " + std::to_string(high) + ", found " +
                   std::to_string(value))
      .at_field(field);
}

}  // namespace

std::int64_t element_bytes(attention::Element element) {
  if (element == attention::Element::kF64) return 8;
  return element == attention::Element::kF32 ? 4 : 2;
}

Status check_kva_limits(const attention::RecordingInfo& info) {
  using attention::Element;
  using attention::RecordedForm;
  const bool tensors = info.form == RecordedForm::kTensors;
  KVPLAN_TRY_DO(within("model.layers", info.layers, 1, 4096));
  KVPLAN_TRY_DO(within("model.query_heads", info.query_heads, 1, 1024));
  KVPLAN_TRY_DO(within("model.kv_heads", info.kv_heads, 1, info.query_heads));
  if (info.query_heads % info.kv_heads != 0)
    return bad_input("expected a divisor of " + std::to_string(info.query_heads) + " query heads, found " +
                     std::to_string(info.kv_heads))
        .at_field("model.kv_heads");
  KVPLAN_TRY_DO(within("model.key_size", info.key_size, tensors ? 1 : 0, 65536));
  KVPLAN_TRY_DO(within("model.value_size", info.value_size, info.has_values ? 1 : 0, 65536));
  KVPLAN_TRY_DO(within("model.cache_element_bytes", info.cache_element_bytes, 0, 16));
  KVPLAN_TRY_DO(within("sequences", static_cast<std::int64_t>(info.sequences.size()), 1, 1 << 20));
  for (std::size_t i = 0; i < info.sequences.size(); ++i) {
    const std::string field = "sequences[" + std::to_string(i) + "]";
    KVPLAN_TRY_DO(within(field + ".tokens", info.sequences[i].tokens, 1, kMaxTokens));
    KVPLAN_TRY_DO(
        within(field + ".prompt_tokens", info.sequences[i].prompt_tokens, 0, info.sequences[i].tokens));
  }
  const bool known = tensors ? info.element != Element::kF64 : info.element != Element::kBf16;
  if (!known)
    return bad_input(tensors ? "tensors are f32, f16 or bf16" : "rows are f64, f32 or f16")
        .at_field("element");
  if (tensors && !(info.logit_scale > 0 && info.logit_scale <= 1e6))
    return bad_input("expected a number above 0 and at most 1e6").at_field("logit_scale");
  return Done{};
}

}  // namespace kvplan::io
