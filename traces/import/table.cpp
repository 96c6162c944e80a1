// Any table, by `--format csv|jsonl --map ...`. Never recognised automatically: the user must state units and
// meanings.
#include "traces/import/importer.h"

namespace kvplan::traces::table {
namespace {

bool never(const Sniff&) {
  return false;
}

Result<ColumnMap> map_from(const ImportOptions& options) {
  if (options.map.empty())
    return bad_input("needs --map arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,output=COLUMN[,...]")
        .at_field("--format");
  KVPLAN_TRY(ColumnMap map, parse_column_map(options.map));
  if (options.block_tokens > 0 && map.block_tokens > 0) map.block_tokens = options.block_tokens;
  return map;
}

Result<std::unique_ptr<TraceStream>> open_csv(Inputs inputs, const ImportOptions& options) {
  KVPLAN_TRY(ColumnMap map, map_from(options));
  return open_csv_table(std::move(inputs), std::move(map), "csv");
}

Result<std::unique_ptr<TraceStream>> open_jsonl(Inputs inputs, const ImportOptions& options) {
  KVPLAN_TRY(ColumnMap map, map_from(options));
  return open_json_table(std::move(inputs), std::move(map), "jsonl");
}

}  // namespace

}  // namespace kvplan::traces::table

namespace kvplan::traces::csv {

using namespace table;

extern const Importer kMember;
const Importer kMember{.name = "csv",
                       .summary = "any CSV table with columns named by --map",
                       .source = "kvplan",
                       .takes_map = true,
                       .recognises = never,
                       .open = open_csv};

}  // namespace kvplan::traces::csv

namespace kvplan::traces::jsonl {

using namespace table;

extern const Importer kMember;
const Importer kMember{.name = "jsonl",
                       .summary = "any file of JSON objects, one per line, with fields named by --map",
                       .source = "kvplan",
                       .takes_map = true,
                       .recognises = never,
                       .open = open_jsonl};

}  // namespace kvplan::traces::jsonl
