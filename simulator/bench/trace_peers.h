// What our importers are measured beside: made-up traces as text, and readers of them as a careful programmer
// would write them first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/record/trace.h"

namespace kvplan::traces::bench {

/// Like Azure's tables: a time with seven fraction digits, two lengths.
std::string make_csv(int rows);
/// Like Mooncake's: times in ms, lengths, 0 to 2 x `ids_per_row` prefix ids of which the first half is shared. Without
/// `ids_per_row` a table of the first three columns.
std::string make_jsonl(int rows, std::optional<int> ids_per_row);

/// What a peer reads: columns, and prefix ids as they stand in the source.
struct PeerTrace {
  Trace trace;
  std::vector<std::uint64_t> ids;
};
/// The digest that our import has where both have read the same: ids are numbered by first appearance here,
/// outside of what is timed.
std::string digest_of(PeerTrace peer, std::int64_t block_tokens);

PeerTrace csv_sscanf(const std::string& text);
PeerTrace csv_from_chars(const std::string& text);
/// Ids, if rows have them, by strtoull: a list of any length is nothing that sscanf reads.
PeerTrace jsonl_sscanf(const std::string& text, bool with_ids);
/// REQUIRES: a text of make_jsonl, which has the room behind it that simdjson reads.
PeerTrace jsonl_simdjson(const std::string& text, bool with_ids);

}  // namespace kvplan::traces::bench
