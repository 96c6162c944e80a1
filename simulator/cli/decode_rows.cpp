#include "simulator/cli/decode_rows.h"

#include <algorithm>

#include "simulator/base/number_input.h"
#include "traces/import/csv_line.h"

namespace kvplan::cli {
namespace {

enum Column {
  kGpu,
  kEngine,
  kEngineVersion,
  kKernel,
  kBatch,
  kKvLen,
  kQHeads,
  kKvHeads,
  kHeadDim,
  kWindow,
  kBytes
};

constexpr std::array<std::string_view, DecodeRows::kColumns> kNames{
    "gpu",     "engine",   "engine_version", "kernel", "batch",        "kv_len",
    "q_heads", "kv_heads", "head_dim",       "window", "kv_elem_bytes"};

constexpr WholeRange kCounts{1, 1 << 20};
constexpr WholeRange kTokens{1, 1 << 30};
constexpr NumberRange kBytesOfElement{0.0625, 16};

}  // namespace

Result<DecodeRows> DecodeRows::open(std::string_view header) {
  const std::vector<std::string> names = traces::split_csv(header, ',');
  if (names.size() > traces::kMaxColumns)
    return bad_input("expected at most " + std::to_string(traces::kMaxColumns) + " columns");
  DecodeRows rows;
  rows.cells_ = names.size();
  for (const std::string_view added : {"predicted_us", "source"})
    if (std::find(names.begin(), names.end(), added) != names.end())
      return bad_input("expected rows without this column: the command adds it").at_field(added);
  for (std::size_t i = 0; i < kColumns; ++i) {
    const auto found = std::find(names.begin(), names.end(), kNames[i]);
    if (found == names.end())
      return bad_input("expected a column of this name, found " + traces::listed(names)).at_field(kNames[i]);
    if (std::find(found + 1, names.end(), kNames[i]) != names.end())
      return bad_input("expected one column of this name, found two").at_field(kNames[i]);
    rows.at_[i] = static_cast<std::size_t>(found - names.begin());
  }
  return rows;
}

Result<DecodeRow> DecodeRows::read(std::string_view line) const {
  const std::vector<std::string> cells = traces::split_csv(line, ',', cells_ + 1);
  if (cells.size() != cells_)
    return bad_input("expected " + std::to_string(cells_) + " cells, found " +
                     (cells.size() > cells_ ? "more" : std::to_string(cells.size())));
  const auto text = [&](Column column) -> const std::string& { return cells[at_[column]]; };
  const auto whole = [&](Column column, WholeRange range) -> Result<std::int64_t> {
    auto number = read_whole_number(text(column), range);
    if (!number.ok()) return Error(number.error()).at_field(kNames[column]);
    return number;
  };
  DecodeRow row{.names = {text(kGpu), text(kEngine), text(kEngineVersion), text(kKernel)}, .call = {}};
  kernels::DecodeCall& call = row.call;
  KVPLAN_TRY(call.batch, whole(kBatch, kCounts));
  KVPLAN_TRY(call.kv_len, whole(kKvLen, kTokens));
  KVPLAN_TRY(call.q_heads, whole(kQHeads, kCounts));
  KVPLAN_TRY(call.kv_heads, whole(kKvHeads, kCounts));
  KVPLAN_TRY(call.head_dim, whole(kHeadDim, kCounts));
  KVPLAN_TRY(call.window, whole(kWindow, {0, kTokens.high}));
  const auto bytes = read_number(text(kBytes), kBytesOfElement);
  if (!bytes.ok()) return Error(bytes.error()).at_field(kNames[kBytes]);
  call.kv_elem_bytes = bytes.value();
  if (call.q_heads % call.kv_heads != 0)
    return not_expected("a multiple of kv_heads, " + text(kKvHeads), text(kQHeads)).at_field(kNames[kQHeads]);
  return row;
}

}  // namespace kvplan::cli
