// A frontier for people: tables, sentences, and one page with a chart.
#pragma once

#include <string>
#include <vector>

#include "simulator/frontier/frontier.h"
#include "simulator/report/content.h"

namespace kvplan::frontier {

/// "h2o:recent=8, int4", as they were written: what the points of one line of the chart share.
std::string line_name(const Request& request, const Point& point);

/// The points, and the oracle.
std::vector<report::Table> tables(const Request& request, const Frontier& found);
/// What the columns mean, and what was assumed.
std::vector<std::string> explanations(const Frontier& found);

/// A line for each policy and format: output error over bytes per token, or attended mass where no error is known.
std::string chart(const Request& request, const Frontier& found, const std::string& id);
/// `command` is the line that makes this page again.
std::string page(const Request& request, const Frontier& found, const std::string& command);

}  // namespace kvplan::frontier
