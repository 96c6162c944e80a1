// SQLite as far as sweeps need it: a connection, statements, and errors as one line that a user understands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "simulator/base/result.h"

struct sqlite3;       // <sqlite3.h>, for sql.cpp
struct sqlite3_stmt;  // likewise

namespace kvplan::sweep {

/// A value of a row.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;
/// As CSV and people have it: nothing is empty, real numbers are in the shortest form that reads back the same.
std::string cell_text(const Cell& cell);

class Sql;

/// One statement, run any number of times: bind all of 1..n, `step` until it gives false, `reset`.
class Statement {
 public:
  void bind(int at, const Cell& cell);
  /// True: there is a row.
  Result<bool> step();
  /// For the next run. The row is gone.
  void reset();
  [[nodiscard]] int columns() const;
  [[nodiscard]] Cell cell(int column) const;
  [[nodiscard]] std::int64_t whole(int column) const;  ///< 0 where it is no number
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

/// A connection; it stays at its place while statements of it exist. Used by one thread at a time.
class Sql {
 public:
  enum class Mode : std::uint8_t {
    kRead,    ///< a file that is there; written only to mend what a killed process left
    kCreate,  ///< made where it is absent
  };
  /// Errors name `path`.
  static Result<std::unique_ptr<Sql>> open(const std::string& path, Mode mode);

  /// Any number of statements, without results.
  Status run(const std::string& text);
  Result<Statement> prepare(const std::string& text);
  /// The first column of the first row; nothing where there is none.
  Result<Cell> value(const std::string& text);
  [[nodiscard]] const std::string& path() const { return path_; }

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
