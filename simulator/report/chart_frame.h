// The parts that charts share: element and title, axes with units, hatches, legend.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/report/charts.h"
#include "simulator/report/markup.h"
#include "simulator/report/palette.h"

namespace kvplan::report {

inline constexpr double kChartWidth = 860;

/// Maps a value to a coordinate, linearly or by its logarithm.
struct Scale {
  double low{0}, high{1};   ///< values
  double begin{0}, end{1};  ///< coordinates
  bool logarithmic{false};  ///< REQUIRES: low > 0

  [[nodiscard]] double at(double value) const;
};

/// A unit for an axis: values are divided by `size`.
struct AxisUnit {
  double size{1};
  std::string name;
};
AxisUnit time_unit(double longest_s);
AxisUnit bytes_unit(double most_bytes);

/// Round values from 0 to `high`, about `count` of them.
std::vector<double> round_ticks(double high, int count);

/// A number beside an axis: rounded, without zeros at its end.
std::string tick_text(double value);

/// `<svg>` with title and description for screen readers; the caller ends it.
void begin_chart(Markup& svg, const std::string& id, double width, double height, const std::string& title,
                 const std::string& description);
void x_axis(Markup& svg, const Plot& plot, const Scale& scale, const std::vector<double>& ticks,
            const std::string& title, const std::function<std::string(double)>& text);
void y_axis(Markup& svg, const Plot& plot, const Scale& scale, const std::vector<double>& ticks,
            const std::string& title, const std::function<std::string(double)>& text);

/// Writes the patterns of this chart, in <defs>.
void hatches(Markup& svg, const std::string& id);
/// Fill of a state, and the hatch over it (empty: none).
std::string state_class(observe::State state);
std::string hatch_fill(observe::State state, const std::string& id);
/// Boxes and names of the given states, in rows from `top` on. Returns the height taken.
double state_legend(Markup& svg, const std::vector<observe::State>& states, const std::string& id,
                    double left, double top, double width);

/// Moves label positions so that neighbours are at least `gap` apart and all are between `low` and `high`; keeps the
/// order.
void part_labels(std::vector<double>& positions, double gap, double low, double high);

/// Horizontal and vertical pieces through (edges[i], values[i]); edges has one more than values. `reverse`
/// goes from right to left and begins with a line to its first point.
std::string step_path(const std::vector<double>& edges, const std::vector<double>& values, bool reverse);

}  // namespace kvplan::report
