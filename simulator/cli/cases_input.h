// The cases of a sweep from the command line: all combinations (--vary), random ones (--random), or the lines of a
// file (--cases).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/cli/options.h"
#include "simulator/scenario/vary.h"

namespace kvplan::cli {

struct CasesInput {
  std::vector<std::string> varies;
  std::string file;
  std::int64_t random{0};  ///< number of random cases; 0: not random
  std::int64_t seed{1};
};

/// Adds --vary, --random, --seed and --cases. `input` must live as long as the command.
void add_cases_options(Command& command, CasesInput& input);

/// Errors: neither or both of --vary and --cases, an invalid value or line, too many cases.
Result<runs::Combinations> read_cases(const CasesInput& input);
/// How the cases were chosen, as text: "all combinations", "drawn with seed 1", "lines of a file".
std::string chosen_text(const CasesInput& input);

}  // namespace kvplan::cli
