// The figures of a result: every number of a report that is not of one replica, one layer group or the scenario, by its
// key in the report, the keys of objects joined with dots ("latency_s.ttft.p99"). One list: reports are written from
// it, and columns of sweeps are its names.
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

namespace kvplan::plan {

/// Nothing (null in reports), a count, a real number, or whether something holds (0 or 1 in columns of sweeps).
using FigureValue = std::variant<std::monostate, std::int64_t, double, bool>;

/// Which of two values one would rather have, all else equal.
enum class Better : std::uint8_t { kNeither, kLower, kHigher };
/// "lower", "higher"; empty for kNeither.
std::string_view better_name(Better better);

struct Figure {
  std::string name;
  Unit unit{Unit::kNone};
  Better better{Better::kNeither};
  std::function<FigureValue(const RunSummary&)> value;
};

/// In the order of the report's keys.
std::span<const Figure> figures();
/// REQUIRES: there is one of this name.
const Figure& figure_named(std::string_view name);

/// Whether something holds is 0 or 1.
std::optional<double> number_of(const FigureValue& value);

/// The figures whose names begin with `group` and a dot, as members of the object of that key, which is open; what
/// has further dots in its name goes into objects of its own. With a name that is a whole figure: that member.
void write_figures(JsonWriter& json, const RunSummary& result, std::string_view group);

}  // namespace kvplan::plan
