#include "simulator/survey/attention_map.h"

#include <algorithm>
#include <string>

namespace kvplan::survey {
namespace {

/// Number of entries (t, i) with i <= t in the cell of rows [row, row_end) and tokens [column, column_end).
std::int64_t entries(std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end) {
  std::int64_t out = 0;
  for (std::int64_t t = row; t < row_end; ++t)
    out += std::max<std::int64_t>(0, std::min(column_end, t + 1) - column);
  return out;
}

}  // namespace

Result<AttentionMap> attention_map(const attention::Recording& recording, const Place& at, std::int32_t head,
                                   const std::function<Status()>& pause) {
  KVPLAN_TRY_DO(attention::check_recorded_layer(recording, at.sequence, at.layer));
  const attention::LayerInfo layer = recording.info().layer(at.layer);
  if (head < 0 || head >= layer.query_heads)
    return bad_input("expected 0 to " + std::to_string(layer.query_heads - 1) + ", found " +
                     std::to_string(head))
        .at_field("--head");
  if (!layer.has_rows())
    return bad_input("layer " + std::to_string(at.layer) + " has no attention rows, recorded or computed")
        .at_field("--layer");
  AttentionMap out{.at = at, .head = head, .tokens = recording.tokens(at.sequence, at.layer), .cells = {}};
  out.tokens_per_cell = (out.tokens + kMostCells - 1) / kMostCells;
  const std::int64_t per = out.tokens_per_cell;
  const std::int64_t side = (out.tokens + per - 1) / per;
  for (std::int64_t r = 0; r < side; ++r) out.cells.emplace_back(static_cast<std::size_t>(r) + 1, 0.0);
  KVPLAN_TRY(const auto rows, recording.open(at.sequence, at.layer));
  for (std::int64_t t = 0; t < out.tokens; ++t) {
    KVPLAN_TRY_DO(pause());
    KVPLAN_TRY_DO(rows->seek(t));
    const attention::RowView row = rows->row(head);
    std::vector<double>& cells = out.cells[static_cast<std::size_t>(t / per)];
    for (std::int64_t i = 0; i <= t; ++i)
      cells[static_cast<std::size_t>(i / per)] +=
          row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]);
  }
  for (std::int64_t r = 0; r < side; ++r)
    for (std::int64_t c = 0; c <= r; ++c)
      out.cells[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] /= static_cast<double>(entries(
          r * per, std::min(out.tokens, (r + 1) * per), c * per, std::min(out.tokens, (c + 1) * per)));
  return out;
}

}  // namespace kvplan::survey
