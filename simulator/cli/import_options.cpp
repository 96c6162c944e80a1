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
  command.add_option(
      "--map", options.map,
      "Columns of any other table: "
      "arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,output=COLUMN[,session=,tenant=,max_"
      "tokens=,priority=,hashes=COLUMN,block=N,ids=content|chained,ttft=,e2e=,think=,tool_"
      "wait=,id=,after=COLUMN of the ids that a row waits for]. Times without a unit are "
      "seconds. A column name with commas is written in double quotes. auto: columns and units are "
      "recognised by names and values");
  const auto add_to_map = [&options](const std::string& part) {
    if (options.map.empty()) options.map = "auto";
    options.map += "," + part;
  };
  command.add_flag_function(
      "--skip-bad", [add_to_map] { add_to_map("bad=skip"); },
      "Leave out rows of a table that cannot be read, and say how many and why; without --map "
      "it means --map auto");
  command.add_list_function(
      "--where",
      [add_to_map](const std::vector<std::string>& wheres) {
        for (const std::string& where : wheres) {
          const bool plain = where.find_first_of(",\"") == std::string::npos;
          add_to_map("where=" + (plain ? where : report::csv_quoted(where)));
        }
      },
      "COLUMN=VALUE: only rows of a table with this value; may be repeated; without --map it means --map "
      "auto");
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
