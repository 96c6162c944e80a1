// Maps as SVG: fields coloured by one scale (report/heat_colours.h), darker for more, with a legend.
#pragma once

#include <string>
#include <vector>

#include "simulator/report/markup.h"
#include "simulator/survey/maps.h"

namespace kvplan::survey {

struct Size {
  double width{0}, height{0};
};

/// The size of a drawn map.
Size size_of(const Map& map);
Size size_of(const AttentionMap& map);
/// Draws the map with its upper left corner at (0, 0): title with unit, axes, fields (with numbers if they have room),
/// a legend. Fields without a value are dashed; a layer with fewer heads has fewer fields.
void draw(report::Markup& svg, const Map& map);
/// Draws queries downwards and tokens across; cells above the diagonal are empty. The scale is logarithmic, from 0.0001
/// (and everything below) to 1.
void draw(report::Markup& svg, const AttentionMap& map);

/// One map as a chart for a page (report/charts.h). `id` makes names inside the page unique.
std::string chart(const Map& map, const std::string& id);
std::string chart(const AttentionMap& map, const std::string& id);

/// All maps on one sheet, in rows, as a chart; `title` stands above.
struct Sheet {
  std::string chart;
  Size size;
};
Sheet sheet(const std::vector<Map>& maps, const std::optional<AttentionMap>& attention,
            const std::string& title);

}  // namespace kvplan::survey
