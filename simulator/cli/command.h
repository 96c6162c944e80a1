// Shared by the commands of `kvplan`. Each command is one file, `cmd_NAME.cpp`, with one function `add_NAME` that is
// listed below and in main.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/program.h"
#include "simulator/base/result.h"
#include "simulator/cli/options.h"

namespace kvplan::cli {

/// How the program ends: with the first error of a command, as one line on standard error and an exit code. Failing to
/// write a result, also to standard output, is such an error.
struct Outcome {
  int exit_code{0};
};

/// Prints one line on standard error: "kvplan: " and the error. With KVPLAN_ERRORS=json in the environment, for
/// programs that call this one, the line is a JSON object instead: `error` without the place, `file`, `line`, `byte`,
/// `field` (null if unknown) and `exit_code`. `hint` is shown to people only.
void print_error(const Error& error, std::string_view hint = {});

/// Prints the error of a status, if any, and sets its exit code.
void report(const Status& status, Outcome& outcome);

/// Runs `body` once the command line is parsed and `command` was chosen.
void run_as(Command& command, Outcome& outcome, std::function<Status()> body);

/// Prints each warning on a line of standard error.
void print_warnings(const std::vector<std::string>& warnings);

/// Adds `--json FILE|-`; `what` describes the output.
void add_json_option(Command& command, std::string& path, std::string_view what);
/// Writes a result: to the file, completely or not at all, or to standard output if the path is "-".
Status write_text(const std::string& path, std::string_view text);
/// As write_text, in pieces: `make` passes its bytes to the sink that it gets.
using ByteSink = std::function<Status(std::string_view)>;
Status write_pieces(const std::string& path, const std::function<Status(const ByteSink& sink)>& make);

void add_budget(Command& app, Outcome& outcome);
void add_bytes(Command& app, Outcome& outcome);
void add_cache(Command& app, Outcome& outcome);
void add_calibration(Command& app, Outcome& outcome);
void add_check(Command& app, Outcome& outcome);
void add_compare(Command& app, Outcome& outcome);
void add_convert(Command& app, Outcome& outcome);
void add_latency(Command& app, Outcome& outcome);
void add_list(Command& app, Outcome& outcome);  // and explain
void add_plan(Command& app, Outcome& outcome);
void add_pool(Command& app, Outcome& outcome);
void add_merge(Command& app, Outcome& outcome);
void add_report(Command& app, Outcome& outcome);
void add_run(Command& app, Outcome& outcome);
void add_scenario(Command& app, Outcome& outcome);
void add_sweep(Command& app, Outcome& outcome);
void add_trace(Command& app, Outcome& outcome);
void add_format(Command& app, Outcome& outcome);
void add_frontier(Command& app, Outcome& outcome);
void add_evict(Command& app, Outcome& outcome);
void add_attention(Command& app, Outcome& outcome);

}  // namespace kvplan::cli
