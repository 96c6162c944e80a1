#include "simulator/sweep/sql.h"

#include <sqlite3.h>

#include <cstring>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"

namespace kvplan::sweep {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// "cannot write: No space left on device"; without the system's reason if there is none.
std::string with_reason(std::string what, int system_error) {
  if (system_error != 0) what.append(": ").append(std::strerror(system_error));
  return what;
}

}  // namespace

std::string cell_text(const Cell& cell) {
  return std::visit(
      Overloaded{[](std::monostate) { return std::string(); },
                 [](std::int64_t whole) { return std::to_string(whole); },
                 [](double real) { return shortest(real); }, [](const std::string& text) { return text; }},
      cell);
}

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind(int at, const Cell& cell) {
  sqlite3_stmt* const s = statement_.get();
  const int code = std::visit(Overloaded{[&](std::monostate) { return sqlite3_bind_null(s, at); },
                                         [&](std::int64_t whole) { return sqlite3_bind_int64(s, at, whole); },
                                         [&](double real) { return sqlite3_bind_double(s, at, real); },
                                         [&](const std::string& text) {
                                           return sqlite3_bind_text64(s, at, text.data(), text.size(),
                                                                      SQLITE_TRANSIENT, SQLITE_UTF8);
                                         }},
                              cell);
  KVPLAN_CHECK(code == SQLITE_OK);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Error error = sql_->error();  // before the reset clears it
  reset();
  return error;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}

Cell Statement::cell(int column) const {
  sqlite3_stmt* const s = statement_.get();
  switch (sqlite3_column_type(s, column)) {
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(s, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(s, column);
    default:
      return text(column);
  }
}

std::int64_t Statement::whole(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

void Sql::Close::operator()(sqlite3* connection) const {
  sqlite3_close(connection);
}

Result<std::unique_ptr<Sql>> Sql::open(const std::string& path, Mode mode) {
  std::unique_ptr<Sql> sql(new Sql(path));
  const int flags = SQLITE_OPEN_READWRITE | (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0);
  // A name with a folder is never taken for a URI or for memory.
  const std::string name = path.find('/') == std::string::npos ? "./" + path : path;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  sql->connection_.reset(connection);
  if (connection == nullptr) return bad_input("out of memory").at_file(path);
  if (code != SQLITE_OK) return sql->error();
  sqlite3_busy_timeout(connection, 0);
  KVPLAN_TRY_DO(sql->run("PRAGMA temp_store = MEMORY"));
  return sql;
}

Status Sql::run(const std::string& text) {
  if (sqlite3_exec(connection_.get(), text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return Done{};
  return error();
}

Result<Statement> Sql::prepare(const std::string& text) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), text.c_str(), static_cast<int>(text.size()), &statement,
                         nullptr) != SQLITE_OK)
    return error();
  return Statement(*this, statement);
}

Result<Cell> Sql::value(const std::string& text) {
  KVPLAN_TRY(Statement statement, prepare(text));
  KVPLAN_TRY(const bool any, statement.step());
  return any ? statement.cell(0) : Cell();
}

Error Sql::error() const {
  sqlite3* const c = connection_.get();
  const int system_error = sqlite3_system_errno(c);
  const auto say = [&](std::string message) { return bad_input(std::move(message)).at_file(path_); };
  switch (sqlite3_errcode(c) & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return say("another process uses the database");
    case SQLITE_FULL:
      return say("cannot write: no space left");
    case SQLITE_IOERR: {
      const bool write = sqlite3_extended_errcode(c) == SQLITE_IOERR_WRITE;
      return say(with_reason(write ? "cannot write" : "cannot read or write", system_error));
    }
    case SQLITE_CANTOPEN:
      return say(with_reason("cannot open", system_error));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return say("cannot write: the file is read-only");
    case SQLITE_NOTADB:
      return say("expected a database of `kvplan sweep`, found another file");
    case SQLITE_CORRUPT:
      return say("the database is damaged");
    case SQLITE_NOMEM:
      return say("out of memory");
    default:
      return say(sqlite3_errmsg(c));
  }
}

}  // namespace kvplan::sweep
