// Importers: each has one file and one descriptor, and is listed in catalogue.cpp. The command line, detection by
// content and the documentation use that list.
//
// To add a format: write `my_format.cpp` with `extern const Importer kMember` in namespace
// `kvplan::traces::my_format`, and add its line to catalogue.cpp. A table format needs only a `ColumnMap` (example:
// azure.cpp), a JSON document a `DocumentStream` (sharegpt.cpp); any other format implements `TraceStream` with a
// `PieceBuilder`.
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

/// The beginning of a file, from which its format is recognised.
struct Sniff {
  enum class Shape : std::uint8_t {
    kUnknown,
    kCsv,
    kJsonLines,     ///< the first line is a complete object
    kJsonDocument,  ///< an object over several lines, or longer than the part that is examined
    kJsonArray,     ///< an array that begins with an object
  };
  Shape shape{Shape::kUnknown};
  /// Names in the header, or keys of the first object; of a long document only those in the part that is examined.
  std::vector<std::string> columns;
  std::vector<char> kinds;  ///< of each JSON value: n number, s string, a array, o object, l literal
  std::string head;         ///< the first 4 KiB of JSON, for formats with a name inside the file
  std::string problem;      ///< why the shape is unknown, if that is known

  [[nodiscard]] bool has(std::string_view column) const;
  /// The kind of a key's value; 0 if there is no such key.
  [[nodiscard]] char kind(std::string_view column) const;
  /// True: --map can be used.
  [[nodiscard]] bool is_table() const { return shape == Shape::kCsv || shape == Shape::kJsonLines; }
  /// A JSON object, on one line or on several.
  [[nodiscard]] bool is_object() const { return shape == Shape::kJsonLines || shape == Shape::kJsonDocument; }
};
/// Looks at the first bytes without consuming them.
Sniff sniff(Input& input);

/// The files of one import, in order. The first is open, the others are opened when they are reached. `on_read` is
/// called for reads of all files.
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
  /// True if the beginning of the file can be this format. Strict: false if a unit or meaning would have to be guessed.
  bool (*recognises)(const Sniff& sniff);
  Result<std::unique_ptr<TraceStream>> (*open)(Inputs inputs, const ImportOptions& options);
  /// For a file that the importer almost recognises: what is missing, and what `--format` would assume, as part of an
  /// error message ("its row has \"x\"; times in ms"). Empty for any other file. May be null.
  std::string (*nearly)(const Sniff& sniff){nullptr};
};

/// All importers, sorted by name.
std::span<const Importer* const> importers();

/// The importer for this content. Errors: ambiguous or unknown content; they name the candidates, or the columns and
/// a `--map` line that could fit.
Result<const Importer*> choose_importer(const Sniff& sniff, std::span<const Importer* const> among,
                                        const std::string& path);

/// For importers of tables: rows by column name.
Result<std::unique_ptr<TraceStream>> open_csv_table(Inputs inputs, ColumnMap map, std::string_view format,
                                                    SourceTraits traits = {});
Result<std::unique_ptr<TraceStream>> open_json_table(Inputs inputs, ColumnMap map, std::string_view format,
                                                     SourceTraits traits = {});

}  // namespace kvplan::traces
