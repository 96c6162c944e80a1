// What `kvplan frontier` prints: its JSON, a line of CSV for each point, and a table for people.
#pragma once

#include <string>

#include "simulator/frontier/frontier.h"

namespace kvplan::frontier {

std::string frontier_json(const frontier::Request& request, const frontier::Frontier& found);
std::string frontier_csv(const frontier::Request& request, const frontier::Frontier& found);
std::string frontier_text(const frontier::Request& request, const frontier::Frontier& found);

}  // namespace kvplan::frontier
