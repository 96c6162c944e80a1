// The inputs and rivals of our importers: synthetic traces as text, and careful but simple readers of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/record/trace.h"

namespace kvplan::traces::bench {

/// Like Azure's tables: a time with seven decimals, two lengths.
std::string make_csv(int rows);
/// Like Mooncake's: times in ms, lengths, 0 to 2 x `ids_per_row` prefix ids of which the first half is shared.
/// Without `ids_per_row`: a table of the first three columns.
std::string make_jsonl(int rows, std::optional<int> ids_per_row);

/// What a peer reads: columns, and prefix ids as in the source.
struct PeerTrace {
  Trace trace;
  std::vector<std::uint64_t> ids;
};
/// The digest that our import gives if both have read the same. Ids are numbered by first appearance in this function,
/// outside the timed part.
std::string digest_of(PeerTrace peer, std::int64_t block_tokens);

PeerTrace csv_sscanf(const std::string& text);
PeerTrace csv_from_chars(const std::string& text);
/// Uses strtoull for ids, if rows have them, since sscanf cannot read lists of any length.
PeerTrace jsonl_sscanf(const std::string& text, bool with_ids);
/// REQUIRES: a text of make_jsonl, which has the padding that simdjson reads.
PeerTrace jsonl_simdjson(const std::string& text, bool with_ids);

}  // namespace kvplan::traces::bench
