// The database of a sweep: one SQLite file that is complete by itself when no process has it open, and that any SQLite
// program can query. simulator/sweep/SCHEMA.md has its tables.
//
// A row is added when its case is done and never changes. Rows are written in transactions: whatever happens to the
// process, the file has all rows of a transaction or none. While a sweep writes, no other process reads or writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/scenario/vary.h"
#include "simulator/sweep/case_row.h"
#include "simulator/sweep/shard.h"
#include "simulator/sweep/sql.h"

namespace kvplan::sweep {

/// Version of the schema; databases with another one are refused.
inline constexpr std::int64_t kSchema = 1;

/// A column with a figure.
struct FigureColumn {
  std::string name, unit, better;
  bool operator==(const FigureColumn&) const = default;
};

/// What a database says about its sweep.
struct Head {
  std::string program;   ///< name and version
  std::string identity;  ///< digest of all cases and the content of their files, 16 hex digits
  std::int64_t cases{0};
  std::string chosen;  ///< how the cases were chosen, as text; empty in older databases
  Shard shard;
  std::int64_t share{0};  ///< number of cases of the shard
  std::string dealt;      ///< rule that divides cases among shards (shard.h); empty with one
  /// Settings of all cases, as given: path and text
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<runs::Vary> varies;
  std::vector<std::pair<std::string, std::string>> inputs;  ///< path and digest
  std::vector<FigureColumn> figures;
};

/// How `found` differs from `wanted`; nothing if they are equal. `shards_too`: they must also belong to the same shard.
std::optional<std::string> difference(const Head& found, const Head& wanted, bool shards_too);

class Database {
 public:
  /// Creates a database. Error: the file exists.
  static Result<Database> create(const std::string& path, const Head& head);
  /// Opens an existing database, or creates one if the file is absent or empty. Error: it belongs to another sweep.
  static Result<Database> resume(const std::string& path, const Head& head);
  /// Opens a database for reading.
  static Result<Database> open(const std::string& path);

  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] const std::string& path() const { return sql_->path(); }

  /// A row of the table of cases: case, status, error, a cell for each path, one for each figure.
  using Row = std::vector<Cell>;
  /// The names of these columns.
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] Result<bool> has(std::int64_t number);
  Result<std::optional<Row>> row(std::int64_t number);
  /// Adds a row in a transaction that `commit` ends. REQUIRES: the case has no row.
  Status add(const Row& row);
  Status add(const CaseRow& of, const runs::Varied& varied);
  Status commit();
  /// Runs CREATE TABLE IF NOT EXISTS for tables in addition to those of a sweep; they are committed at once.
  Status make_tables(const std::string& statements);
  /// Adds a row to such a table, or replaces the row with its key, in the transaction that `commit` ends.
  Status add_to(const std::string& table, const Row& row);
  /// Calls back with the rows in the order of cases.
  Status each(const std::function<Status(const Row&)>& told);
  /// Passes the rows of any query to `told`.
  Status query(const std::string& text, const std::function<void(const Row&)>& told);
  Result<std::int64_t> done();    ///< number of rows
  Result<std::int64_t> failed();  ///< number of rows with an error

 private:
  Database(std::unique_ptr<Sql> sql, Head head) : sql_(std::move(sql)), head_(std::move(head)) {}
  static Result<Database> make(std::unique_ptr<Sql> sql, const Head& head);
  Status begin();             // begins a transaction, if none is open
  std::unique_ptr<Sql> sql_;  // must be declared before its statements
  Head head_;
  std::optional<Statement> has_, row_, add_;
  bool in_transaction_{false};
};

}  // namespace kvplan::sweep
