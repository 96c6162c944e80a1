#include "simulator/cli/command.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "simulator/base/json_writer.h"
#include "traces/io/output.h"

namespace kvplan::cli {
namespace {

/// Turns errors of the operating system into errors like any other: one line, exit code 2.
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

void print_error(const Error& error, std::string_view hint) {
  const char* const form = std::getenv("KVPLAN_ERRORS");
  if (form == nullptr || std::string_view(form) != "json") {
    std::fprintf(stderr, "kvplan: %s%s\n", error.to_string().c_str(), std::string(hint).c_str());
    return;
  }
  const auto text = [](const std::string& part) { return part.empty() ? std::nullopt : std::optional(part); };
  JsonWriter json(0);
  json.begin_object().member("error", error.message).member("file", text(error.file));
  json.member("line", error.line > 0 ? std::optional(error.line) : std::nullopt);
  json.member("byte", error.byte >= 0 ? std::optional(error.byte) : std::nullopt);
  json.member("field", text(error.field)).member("exit_code", static_cast<int>(error.kind)).end_object();
  std::fputs(json.take().c_str(), stderr);
}

void report(const Status& status, Outcome& outcome) {
  if (status.ok()) return;
  print_error(status.error());
  outcome.exit_code = static_cast<int>(status.error().kind);
}

void run_as(Command& command, Outcome& outcome, std::function<Status()> body) {
  command.callback([&outcome, body = std::move(body)] {
    report(interrupted() ? Status(interrupted_error()) : guarded(body), outcome);
  });
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    std::fprintf(stderr, "kvplan: warning: %s\n", bad_input(warning).to_string().c_str());
}

void add_json_option(Command& command, std::string& path, std::string_view what) {
  command.add_option("--json", path, "Write JSON to FILE, or - for standard output: " + std::string(what));
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
