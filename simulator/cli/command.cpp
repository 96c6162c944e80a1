#include "simulator/cli/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>

#include "traces/io/output.h"

namespace kvplan::cli {
namespace {

/// What the system refuses is an error like any other: one line, exit code 2.
Status guarded(const std::function<Status()>& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return bad_input("out of memory");
  } catch (const std::length_error&) {
    return bad_input("out of memory");
  } catch (const std::system_error& error) {
    return bad_input(error.what());
  }
}

}  // namespace

void report(const Status& status, Outcome& outcome) {
  if (status.ok()) return;
  std::fprintf(stderr, "kvplan: %s\n", status.error().to_string().c_str());
  outcome.exit_code = static_cast<int>(status.error().kind);
}

void run_as(CLI::App& command, Outcome& outcome, std::function<Status()> body) {
  command.callback([&outcome, body = std::move(body)] {
    report(interrupted() ? Status(interrupted_error()) : guarded(body), outcome);
  });
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    std::fprintf(stderr, "kvplan: warning: %s\n", bad_input(warning).to_string().c_str());
}

void add_json_option(CLI::App& command, std::string& path, std::string_view what) {
  command.add_option("--json", path,
                     "Write " + std::string(what) + " as JSON to FILE, or - for standard output");
}

Status write_text(const std::string& path, std::string_view text) {
  return write_pieces(path, [&](const ByteSink& sink) { return sink(text); });
}

Status write_pieces(const std::string& path, const std::function<Status(const ByteSink& sink)>& make) {
  KVPLAN_TRY(const std::unique_ptr<Output> out, traces::create_output(path));
  KVPLAN_TRY_DO(make([&](std::string_view bytes) { return out->write(bytes); }));
  if (interrupted()) return interrupted_error();
  return out->commit();
}

}  // namespace kvplan::cli
