#include "simulator/sweep/table.h"

namespace kvplan::sweep {

void append_csv_field(std::string& line, const std::string& text) {
  if (!line.empty()) line += ',';
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

Status write_csv(Database& database, const std::function<Status(std::string_view)>& sink) {
  std::string line;
  for (const std::string& name : database.columns()) append_csv_field(line, name);
  KVPLAN_TRY_DO(sink(line + "\n"));
  return database.each([&](const Database::Row& row) {
    line.clear();
    for (const Cell& cell : row) append_csv_field(line, cell_text(cell));
    return sink(line + "\n");
  });
}

}  // namespace kvplan::sweep
