// The database of a sweep: one SQLite file that is whole by itself when no process has it open, and that any SQLite
// program can query. simulator/sweep/SCHEMA.md has its tables.
//
// A row is added with the case that it is of and never changes. Rows are kept in transactions: whatever happens to the
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

/// Version of the schema; a database of another one is refused.
inline constexpr std::int64_t kSchema = 1;

/// A column with a figure.
struct FigureColumn {
  std::string name, unit, better;
  bool operator==(const FigureColumn&) const = default;
};

/// What a database is of.
struct Head {
  std::string program;   ///< name and version
  std::string identity;  ///< 16 hex digits over all cases and the content of what they read
  std::int64_t cases{0};
  std::string chosen;  ///< how the cases were, for people; empty in older databases
  Shard shard;
  std::int64_t share{0};  ///< cases of the shard
  std::string dealt;      ///< by which rule (cost.h); empty where there is one shard
  std::vector<std::pair<std::string, std::string>> settings;  ///< of all cases, as given: path and text
  std::vector<plan::Vary> varies;
  std::vector<std::pair<std::string, std::string>> inputs;  ///< path and digest
  std::vector<FigureColumn> figures;
};

/// Why `found` is not a database of what `wanted` says; nothing where it is. `shards_too`: of the same share.
std::optional<std::string> difference(const Head& found, const Head& wanted, bool shards_too);

class Database {
 public:
  /// A new one. Error: there is a file.
  static Result<Database> create(const std::string& path, const Head& head);
  /// One that is there goes on; an absent or empty one is made. Error: it is of something else.
  static Result<Database> resume(const std::string& path, const Head& head);
  /// For reading.
  static Result<Database> open(const std::string& path);

  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] const std::string& path() const { return sql_->path(); }

  /// A row of the table of cases: case, status, error, a cell for each path, one for each figure.
  using Row = std::vector<Cell>;
  /// The names of these columns.
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] Result<bool> has(std::int64_t number);
  Result<std::optional<Row>> row(std::int64_t number);
  /// In a transaction, which `commit` ends. REQUIRES: the case has no row.
  Status add(const Row& row);
  Status add(const CaseRow& of, const plan::Varied& varied);
  Status commit();
  /// Rows in the order of cases.
  Status each(const std::function<Status(const Row&)>& told);
  /// The rows of any query.
  Status query(const std::string& text, const std::function<void(const Row&)>& told);
  Result<std::int64_t> done();    ///< rows
  Result<std::int64_t> failed();  ///< rows with an error

 private:
  Database(std::unique_ptr<Sql> sql, Head head) : sql_(std::move(sql)), head_(std::move(head)) {}
  static Result<Database> make(std::unique_ptr<Sql> sql, const Head& head);
  std::unique_ptr<Sql> sql_;  // before its statements
  Head head_;
  std::optional<Statement> has_, row_, add_;
  bool in_transaction_{false};
};

}  // namespace kvplan::sweep
