// The part of SQLite that sweeps need: a connection, statements, and errors as one readable line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "simulator/base/result.h"

struct sqlite3;       // <sqlite3.h>, for sql.cpp
struct sqlite3_stmt;  // from the same header

namespace kvplan::sweep {

/// A value of a row.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;
/// The cell as text for CSV and tables: no value is empty; reals in the shortest form that reads back the same.
std::string cell_text(const Cell& cell);

class Sql;

/// One statement, run any number of times: bind all of 1..n, `step` until it returns false, `reset`.
class Statement {
 public:
  /// A text that is not UTF-8, such as some file names, is stored as a blob; `text` and `cell` return it as text.
  void bind(int at, const Cell& cell);
  /// True: there is a row.
  Result<bool> step();
  /// Prepares the next run. The row becomes invalid.
  void reset();
  [[nodiscard]] int columns() const;
  [[nodiscard]] Cell cell(int column) const;
  [[nodiscard]] std::int64_t whole(int column) const;  ///< 0 if the cell is not a number
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Sql;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const Sql& sql, sqlite3_stmt* statement) : sql_(&sql), statement_(statement) {}
  const Sql* sql_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection; it must not be moved while it has statements. Used by one thread at a time.
class Sql {
 public:
  enum class Mode : std::uint8_t {
    /// An existing file, written only to repair what a killed process left. Queries end when the user asks to stop.
    kRead,
    kCreate,  ///< made if it is absent
  };
  /// Errors name `path`. Code in the file does not run: views are errors, triggers are disabled.
  static Result<std::unique_ptr<Sql>> open(const std::string& path, Mode mode);

  /// Runs any number of statements without results.
  Status run(const std::string& text);
  Result<Statement> prepare(const std::string& text);
  /// The first column of the first row; nothing if there is no row.
  Result<Cell> value(const std::string& text);
  [[nodiscard]] const std::string& path() const { return path_; }
  /// True if the latest error was that another process uses the file.
  [[nodiscard]] bool is_busy() const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Sql(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Error error() const;
  std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A name in double quotes.
std::string quoted_name(std::string_view name);

}  // namespace kvplan::sweep
