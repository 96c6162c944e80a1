// The figures of a result: every number of a report that does not belong to one replica, one layer group or the
// scenario. A figure is named by its key in the report, keys of objects joined with dots ("latency_s.ttft.p99"). This
// is the only list: reports are written from it, and it names the columns of sweeps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "simulator/base/json_writer.h"
#include "simulator/run/run_summary.h"

namespace kvplan::runs {

/// No value (null in reports), a count, a real number, or a truth value (0 or 1 in columns of sweeps).
using FigureValue = std::variant<std::monostate, std::int64_t, double, bool>;

/// Which of two values is better if all other figures are equal.
enum class Better : std::uint8_t { kNeither, kLower, kHigher };
/// "lower", "higher"; empty for kNeither.
std::string_view better_name(Better better);

struct Figure {
  std::string name;
  Unit unit{Unit::kNone};
  Better better{Better::kNeither};
  std::function<FigureValue(const RunSummary&)> value;
};

/// All figures, in the order of the report's keys.
std::span<const Figure> figures();
/// The figure of this name. REQUIRES: there is one.
const Figure& figure_named(std::string_view name);

/// The value as a number; true is 1, false is 0; absent if there is no value.
std::optional<double> number_of(const FigureValue& value);

/// Writes the figures with names that begin with `group` and a dot as members of the open object of that key; further
/// dots in a name open nested objects. If `group` is the full name of a figure: writes that member.
void write_figures(JsonWriter& json, const RunSummary& result, std::string_view group);

}  // namespace kvplan::runs
