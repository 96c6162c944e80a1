#include "simulator/sweep/sql.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/program.h"
#include "simulator/base/read_files.h"
#include "simulator/base/utf8.h"

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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// The system's reason why the file cannot be opened; 0 if it can. SQLite itself reports the reason of its last
/// attempt, which has other flags. REQUIRES: no connection of this process has the file open.
int why_not_opened(const std::string& path, Sql::Mode mode) {
  const bool create = mode == Sql::Mode::kCreate;
  std::error_code none;
  if (create && !std::filesystem::exists(path, none)) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    return ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  }
  const int descriptor = ::open(path.c_str(), (create ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (descriptor < 0) return errno;
  ::close(descriptor);
  return 0;
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
  const int code = std::visit(
      Overloaded{[&](std::monostate) { return sqlite3_bind_null(s, at); },
                 [&](std::int64_t whole) { return sqlite3_bind_int64(s, at, whole); },
                 [&](double real) { return sqlite3_bind_double(s, at, real); },
                 [&](const std::string& text) {
                   if (!is_utf8(text))
                     return sqlite3_bind_blob64(s, at, text.data(), text.size(), SQLITE_TRANSIENT);
                   return sqlite3_bind_text64(s, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
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
  // With a folder in its name, SQLite never takes the file for a URI or a database in memory.
  const std::string name = path.find('/') == std::string::npos ? "./" + path : path;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  sql->connection_.reset(connection);
  if (connection == nullptr) return bad_input("out of memory").at_file(path);
  if (code == SQLITE_CANTOPEN) {
    const int reason = why_not_opened(path, mode);
    return reason == 0 ? sql->error()
                       : bad_input(std::string("cannot open: ") + std::strerror(reason)).at_file(path);
  }
  if (code != SQLITE_OK) return sql->error();
  note_read(path);
  sqlite3_busy_timeout(connection, 0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  if (mode == Mode::kRead) {
    constexpr int kOperations = 100'000;  // operations between two checks for interruption: some milliseconds
    sqlite3_progress_handler(
        connection, kOperations, [](void*) { return interrupted() ? 1 : 0; }, nullptr);
  }
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

bool Sql::is_busy() const {
  const int code = sqlite3_errcode(connection_.get()) & 0xFF;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
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
    case SQLITE_INTERRUPT:
      return interrupted_error();
    case SQLITE_NOMEM:
      return say("out of memory");
    default:
      return say(sqlite3_errmsg(c));
  }
}

}  // namespace kvplan::sweep
