#include "simulator/sweep/database.h"

#include <array>
#include <filesystem>
#include <set>

#include "simulator/base/check.h"
#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"

namespace kvplan::sweep {
namespace {

/// "kvpS": distinguishes a database of sweeps from any other.
constexpr std::int64_t kApplication = 0x6B767053;

/// Numbers become SQL numbers, so that queries can order and compare them; values that would be read back with other
/// digits become text.
Cell cell_of(const std::string& text) {
  if (const auto whole = parse_integer(text); whole && std::to_string(*whole) == text) return *whole;
  if (const auto real = parse_decimal(text); real && shortest(*real) == text) return *real;
  return text;
}

Cell cell_of(const runs::FigureValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* holds = std::get_if<bool>(&value)) return std::int64_t{*holds};
  return std::monostate{};
}

std::vector<std::string> columns_of(const Head& head) {
  std::vector<std::string> names{"case", "status", "error"};
  for (const runs::Vary& vary : head.varies) names.push_back(vary.path);
  for (const FigureColumn& figure : head.figures) names.push_back(figure.name);
  return names;
}

/// The columns by name, for SQL statements: the table may have further columns.
std::string column_list(const Head& head) {
  std::string list;
  for (const std::string& name : columns_of(head)) list += (list.empty() ? "" : ", ") + quoted_name(name);
  return list;
}

constexpr std::array<std::string_view, 6> kTables{"sweep", "settings", "axes", "inputs", "figures", "cases"};

std::string tables_of(const Head& head) {
  std::string text =
      "CREATE TABLE sweep (name TEXT PRIMARY KEY, value);"
      "CREATE TABLE settings (position INTEGER PRIMARY KEY, path TEXT, value TEXT);"
      "CREATE TABLE axes (axis INTEGER, place INTEGER, path TEXT, value, PRIMARY KEY (axis, place));"
      "CREATE TABLE inputs (position INTEGER PRIMARY KEY, path TEXT, digest TEXT);"
      "CREATE TABLE figures (position INTEGER PRIMARY KEY, name TEXT, unit TEXT, better TEXT);"
      "CREATE TABLE cases (\"case\" INTEGER PRIMARY KEY, status TEXT NOT NULL, error TEXT";
  const std::vector<std::string> columns = columns_of(head);
  for (std::size_t i = 3; i < columns.size(); ++i) text += ", " + quoted_name(columns[i]);
  return text + ");PRAGMA application_id = " + std::to_string(kApplication) +
         ";PRAGMA user_version = " + std::to_string(kSchema);
}

Status insert(Sql& sql, const std::string& table, const std::vector<std::vector<Cell>>& rows) {
  if (rows.empty()) return Done{};
  std::string marks = "?";
  for (std::size_t i = 1; i < rows.front().size(); ++i) marks += ", ?";
  KVPLAN_TRY(Statement statement, sql.prepare("INSERT INTO " + table + " VALUES (" + marks + ")"));
  for (const std::vector<Cell>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) statement.bind(static_cast<int>(i) + 1, row[i]);
    KVPLAN_TRY_DO(statement.step());
    statement.reset();
  }
  return Done{};
}

Status write_head(Sql& sql, const Head& head) {
  KVPLAN_TRY_DO(insert(sql, "sweep",
                       {{"program", head.program},
                        {"identity", head.identity},
                        {"cases", head.cases},
                        {"chosen", head.chosen},
                        {"shard", head.shard.index},
                        {"shards", head.shard.count},
                        {"share", head.share},
                        {"dealt", head.dealt}}));
  std::vector<std::vector<Cell>> settings, axes, inputs, figures;
  const auto position = [](const auto& rows) { return static_cast<std::int64_t>(rows.size()); };
  for (const auto& [path, text] : head.settings) settings.push_back({position(settings), path, text});
  for (std::size_t axis = 0; axis < head.varies.size(); ++axis) {
    const runs::Vary& vary = head.varies[axis];
    for (std::size_t place = 0; place < vary.values.size(); ++place)
      axes.push_back({static_cast<std::int64_t>(axis), static_cast<std::int64_t>(place), vary.path,
                      cell_of(vary.values[place])});
  }
  for (const auto& [path, digest] : head.inputs) inputs.push_back({position(inputs), path, digest});
  for (const FigureColumn& figure : head.figures)
    figures.push_back({position(figures), figure.name, figure.unit, figure.better});
  KVPLAN_TRY_DO(insert(sql, "settings", settings));
  KVPLAN_TRY_DO(insert(sql, "axes", axes));
  KVPLAN_TRY_DO(insert(sql, "inputs", inputs));
  return insert(sql, "figures", figures);
}

/// Calls `told` with each row of a query.
Status each_row(Sql& sql, const std::string& query, const std::function<void(const Statement&)>& told) {
  KVPLAN_TRY(Statement statement, sql.prepare(query));
  while (true) {
    KVPLAN_TRY(const bool more, statement.step());
    if (!more) return Done{};
    told(statement);
  }
}

/// Checks that all tables exist and are no views: a query on a view may never end.
Status check_tables(Sql& sql) {
  for (const std::string_view table : kTables) {
    KVPLAN_TRY(const Cell type,
               sql.value("SELECT type FROM sqlite_master WHERE name = '" + std::string(table) + "'"));
    if (type != Cell(std::string("table")))
      return bad_input("the database is damaged: expected a table " + std::string(table) + ", found " +
                       (type == Cell() ? "none" : "a " + cell_text(type)))
          .at_file(sql.path());
  }
  return Done{};
}

/// Checks that the columns that kvplan reads exist. There may be others.
Status check_columns(Sql& sql, const Head& head) {
  std::set<std::string> there;
  KVPLAN_TRY_DO(each_row(sql, "SELECT name FROM pragma_table_info('cases')",
                         [&](const Statement& row) { there.insert(row.text(0)); }));
  for (const std::string& name : columns_of(head))
    if (!there.contains(name))
      return bad_input("the database is damaged: expected a column " + name + " in cases")
          .at_file(sql.path());
  return Done{};
}

Result<Head> read_head(Sql& sql) {
  Head head;
  KVPLAN_TRY_DO(check_tables(sql));
  KVPLAN_TRY_DO(each_row(sql, "SELECT name, value FROM sweep", [&](const Statement& row) {
    const std::string name = row.text(0);
    if (name == "program") head.program = row.text(1);
    if (name == "identity") head.identity = row.text(1);
    if (name == "cases") head.cases = row.whole(1);
    if (name == "chosen") head.chosen = row.text(1);
    if (name == "shard") head.shard.index = row.whole(1);
    if (name == "shards") head.shard.count = row.whole(1);
    if (name == "share") head.share = row.whole(1);
    if (name == "dealt") head.dealt = row.text(1);
  }));
  KVPLAN_TRY_DO(
      each_row(sql, "SELECT path, value FROM settings ORDER BY position",
               [&](const Statement& row) { head.settings.emplace_back(row.text(0), row.text(1)); }));
  KVPLAN_TRY_DO(
      each_row(sql, "SELECT axis, path, value FROM axes ORDER BY axis, place", [&](const Statement& row) {
        if (head.varies.empty() || row.whole(0) >= static_cast<std::int64_t>(head.varies.size()))
          head.varies.push_back({row.text(1), {}});
        head.varies.back().values.push_back(cell_text(row.cell(2)));
      }));
  KVPLAN_TRY_DO(each_row(sql, "SELECT path, digest FROM inputs ORDER BY position",
                         [&](const Statement& row) { head.inputs.emplace_back(row.text(0), row.text(1)); }));
  KVPLAN_TRY_DO(
      each_row(sql, "SELECT name, unit, better FROM figures ORDER BY position", [&](const Statement& row) {
        head.figures.push_back({row.text(0), row.text(1), row.text(2)});
      }));
  KVPLAN_TRY_DO(check_columns(sql, head));
  if (head.shard.count < 1 || head.shard.index < 1 || head.shard.index > head.shard.count || head.cases < 1)
    return bad_input("the database is damaged").at_file(sql.path());
  if (head.shard.count == 1) head.share = head.cases;  // older databases do not store `share`
  return head;
}

/// Checks that the database is one of sweeps, of the version that is read here.
Status check_kind(Sql& sql) {
  KVPLAN_TRY(const Cell application, sql.value("PRAGMA application_id"));
  if (application != Cell(kApplication))
    return bad_input("expected a database of `kvplan sweep`, found a different database").at_file(sql.path());
  KVPLAN_TRY(const Cell version, sql.value("PRAGMA user_version"));
  if (version != Cell(kSchema))
    return bad_input("expected a database of version " + std::to_string(kSchema) + ", found version " +
                     cell_text(version))
        .at_file(sql.path());
  return Done{};
}

/// Locks the file for this process until it is closed.
Status take(Sql& sql) {
  KVPLAN_TRY_DO(sql.run("PRAGMA locking_mode = EXCLUSIVE"));
  return sql.run("BEGIN EXCLUSIVE");
}

bool is_there(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(std::filesystem::symlink_status(path, none));
}

Status check_plain(const std::string& path) {
  std::error_code none;
  if (path == "-" || (is_there(path) && !std::filesystem::is_regular_file(path, none)))
    return bad_input("expected a regular file for the database").at_file(path);
  return Done{};
}

}  // namespace

std::optional<std::string> difference(const Head& found, const Head& wanted, bool shards_too) {
  if (found.program != wanted.program)
    return "database was written by " + found.program + "; this is " + wanted.program;
  const auto axes = [](const Head& head) {
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    for (const runs::Vary& vary : head.varies) all.emplace_back(vary.path, vary.values);
    return all;
  };
  if (axes(found) != axes(wanted))
    return "database belongs to another sweep: the varied paths or values differ";
  for (const auto& [path, digest] : found.inputs)
    for (const auto& [same, other] : wanted.inputs)
      if (path == same && digest != other)
        return "database belongs to another sweep: " + path + " has different contents (digest " + digest +
               " there, " + other + " here)";
  if (found.identity != wanted.identity || found.cases != wanted.cases)
    return "database belongs to another sweep: the scenario, or a file that it reads, differs";
  if (found.figures != wanted.figures) return "database belongs to a build of kvplan with different figures";
  if (shards_too && !(found.shard == wanted.shard))
    return "of shard " + found.shard.text() + ", not " + wanted.shard.text();
  if (shards_too && found.dealt != wanted.dealt)
    return "database belongs to a shard that another rule assigned (" + found.dealt + "); this is " +
           wanted.dealt;
  return std::nullopt;
}

Result<Database> Database::make(std::unique_ptr<Sql> sql, const Head& head) {
  KVPLAN_TRY_DO(sql->run(tables_of(head)));
  KVPLAN_TRY_DO(write_head(*sql, head));
  KVPLAN_TRY_DO(sql->run("COMMIT"));
  return Database(std::move(sql), head);
}

namespace {

/// Removes the file of a database that could not be created: an empty file would block the next attempt.
Error without_file(Error error, const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(path + "-journal", ignored);
  return error;
}

}  // namespace

Result<Database> Database::create(const std::string& path, const Head& head) {
  KVPLAN_TRY_DO(check_plain(path));
  if (is_there(path)) return bad_input("exists").at_file(path);
  KVPLAN_TRY(auto sql, Sql::open(path, Sql::Mode::kCreate));
  if (Status taken = take(*sql); !taken.ok()) {
    const bool others = sql->is_busy();
    sql.reset();
    return others ? std::move(taken).error() : without_file(std::move(taken).error(), path);
  }
  KVPLAN_TRY(const Cell tables, sql->value("SELECT count(*) FROM sqlite_master"));
  if (tables != Cell(std::int64_t{0})) return bad_input("exists").at_file(path);
  auto made = make(std::move(sql), head);
  return made.ok() ? std::move(made) : Result<Database>(without_file(std::move(made).error(), path));
}

Result<Database> Database::resume(const std::string& path, const Head& head) {
  if (!is_there(path)) return create(path, head);
  KVPLAN_TRY_DO(check_plain(path));
  KVPLAN_TRY(auto sql, Sql::open(path, Sql::Mode::kCreate));
  KVPLAN_TRY_DO(take(*sql));
  KVPLAN_TRY(const Cell tables, sql->value("SELECT count(*) FROM sqlite_master"));
  if (tables == Cell(std::int64_t{0})) return make(std::move(sql), head);
  KVPLAN_TRY_DO(check_kind(*sql));
  KVPLAN_TRY(Head found, read_head(*sql));
  KVPLAN_TRY_DO(sql->run("COMMIT"));  // the file stays locked
  if (const auto other = difference(found, head, true)) return bad_input(*other).at_file(path);
  return Database(std::move(sql), std::move(found));
}

Result<Database> Database::open(const std::string& path) {
  KVPLAN_TRY_DO(check_plain(path));
  KVPLAN_TRY(auto sql, Sql::open(path, Sql::Mode::kRead));
  KVPLAN_TRY_DO(check_kind(*sql));
  KVPLAN_TRY(Head head, read_head(*sql));
  return Database(std::move(sql), std::move(head));
}

std::vector<std::string> Database::columns() const {
  return columns_of(head_);
}

Result<bool> Database::has(std::int64_t number) {
  if (!has_) {
    KVPLAN_TRY(has_, sql_->prepare("SELECT 1 FROM cases WHERE \"case\" = ?"));
  }
  has_->bind(1, number);
  KVPLAN_TRY(const bool found, has_->step());
  has_->reset();
  return found;
}

namespace {

Database::Row row_of(const Statement& statement) {
  Database::Row row;
  for (int i = 0; i < statement.columns(); ++i) row.push_back(statement.cell(i));
  return row;
}

}  // namespace

Result<std::optional<Database::Row>> Database::row(std::int64_t number) {
  if (!row_) {
    KVPLAN_TRY(row_, sql_->prepare("SELECT " + column_list(head_) + " FROM cases WHERE \"case\" = ?"));
  }
  row_->bind(1, number);
  KVPLAN_TRY(const bool found, row_->step());
  std::optional<Row> row;
  if (found) row = row_of(*row_);
  row_->reset();
  return row;
}

Status Database::begin() {
  if (in_transaction_) return Done{};
  KVPLAN_TRY_DO(sql_->run("BEGIN"));
  in_transaction_ = true;
  return Done{};
}

Status Database::make_tables(const std::string& statements) {
  return sql_->run(statements);
}

Status Database::add_to(const std::string& table, const Row& row) {
  KVPLAN_TRY_DO(begin());
  std::string marks = "?";
  for (std::size_t i = 1; i < row.size(); ++i) marks += ", ?";
  KVPLAN_TRY(Statement statement,
             sql_->prepare("INSERT OR REPLACE INTO " + quoted_name(table) + " VALUES (" + marks + ")"));
  for (std::size_t i = 0; i < row.size(); ++i) statement.bind(static_cast<int>(i) + 1, row[i]);
  KVPLAN_TRY_DO(statement.step());
  return Done{};
}

Status Database::add(const Row& row) {
  if (!add_) {
    std::string marks = "?";
    for (std::size_t i = 1; i < row.size(); ++i) marks += ", ?";
    KVPLAN_TRY(add_, sql_->prepare("INSERT INTO cases (" + column_list(head_) + ") VALUES (" + marks + ")"));
  }
  KVPLAN_TRY_DO(begin());
  for (std::size_t i = 0; i < row.size(); ++i) add_->bind(static_cast<int>(i) + 1, row[i]);
  KVPLAN_TRY_DO(add_->step());
  add_->reset();
  return Done{};
}

Status Database::add(const CaseRow& of, const runs::Varied& varied) {
  Row row{of.number, std::string(of.error ? "failed" : "done"),
          of.error ? Cell(of.error->to_string()) : Cell()};
  for (const auto& [path, value] : varied) row.push_back(cell_of(value));
  for (std::size_t i = 0; i < head_.figures.size(); ++i)
    row.push_back(of.figures.empty() ? Cell() : cell_of(of.figures[i]));
  return add(row);
}

Status Database::commit() {
  if (!in_transaction_) return Done{};
  KVPLAN_TRY_DO(sql_->run("COMMIT"));
  in_transaction_ = false;
  return Done{};
}

Status Database::query(const std::string& text, const std::function<void(const Row&)>& told) {
  return each_row(*sql_, text, [&](const Statement& statement) { told(row_of(statement)); });
}

Status Database::each(const std::function<Status(const Row&)>& told) {
  KVPLAN_TRY(Statement statement,
             sql_->prepare("SELECT " + column_list(head_) + " FROM cases ORDER BY \"case\""));
  while (true) {
    KVPLAN_TRY(const bool more, statement.step());
    if (!more) return Done{};
    KVPLAN_TRY_DO(told(row_of(statement)));
  }
}

namespace {

Result<std::int64_t> count_of(Sql& sql, const std::string& query) {
  KVPLAN_TRY(const Cell cell, sql.value(query));
  const auto* const count = std::get_if<std::int64_t>(&cell);
  // The analyzer does not follow a variant that was moved. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
  return count == nullptr ? 0 : *count;
}

}  // namespace

Result<std::int64_t> Database::done() {
  return count_of(*sql_, "SELECT count(*) FROM cases");
}

Result<std::int64_t> Database::failed() {
  return count_of(*sql_, "SELECT count(*) FROM cases WHERE error IS NOT NULL");
}

}  // namespace kvplan::sweep
