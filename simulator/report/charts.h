// Charts as SVG elements: no script, no external resource, light and dark colours by the reader's setting. They draw
// the numbers of a result unsmoothed. `id` makes names inside one page unique.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/run/run.h"

namespace kvplan::report {

/// The area of data inside a chart, in its own units; the value axis begins at `bottom`.
struct Plot {
  double left{64}, right{700}, top{16}, bottom{276};
};

/// CSS that the charts need, once per page. `:root` holds the colours of both themes.
std::string chart_css();

/// The states over time, stacked to the capacity: exact means of each bin, summed over replicas; with one
/// replica also the most live bytes at any moment of the bin. REQUIRES: a timeline.
std::string memory_chart(const runs::RunResult& result, const std::string& id);
/// Running and waiting requests over time: means, and with one replica the range within each bin. REQUIRES: a
/// timeline.
std::string batch_chart(const runs::RunResult& result, const std::string& id);
/// Distribution functions of queue, TTFT, TPOT and E2E over completed requests, time on a logarithmic axis,
/// targets as lines.
std::string latency_chart(const runs::RunResult& result, const std::string& id);

struct ShareRow {
  std::string label;
  std::array<double, observe::kStates> fractions{};
};
/// One stacked bar per row: mean shares of the states.
std::string share_chart(const std::vector<ShareRow>& rows, const std::string& id);

enum class Theme : std::uint8_t { kLight, kDark };
/// The chart with every variable of chart_css replaced by its colour in a theme, for viewers that lack variables.
std::string in_theme(std::string_view svg, Theme theme);

/// A chart as a file of its own.
std::string svg_document(const std::string& chart);

}  // namespace kvplan::report
