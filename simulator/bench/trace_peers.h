// What our importers are measured beside: made-up traces as text, and readers of them as a careful programmer
// would write them first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/record/trace.h"

namespace kvplan::traces::bench {

/// Like Azure's tables: a time with seven fraction digits, two lengths.
std::string make_csv(int rows);
/// Like Mooncake's: times in ms, lengths, 0 to 2 x `ids_per_row` prefix ids of which the first half is shared.
std::string make_jsonl(int rows, int ids_per_row);

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
/// Rows of three numbers; ids are not looked at. (A list of them is nothing that sscanf reads.)
PeerTrace jsonl_sscanf(const std::string& text);
/// REQUIRES: a text of make_jsonl, which has the room behind it that simdjson reads.
PeerTrace jsonl_simdjson(const std::string& text);

}  // namespace kvplan::traces::bench
