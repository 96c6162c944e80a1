// Importers: one file and one descriptor each, listed in catalogue.cpp. The command line, detection by
// content and the documentation walk that list.
//
// To add a format: write `my_format.cpp` with `extern const Importer kMyFormat`, and add its line to
// catalogue.cpp. A format that is a table needs only a `ColumnMap` (azure.cpp is the example), one that is a
// JSON document a `DocumentStream` (sharegpt.cpp); any other implements `TraceStream` on a `PieceBuilder`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"
#include "traces/import/column_map.h"
#include "traces/import/source_traits.h"
#include "traces/io/input.h"
#include "traces/record/import_options.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

/// The beginning of a file, for recognising its format.
struct Sniff {
  enum class Shape : std::uint8_t {
    kUnknown,
    kCsv,
    kJsonLines,     ///< the first line is a whole object
    kJsonDocument,  ///< an object over several lines, or longer than what is looked at
    kJsonArray,     ///< an array that begins with an object
  };
  Shape shape{Shape::kUnknown};
  /// Names in the header, or the keys of the first object: of a long document those that are in view.
  std::vector<std::string> columns;
  std::vector<char> kinds;  ///< of each JSON value: n number, s string, a array, o object, l literal
  std::string head;         ///< the first 4 KiB of JSON, for formats that name themselves inside it
  std::string problem;      ///< why the shape is unknown, where that can be said

  [[nodiscard]] bool has(std::string_view column) const;
  /// The kind of a key's value; 0 when there is no such key.
  [[nodiscard]] char kind(std::string_view column) const;
  /// What a --map can be given for.
  [[nodiscard]] bool is_table() const { return shape == Shape::kCsv || shape == Shape::kJsonLines; }
  /// A JSON object, on one line or on several.
  [[nodiscard]] bool is_object() const { return shape == Shape::kJsonLines || shape == Shape::kJsonDocument; }
};
/// Looks at the first bytes without consuming them.
Sniff sniff(Input& input);

/// The files of one import, in order: the first is open, the others are opened in their turn, and `on_read` is told
/// of their reads as that of the first.
struct Inputs {
  std::unique_ptr<Input> first;
  std::vector<std::string> rest;
  ReadHook on_read;
};

struct Importer {
  std::string_view name;     ///< as in --format
  std::string_view summary;  ///< one sentence
  std::string_view source;   ///< where the format is described
  bool takes_map{false};     ///< the user names the columns with --map
  /// True when the beginning of the file can be this format. Strict: where a unit or meaning would be a
  /// guess, false.
  bool (*recognises)(const Sniff& sniff);
  Result<std::unique_ptr<TraceStream>> (*open)(Inputs inputs, const ImportOptions& options);
  /// Of a file that it does not recognise but nearly does: what keeps it from that and what `--format` would then
  /// assume, for an error message ("its row has \"x\"; times in ms"). Empty for any other file. May be absent.
  std::string (*nearly)(const Sniff& sniff){nullptr};
};

/// All importers, sorted by name.
std::span<const Importer* const> importers();

/// The importer that the content calls for. An ambiguous or unknown file is an error that names the
/// candidates, or the columns and a `--map` line that could fit.
Result<const Importer*> choose_importer(const Sniff& sniff, std::span<const Importer* const> among,
                                        const std::string& path);

/// For importers whose files are tables: rows by column name.
Result<std::unique_ptr<TraceStream>> open_csv_table(Inputs inputs, ColumnMap map, std::string_view format,
                                                    SourceTraits traits = {});
Result<std::unique_ptr<TraceStream>> open_json_table(Inputs inputs, ColumnMap map, std::string_view format,
                                                     SourceTraits traits = {});

}  // namespace kvplan::traces
