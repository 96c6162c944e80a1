#include "simulator/io/measured_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "simulator/base/json_writer.h"

namespace kvplan::io {
namespace {

constexpr std::string_view kAttentionTable = "decode-attention";
constexpr double kMostCount = 1 << 30;

/// Bytes of a stored element; nothing: a format that no kernel table has.
std::optional<double> bytes_of_format(const std::string& format) {
  if (format == "bf16" || format == "fp16") return 2;
  if (format == "fp8" || format == "int8") return 1;
  if (format == "fp32") return 4;
  return std::nullopt;
}

/// Text of a file, harmless to a terminal.
std::string harmless(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

struct AttentionRow {
  kernels::MeasuredCall call;
  std::int64_t head_size{0}, window{0}, page_tokens{0};
  std::string format;
  double element{0}, samples{0}, spread{0};  ///< spread: half width of the interval of the median, relative
};

/// The key with the most rows; of several, the first.
template <class Key>
Key most_common(const std::map<Key, std::int64_t>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

class AttentionRows {
 public:
  AttentionRows(const CalibrationTable& table, const std::string& file) : table_(table), file_(file) {}

  Result<std::vector<AttentionRow>> rows() const {
    std::vector<AttentionRow> out;
    for (std::size_t i = 0; i < table_.rows(); ++i) {
      if (text("retained", i, "all") != "all" || number("sinks", i, 0) != 0) continue;
      AttentionRow row{.call = {}, .format = text("format", i, "")};
      const auto element = bytes_of_format(row.format);
      if (!element) continue;
      row.element = *element;
      row.samples = number("samples", i, 0);
      KVPLAN_TRY(row.call.batch, whole("sequences", i));
      KVPLAN_TRY(row.call.length, whole("kv_length", i));
      KVPLAN_TRY(row.call.kv_heads, whole("kv_heads", i));
      KVPLAN_TRY(const std::int64_t query_heads, whole("query_heads", i));
      KVPLAN_TRY(row.head_size, whole("head_size", i));
      if (query_heads % row.call.kv_heads != 0)
        return wrong("expected a multiple of kv_heads", "query_heads", i);
      row.call.group = query_heads / row.call.kv_heads;
      row.window = static_cast<std::int64_t>(number("window", i, 0));
      row.page_tokens = static_cast<std::int64_t>(number("page_tokens", i, 0));
      const double median = number("median", i, 0);
      if (!(median > 0)) return wrong("expected a time above 0", "median", i);
      row.call.us = median / 1e3;
      row.spread = std::max(number("high", i, median) - median, median - number("low", i, median)) / median;
      out.push_back(std::move(row));
    }
    return out;
  }

 private:
  Error wrong(const char* what, std::string_view column, std::size_t row) const {
    return bad_input(what).at_file(file_).at_field(std::string(kAttentionTable) + "[" + std::to_string(row) +
                                                   "]." + std::string(column));
  }
  [[nodiscard]] double number(std::string_view name, std::size_t row, double otherwise) const {
    const CalibrationColumn* const column = table_.column(name);
    return column == nullptr || column->is_text() ? otherwise : column->numbers[row];
  }
  [[nodiscard]] std::string text(std::string_view name, std::size_t row, const char* otherwise) const {
    const CalibrationColumn* const column = table_.column(name);
    return column == nullptr || !column->is_text() ? otherwise : column->texts[row];
  }
  Result<std::int64_t> whole(std::string_view name, std::size_t row) const {
    const double value = number(name, row, 0);
    if (!(value >= 1 && value <= kMostCount && value == std::floor(value)))
      return wrong("expected a whole number from 1 to 2^30", name, row);
    return static_cast<std::int64_t>(value);
  }

  const CalibrationTable& table_;
  const std::string& file_;
};

std::string kernels_sentence(const Calibration& c, std::size_t calls, std::vector<double> spreads) {
  std::sort(spreads.begin(), spreads.end());
  const double spread = spreads[spreads.size() / 2];
  std::string text = "Decode attention was measured: " + std::to_string(calls) +
                     (calls == 1 ? " call on " : " calls on ") +
                     (c.device.name.empty() ? "a device without a name" : harmless(c.device.name));
  if (!c.software.driver.empty()) text += ", driver " + harmless(c.software.driver);
  text += ", " + harmless(c.software.engine + " " + c.software.engine_version) + " (kernels " +
          harmless(c.software.kernel_build) + "), " + harmless(c.when);
  if (spread > 0)
    text += "; half of the times are known to within " + shortest(std::round(spread * 1e4) / 100) + " %";
  return text + ".";
}

}  // namespace

Result<runs::MeasuredKernels> measured_kernels(const Calibration& calibration, const std::string& file) {
  const auto table = std::find_if(calibration.tables.begin(), calibration.tables.end(),
                                  [](const CalibrationTable& t) { return t.name == kAttentionTable; });
  if (table == calibration.tables.end())
    return bad_input(
               "expected a table \"decode-attention\" (kvplan-validate calibrate measures one), found none")
        .at_file(file)
        .at_field("tables");
  KVPLAN_TRY(const std::vector<AttentionRow> rows, AttentionRows(*table, file).rows());
  if (rows.empty())
    return bad_input("expected calls that read all tokens of a cache of bf16, fp16, fp8, int8 or fp32")
        .at_file(file)
        .at_field(kAttentionTable);
  using Kind = std::tuple<std::int64_t, std::int64_t, double>;  // head size, window, element
  const auto kind_of = [](const AttentionRow& row) { return Kind{row.head_size, row.window, row.element}; };
  std::map<Kind, std::map<std::pair<std::string, std::int64_t>, std::int64_t>> layouts;
  for (const AttentionRow& row : rows) ++layouts[kind_of(row)][{row.format, row.page_tokens}];
  std::map<Kind, std::map<std::array<std::int64_t, 4>, const AttentionRow*>> calls;
  for (const AttentionRow& row : rows) {
    if (std::pair(row.format, row.page_tokens) != most_common(layouts[kind_of(row)])) continue;
    const AttentionRow*& kept =
        calls[kind_of(row)][{row.call.batch, row.call.length, row.call.kv_heads, row.call.group}];
    if (kept == nullptr || kept->samples < row.samples) kept = &row;
  }
  runs::MeasuredKernels out;
  std::vector<double> spreads;
  for (const auto& [kind, own] : calls) {
    std::vector<kernels::MeasuredCall> measured;
    for (const auto& [call, row] : own) {
      measured.push_back(row->call);
      spreads.push_back(row->spread);
    }
    auto grid = kernels::MeasuredGrid::make(measured);
    if (!grid.ok()) return std::move(grid).error().at_file(file).at_field(kAttentionTable);
    out.tables.push_back({.gpu = calibration.device.name,
                          .engine = calibration.software.engine,
                          .engine_version = calibration.software.engine_version,
                          .kernel = calibration.software.kernel_build,
                          .head_dim = std::get<0>(kind),
                          .window = std::get<1>(kind),
                          .kv_elem_bytes = std::get<2>(kind),
                          .grid = std::move(grid).value()});
  }
  const std::size_t used = spreads.size();
  out.assumptions.push_back(kernels_sentence(calibration, used, std::move(spreads)));
  return out;
}

Result<runs::MeasuredKernels> open_measured_kernels(const std::string& path) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  KVPLAN_TRY(const Calibration calibration, read_calibration(*input));
  return measured_kernels(calibration, path);
}

}  // namespace kvplan::io
