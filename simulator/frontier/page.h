// A frontier as text: tables, sentences, and an HTML page with a chart.
#pragma once

#include <string>
#include <vector>

#include "simulator/frontier/frontier.h"
#include "simulator/report/content.h"

namespace kvplan::frontier {

/// "h2o:recent=8, int4", as the user wrote them: the name of the line of the chart to which the point belongs.
std::string line_name(const Request& request, const Point& point);

/// Tables of the points and of the oracle.
std::vector<report::Table> tables(const Request& request, const Frontier& found);
/// The meaning of the columns, and the assumptions.
std::vector<std::string> explanations(const Frontier& found);

/// A chart with one line for each policy and format: output error over bytes per token, or attended mass if no error
/// is known.
std::string chart(const Request& request, const Frontier& found, const std::string& id);
/// `command`: the command line that makes this page again.
std::string page(const Request& request, const Frontier& found, const std::string& command);

}  // namespace kvplan::frontier
