#include "simulator/cli/import_options.h"

#include "simulator/cli/number_option.h"
#include "simulator/report/number_text.h"
#include "traces/import/importer.h"

namespace kvplan::cli {

void add_import_options(Command& command, traces::ImportOptions& options) {
  std::string formats;
  for (const traces::Importer* importer : traces::importers())
    formats += (formats.empty() ? "" : ", ") + std::string(importer->name);
  command.add_option("--format", options.format,
                     "Importer of the trace, instead of what its content says: " + formats);
  command.add_option(
      "--map", options.map,
      "Columns of the trace if it is another table: arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,"
      "output=COLUMN[,session=,tenant=,max_tokens=,priority=,hashes=COLUMN,block=N,ids=content|chained,ttft=,"
      "e2e=,"
      "think=,tool_wait=,id=,after=COLUMN of the ids that a row waits for]; times are seconds unless a unit "
      "is "
      "given; a name with commas stands in double quotes");
  add_whole_number(command, "--block", {1, std::int64_t{1} << 20},
                   "Tokens of one prefix id in the trace, where its format leaves that open", "",
                   [&options](std::int64_t tokens) { options.block_tokens = tokens; });
}

std::string import_flags(const traces::ImportOptions& options) {
  std::string out;
  if (!options.format.empty()) out += " --format " + report::shell_quoted(options.format);
  if (!options.map.empty()) out += " --map " + report::shell_quoted(options.map);
  if (options.block_tokens > 0) out += " --block " + std::to_string(options.block_tokens);
  return out;
}

}  // namespace kvplan::cli
