// The cases of a sweep as they are given: all combinations (--vary), some drawn by chance (--random), or the lines of a
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
  std::int64_t random{0};  ///< how many are drawn; 0: none is
  std::int64_t seed{1};
};

/// --vary, --random, --seed and --cases. The place must live as long as the command.
void add_cases_options(Command& command, CasesInput& input);

/// Errors: none or both of --vary and --cases are given, a value or line that is none, too many cases.
Result<plan::Combinations> read_cases(const CasesInput& input);
/// How they were chosen, for people: "all combinations", "drawn with seed 1", "lines of a file".
std::string chosen_text(const CasesInput& input);

}  // namespace kvplan::cli
