// Shared by the trace tests: the folder of recorded traces, traces from text, runs of programs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/files.h"
#include "traces/import/importer.h"
#include "traces/import/open_trace.h"
#include "traces/record/statistics.h"

namespace kvplan::traces::testing {

/// The folder with the recorded traces, which is beside the source tree or at $KVPLAN_SHARED; empty if absent.
std::string shared_traces();
#define KVPLAN_NEED_SHARED()                            \
  if (kvplan::traces::testing::shared_traces().empty()) \
  GTEST_SKIP() << "no recorded traces: set KVPLAN_SHARED to the folder that has them"

using test::read_file;
using test::TemporaryFolder;
using test::write_file;

/// Imports text as if it were the file "t".
Result<Trace> import_text(std::string_view text, const ImportOptions& options = {});
/// The error line of an import that must fail; "no error" if it does not.
std::string import_error(std::string_view text, const ImportOptions& options = {});

/// Imports text that must be valid; an empty trace and a failed test if it is not.
Trace imported(std::string_view text, const ImportOptions& options = {});

/// Options that state only the size of a block.
inline ImportOptions blocks_of(std::int64_t tokens) {
  ImportOptions options;
  options.block_tokens = tokens;
  return options;
}

/// Mean (within 0.05), p50, p95, p99 and maximum from the README of the recorded traces.
struct Figures {
  double mean;
  std::int64_t p50, p95, p99, max;
};
void expect_tokens(const TokenStatistics& found, const Figures& wanted);

/// Every importer and .kvt, in the form of error messages.
std::string known_formats();

/// Checks that every column, name and count of two traces is equal (except provenance).
void expect_same(const Trace& a, const Trace& b);

/// Waits as pairs (request, one that it waits for), in the order of the file.
using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;
inline Pairs pairs_of(const Waits& waits) {
  Pairs out;
  for (std::size_t k = 0; k < waits.size(); ++k) out.emplace_back(waits.request[k], waits.before[k]);
  return out;
}

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};
/// Runs `PROGRAM ARGUMENTS` (one of this project's, or by its whole path) with a shell that limits memory (address
/// space) to `megabytes`. Its standard output may go to another file.
Outcome run_program(const std::string& program, const std::string& arguments, int megabytes = 2048,
                    const std::string& standard_output = {});
Outcome run_kvplan(const std::string& arguments, int megabytes = 2048);

}  // namespace kvplan::traces::testing
