#include "simulator/kernels/kernel_table.h"

#include <algorithm>

#include "simulator/base/comma_cells.h"
#include "simulator/base/number_input.h"

namespace kvplan::kernels {
namespace {

constexpr WholeRange kCounts{1, 1 << 30};
constexpr NumberRange kTimes{1e-3, 1e9};

class TableReader {
 public:
  TableReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  Result<KernelTable> table() {
    KernelTable out;
    KVPLAN_TRY(out.gpu, head("gpu"));
    KVPLAN_TRY(out.engine, head("engine"));
    KVPLAN_TRY(out.engine_version, head("engine_version"));
    KVPLAN_TRY(out.kernel, head("kernel"));
    KVPLAN_TRY(const std::string head_dim, head("head_dim"));
    KVPLAN_TRY(out.head_dim, whole(head_dim, "head_dim", kCounts));
    KVPLAN_TRY(const std::string window, head("window"));
    KVPLAN_TRY(out.window, whole(window, "window", {0, kCounts.high}));
    KVPLAN_TRY(const std::string bytes, head("kv_elem_bytes"));
    KVPLAN_TRY(out.kv_elem_bytes, decimal(bytes, "kv_elem_bytes", {1.0 / 16, 16}));
    KVPLAN_TRY_DO(read_lengths());
    std::vector<MeasuredCall> calls;
    while (!rest_.empty()) KVPLAN_TRY_DO(read_row(calls));
    auto grid = MeasuredGrid::make(calls);
    if (!grid.ok()) return std::move(grid).error().at_file(file_);
    out.grid = std::move(grid).value();
    return out;
  }

 private:
  Error wrong(Error error, std::string_view field) const {
    return std::move(error).at_file(file_).at_line(line_).at_field(field);
  }

  std::vector<std::string_view> next_line() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    return comma_cells(line);
  }

  Result<std::string> head(std::string_view name) {
    const auto cells = next_line();
    if (cells.size() != 2 || cells[0] != name || cells[1].empty())
      return wrong(bad_input("expected this column name, a comma and its value"), name);
    return std::string(cells[1]);
  }

  Result<std::int64_t> whole(std::string_view text, std::string_view field, WholeRange range) const {
    auto number = read_whole_number(text, range);
    if (!number.ok()) return wrong(std::move(number).error(), field);
    return number;
  }

  Result<double> decimal(std::string_view text, std::string_view field, NumberRange range) const {
    auto number = read_number(text, range);
    if (!number.ok()) return wrong(std::move(number).error(), field);
    return number;
  }

  Status read_lengths() {
    const auto cells = next_line();
    if (cells.size() < 4 || cells[0] != "q_heads" || cells[1] != "kv_heads" || cells[2] != "batch")
      return wrong(bad_input("expected q_heads,kv_heads,batch followed by lengths"), "q_heads");
    for (std::size_t i = 3; i < cells.size(); ++i) {
      KVPLAN_TRY(const std::int64_t length, whole(cells[i], "length", kCounts));
      lengths_.push_back(length);
    }
    return Done{};
  }

  Status read_row(std::vector<MeasuredCall>& calls) {
    const auto cells = next_line();
    if (cells.size() != 3 + lengths_.size())
      return wrong(bad_input("expected " + std::to_string(3 + lengths_.size()) + " cells, found " +
                             std::to_string(cells.size())),
                   "row");
    KVPLAN_TRY(const std::int64_t q_heads, whole(cells[0], "q_heads", kCounts));
    KVPLAN_TRY(const std::int64_t kv_heads, whole(cells[1], "kv_heads", kCounts));
    KVPLAN_TRY(const std::int64_t batch, whole(cells[2], "batch", kCounts));
    if (q_heads % kv_heads != 0) return wrong(bad_input("expected a multiple of kv_heads"), "q_heads");
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      if (cells[3 + i].empty()) continue;
      KVPLAN_TRY(const double us, decimal(cells[3 + i], "time", kTimes));
      calls.push_back({batch, lengths_[i], kv_heads, q_heads / kv_heads, us});
    }
    return Done{};
  }

  std::string_view rest_;
  const std::string& file_;
  std::int64_t line_{0};
  std::vector<std::int64_t> lengths_;
};

}  // namespace

Result<KernelTable> parse_kernel_table(std::string_view text, const std::string& file) {
  return TableReader(text, file).table();
}

std::span<const KernelTable> kernel_tables() {
  static const std::vector<KernelTable> kTables = [] {
    std::vector<KernelTable> out;
    for (const EmbeddedTable& file : embedded_tables())
      out.push_back(parse_kernel_table(file.text, std::string(file.file)).value());
    return out;
  }();
  return kTables;
}

}  // namespace kvplan::kernels
