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
                     "Format of the trace. Default: the content decides. Formats: " + formats);
  command.add_option("--map", options.map,
                     "Columns of any other table: "
                     "arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,output=COLUMN[,session=,tenant=,max_"
                     "tokens=,priority=,hashes=COLUMN,block=N,ids=content|chained,ttft=,e2e=,think=,tool_"
                     "wait=,id=,after=COLUMN of the ids that a row waits for]. Times without a unit are "
                     "seconds. A column name with commas is written in double quotes");
  add_whole_number(command, "--block", {1, std::int64_t{1} << 20},
                   "Tokens per prefix id (block hash), for trace formats that do not state it", "",
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
