// Numeric options. All of them are parsed by simulator/base/number_input.h, so that every command rejects the same
// texts with the same error messages. CLI11's own conversion would saturate, and read an empty text as 0 and 010 as 8.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/number_input.h"
#include "simulator/cli/options.h"

namespace kvplan::cli {

/// An option that takes a whole number; `set` gets it. `shown_default`: for --help; empty = none.
Option* add_whole_number(Command& command, const std::string& name, WholeRange range, const std::string& help,
                         const std::string& shown_default, std::function<void(std::int64_t)> set);

/// As above, for a variable, which holds the default. It must live as long as the command, and be able to hold every
/// number of the range.
template <class Integer>
Option* add_whole_number(Command& command, const std::string& name, Integer& to, WholeRange range,
                         const std::string& help) {
  return add_whole_number(command, name, range, help, std::to_string(to),
                          [&to](std::int64_t value) { to = static_cast<Integer>(value); });
}

/// Adds --threads to commands that work on layers of sequences; the default is the number of processors. `threads`
/// must live as long as the command.
void add_layer_threads(Command& command, int& threads);

Option* add_number(Command& command, const std::string& name, double& to, NumberRange range,
                   const std::string& help);

/// Parses "N[,N...]": distinct whole numbers, kept in the given order. Errors, with this field: not numbers, out of
/// range, a number twice.
Result<std::vector<std::int64_t>> different_numbers(const std::string& text, WholeRange range,
                                                    std::string_view field);

}  // namespace kvplan::cli
