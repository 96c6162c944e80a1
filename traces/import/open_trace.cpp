#include "traces/import/open_trace.h"

#include <algorithm>

#include "simulator/base/suggest.h"
#include "traces/import/csv_line.h"
#include "traces/import/json_cursor.h"
#include "traces/io/kvt.h"
#include "traces/record/stoppable_stream.h"

namespace kvplan::traces {
namespace {

Result<const Importer*> importer_by_name(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Importer* importer : importers()) {
    if (importer->name == name) return importer;
    names.push_back(importer->name);
  }
  return bad_input(unknown_name("format", name, names)).at_field("--format");
}

/// Rows of a table in view, as cells of its columns.
std::vector<std::vector<std::string>> first_rows(Input& input, const Sniff& head) {
  constexpr std::size_t kBytes = std::size_t{1} << 18, kRows = 50;
  std::string_view text = input.peek(kBytes);
  std::vector<std::vector<std::string>> rows;
  bool header = head.shape == Sniff::Shape::kCsv;
  char delimiter = ',';
  while (!text.empty() && rows.size() < kRows) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos && !rows.empty()) break;  // it may be cut
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    if (header) {
      header = false;
      delimiter = guess_delimiter(line);
      continue;
    }
    std::vector<std::string> row(head.columns.size());
    if (head.shape == Sniff::Shape::kCsv) {
      row = split_csv(line, delimiter);
    } else {
      JsonCursor json(line);
      std::string_view key, value;
      bool first = true;
      if (!json.enter_object()) continue;
      while (json.next_key(key, first) && json.value(value)) {
        if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
        const auto at = std::find(head.columns.begin(), head.columns.end(), key);
        if (at != head.columns.end()) row[static_cast<std::size_t>(at - head.columns.begin())] = value;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// `auto`, alone or before other parts of a map, as the map that it stands for.
Result<ImportOptions> with_recognised_map(const ImportOptions& options, Input& input, const Sniff& head) {
  constexpr std::string_view kAuto = "auto";
  if (options.map != kAuto && !options.map.starts_with("auto,")) return options;
  auto map = recognise_column_map(head.columns, first_rows(input, head));
  if (!map.ok()) return Error(map.error()).at_file(input.path());
  ImportOptions out = options;
  out.map = to_text(map.value()) + options.map.substr(kAuto.size()) + ",by=auto";
  return out;
}

}  // namespace

Result<std::unique_ptr<TraceStream>> open_stream(Inputs inputs, const ImportOptions& options) {
  Input& first = *inputs.first;
  const bool empty = first.peek(1).empty();
  if (first.failed()) return first.error();
  if (empty) return bad_input("the file is empty").at_file(first.path());
  if (looks_like_kvt(first)) {
    if (!inputs.rest.empty()) return bad_input("a .kvt file must be read alone").at_file(first.path());
    if (!options.empty())
      return bad_input("option is not for .kvt files")
          .at_file(first.path())
          .at_field(!options.format.empty() ? "--format"
                    : !options.map.empty()  ? "--map"
                                            : "--block");
    return open_kvt(std::move(inputs.first));
  }
  if (!options.format.empty()) {
    KVPLAN_TRY(const Importer* importer, importer_by_name(options.format));
    if (!options.map.empty() && !importer->takes_map)
      return bad_input("option needs --format csv or --format jsonl, found " + options.format)
          .at_field("--map");
    return importer->open(std::move(inputs), options);
  }
  const Sniff head = sniff(first);
  if (first.failed()) return first.error();
  if (!options.map.empty()) {
    if (!head.is_table())
      return bad_input("needs a table: a CSV file with a header, or JSON lines" +
                       (head.problem.empty() ? "" : "; " + head.problem))
          .at_file(first.path())
          .at_field("--map");
    KVPLAN_TRY(const Importer* table, importer_by_name(head.shape == Sniff::Shape::kCsv ? "csv" : "jsonl"));
    KVPLAN_TRY(const ImportOptions recognised, with_recognised_map(options, *inputs.first, head));
    return table->open(std::move(inputs), recognised);
  }
  KVPLAN_TRY(const Importer* importer, choose_importer(head, importers(), first.path()));
  return importer->open(std::move(inputs), options);
}

Result<std::unique_ptr<TraceStream>> open_stream(const std::vector<std::string>& paths,
                                                 const ImportOptions& options, const ReadHook& on_read) {
  if (paths.empty()) return bad_input("expected at least one input file");
  Inputs inputs;
  KVPLAN_TRY(inputs.first, Input::open(paths.front(), on_read));
  inputs.rest.assign(paths.begin() + 1, paths.end());
  inputs.on_read = on_read;
  return open_stream(std::move(inputs), options);
}

Result<Trace> open_trace(const std::string& path, const ImportOptions& options, const ReadHook& on_read) {
  KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream({path}, options, on_read));
  return collect(*stream);
}

}  // namespace kvplan::traces
