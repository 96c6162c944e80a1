// The cells of a line of plain CSV: no quotes, no escapes.
#pragma once

#include <string_view>
#include <vector>

namespace kvplan {

/// The texts between commas; a line without a comma is one cell. They point into `line`.
std::vector<std::string_view> comma_cells(std::string_view line);

}  // namespace kvplan
