// The columns of a table and their roles: the core of every importer of CSV files and JSON lines, and of `--map`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/base/result.h"
#include "traces/import/fields.h"

namespace kvplan::traces {

enum class Role : std::uint8_t {
  kArrival,
  kInput,
  kOutput,
  kSession,
  kTenant,
  kMaxTokens,
  kHashes,
  kTtft,
  kE2e,
  kThink,
  kToolWait,  ///< added to think
  kId,        ///< name by which other rows refer to this one; without it, its number from 0
  kAfter,     ///< ids of the requests that it waits for
  kPriority
};
inline constexpr std::size_t kRoles = 14;
/// "arrival", "input", ...: the keys of `--map`.
std::string_view role_name(Role role);

/// The source of the values of one role. A table without a column for arrivals has no clock: all of its requests
/// arrive at 0.
struct Column {
  std::vector<std::string> names;     ///< the column's name, then alternatives; empty = the role is not read
  TimeUnit unit{TimeUnit::kSeconds};  ///< of times
  bool required{false};               ///< an error if it is missing
};

struct ColumnMap {
  std::array<Column, kRoles> columns;
  std::int64_t block_tokens{0};  ///< tokens of one prefix id; 0 = hashes are not read
  /// Each id stands for one block's content, wherever it occurs; the importer must turn the ids into chained ones.
  bool content_ids{false};
  /// Rows that cannot be read are left out and counted; otherwise the first one is an error.
  bool skips_bad{false};
  /// Only rows that have all of these (column, value) are read; the others are left out.
  std::vector<std::pair<std::string, std::string>> where;
  bool recognised{false};  ///< made from the table (recognise_column_map), not by the user

  [[nodiscard]] Column& at(Role role) { return columns[static_cast<std::size_t>(role)]; }
  [[nodiscard]] const Column& at(Role role) const { return columns[static_cast<std::size_t>(role)]; }
};

/// Parses `arrival=COLUMN[:UNIT],input=COLUMN,output=COLUMN[,...]`: a role and its column; units are s, ms, us, ns
/// and (arrival) iso. Without a unit, times are seconds; if the column's own name then has another unit ("ts_ms"),
/// that is an error. A name with commas is written in double quotes, doubled inside. `ids=content` says that prefix ids
/// are not chained. `bad=skip` leaves out rows that cannot be read; `where=COLUMN=VALUE` reads only rows with this
/// value. An id without `after` is not used. The error's field is "--map".
Result<ColumnMap> parse_column_map(std::string_view text);
/// The text of a map: parse_column_map(to_text(m)) gives m.
std::string to_text(const ColumnMap& map);
/// The name in double quotes, with quotes inside doubled.
std::string quoted_name(std::string_view name);
/// A `--map` line that could fit a table with these columns, guessed from their names, for error messages. Units are
/// not guessed: if a name has none, the line has the word UNIT, which `--map` does not accept.
std::string propose_column_map(const std::vector<std::string>& columns);

/// The map of a table for `--map auto`, from the names of its columns and the values of its first rows. A time is
/// recognised if it is clearly an ISO time, or clearly in s, ms, us or ns by its name, its size since 1970, or a
/// decimal point. `rows`: cells by column; a row may have fewer cells than there are columns. Errors: a column is
/// missing, or several units are possible; errors contain a `--map` line to complete.
Result<ColumnMap> recognise_column_map(const std::vector<std::string>& columns,
                                       const std::vector<std::vector<std::string>>& rows);

}  // namespace kvplan::traces
