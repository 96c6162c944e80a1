#include "tests/unit/traces/support.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/support/sanitized.h"

namespace kvplan::traces::testing {

std::string shared_traces() {
  const char* const given = std::getenv("KVPLAN_SHARED");
  const std::string folder =
      (given != nullptr ? std::string(given) : KVPLAN_SOURCE_DIR "/../shared") + "/traces";
  return std::filesystem::is_directory(folder) ? folder : "";
}

Result<Trace> import_text(std::string_view text, const ImportOptions& options) {
  KVPLAN_TRY(std::unique_ptr<ByteSource> source, open_memory(text, "t"));
  Inputs inputs;
  inputs.first = std::make_unique<Input>(std::move(source), "t");
  KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream(std::move(inputs), options));
  return collect(*stream);
}

std::string import_error(std::string_view text, const ImportOptions& options) {
  const Result<Trace> trace = import_text(text, options);
  return trace.ok() ? "no error" : trace.error().to_string();
}

Trace imported(std::string_view text, const ImportOptions& options) {
  Result<Trace> trace = import_text(text, options);
  EXPECT_TRUE(trace.ok()) << trace.error().to_string();
  return trace.ok() ? std::move(trace).value() : Trace{};
}

void expect_tokens(const TokenStatistics& found, const Figures& wanted) {
  EXPECT_NEAR(found.mean.value_or(-1), wanted.mean, 0.05);
  EXPECT_EQ(found.p50, wanted.p50);
  EXPECT_EQ(found.p95, wanted.p95);
  EXPECT_EQ(found.p99, wanted.p99);
  EXPECT_EQ(found.max, wanted.max);
}

std::string known_formats() {
  std::string out;
  for (const Importer* importer : importers()) out.append(importer->name).append(", ");
  return out + ".kvt";
}

void expect_same(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.arrival_ns, b.arrival_ns);
  EXPECT_EQ(a.input_tokens, b.input_tokens);
  EXPECT_EQ(a.output_tokens, b.output_tokens);
  EXPECT_EQ(a.prefix.block_tokens, b.prefix.block_tokens);
  EXPECT_EQ(a.prefix.offsets, b.prefix.offsets);
  EXPECT_EQ(a.prefix.ids, b.prefix.ids);
  EXPECT_EQ(a.prefix.distinct, b.prefix.distinct);
  EXPECT_EQ(a.prefix.last_may_be_partial, b.prefix.last_may_be_partial);
  EXPECT_EQ(a.session, b.session);
  EXPECT_EQ(a.session_names, b.session_names);
  EXPECT_EQ(a.tenant, b.tenant);
  EXPECT_EQ(a.tenant_names, b.tenant_names);
  EXPECT_EQ(a.max_tokens, b.max_tokens);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.ttft_ns, b.ttft_ns);
  EXPECT_EQ(a.e2e_ns, b.e2e_ns);
  EXPECT_EQ(a.think_ns, b.think_ns);
  EXPECT_EQ(a.waits.request, b.waits.request);
  EXPECT_EQ(a.waits.before, b.waits.before);
  EXPECT_EQ(a.shares_clock, b.shares_clock);
  EXPECT_EQ(a.digest, b.digest);
}

Outcome run_kvplan(const std::string& arguments, int megabytes) {
  return run_program("kvplan", arguments, megabytes);
}

Outcome run_program(const std::string& program, const std::string& arguments, int megabytes,
                    const std::string& standard_output) {
  const TemporaryFolder folder;
  const std::string limit =
      KVPLAN_SHADOW_MEMORY == 0 ? "ulimit -v " + std::to_string(megabytes * 1024) + "; " : "";
  const std::string path = program.starts_with('/') ? program : KVPLAN_PROGRAM_DIR "/" + program;
  const std::string command = limit + "'" + path + "' " + arguments + " > '" +
                              (standard_output.empty() ? folder.file("out") : standard_output) + "' 2> '" +
                              folder.file("err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder.file("out")),
          read_file(folder.file("err"))};
}

}  // namespace kvplan::traces::testing
