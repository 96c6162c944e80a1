// What `kvplan attention read` prints: JSON, CSV and a table.
#pragma once

#include <string>

#include "simulator/readers/evaluation.h"

namespace kvplan::report {

std::string read_json(const std::string& input, const readers::Request& request,
                      const readers::Evaluation& found);
/// One line for each reader, sequence, layer, decode step and KV head. REQUIRES: Request::keep_records.
std::string read_csv(const readers::Request& request, const readers::Evaluation& found);
/// `width`: of the terminal, in characters.
std::string read_text(const readers::Request& request, const readers::Evaluation& found, std::size_t width);

}  // namespace kvplan::report
