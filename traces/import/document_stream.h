// Shared by formats that are JSON documents: the loop over files, conversion of rows to pieces, positions for errors.
// table_stream.h does the same for tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/import/importer.h"
#include "traces/import/json_elements.h"
#include "traces/import/piece_builder.h"

namespace kvplan::traces {

/// Life cycle: as `TraceStream`. Subclasses supply one request after the other; their constructors fill `summary_`
/// except for its warnings.
class DocumentStream : public TraceStream {
 public:
  DocumentStream(Inputs inputs, std::string_view format, SourceTraits traits = {});
  Result<bool> next(Trace& piece) final;
  [[nodiscard]] const StreamSummary& summary() const final { return summary_; }

 protected:
  /// Fills `row_` with the next request of the open file and stores its position in `row_begin_`; false at the file's
  /// end.
  virtual Result<bool> read_row() = 0;
  /// Called once, after the last file: adds warnings. An error if the files have no request.
  virtual Status finish(std::int64_t rows) = 0;

  JsonElements& json() { return *json_; }
  /// The error at a byte of the open file.
  [[nodiscard]] Error wrong(std::int64_t byte, std::string_view field, std::string message) const;
  void warn(std::string sentence) { summary_.provenance.warnings.push_back(std::move(sentence)); }
  [[nodiscard]] const std::string& path() const { return input_->path(); }

  Row row_;
  std::int64_t row_begin_{0};
  StreamSummary summary_;

 private:
  Result<bool> next_file();

  std::unique_ptr<Input> input_;
  std::optional<JsonElements> json_;
  std::vector<std::string> rest_;
  ReadHook on_read_;
  std::size_t next_file_{0};
  bool ended_{false};
  PieceBuilder builder_;
};

}  // namespace kvplan::traces
