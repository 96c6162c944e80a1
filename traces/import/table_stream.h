// Shared by both kinds of tables: the loop over files and lines, conversion of values to rows, positions for errors.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/import/digits.h"
#include "traces/import/importer.h"
#include "traces/import/piece_builder.h"
#include "traces/import/request_ids.h"

namespace kvplan::traces {

/// Life cycle: as `TraceStream`. Subclasses read the top of a file, and one line at a time.
class TableStream : public TraceStream {
 public:
  TableStream(Inputs inputs, ColumnMap map, std::string_view format, SourceTraits traits = {});
  Result<bool> next(Trace& piece) final;
  [[nodiscard]] const StreamSummary& summary() const final { return summary_; }
  [[nodiscard]] double share_read() const final { return rest_.empty() ? input_->share_consumed() : 0; }

 protected:
  /// Called once per file before its first row; returns false after `fail`.
  virtual bool read_top() = 0;
  /// Fills `row_` from a line that is not empty; false after `fail`.
  virtual bool read_row(std::string_view line) = 0;
  /// Whether a line has the values that the map asks for (ColumnMap::where); may extend the line to the whole row.
  virtual bool matches(std::string_view& line) = 0;
  /// Called before `read_row` while `quick_`: fills `row_` from the row at the front of `held` and returns its bytes,
  /// line feed included. Returns 0 if it cannot read the row, for whatever reason; then `read_row` is called.
  virtual std::size_t read_held_row(std::string_view /*held*/) { return 0; }

  /// Puts the text of a value into `row_`; false after `fail`. An empty optional value means "not stated". For kAfter,
  /// call it once for each id.
  bool set(Role role, std::string_view text);
  /// The fast path (digits.h): if the text begins with a plain number or time for this role, puts it into `row_` and
  /// returns the position after it. Otherwise puts nothing and returns nullptr; then `set` parses the text. REQUIRES:
  /// the text is in a line of `input()`.
  const char* set_plain(Role role, const char* at, const char* end);
  /// Records an error in the current line.
  bool fail(std::string_view field, std::string message);
  bool fail_expected(Role role, std::string_view expected, std::string_view found);
  /// The name of a role in error messages: the name of its column.
  [[nodiscard]] std::string_view name_of(Role role) const;

  [[nodiscard]] Input& input() { return *input_; }
  ColumnMap map_;
  Row row_;
  bool quick_{false};  ///< `read_held_row` may succeed
  /// Rows may have names (Row::id), or name the rows that they wait for: the map has such columns, or the subclass
  /// fills them itself and says so in the constructor. Tables without names pay nothing for this.
  bool names_waits_;

 private:
  bool set_time(Role role, std::string_view text, std::int64_t& value);
  bool set_count(Role role, std::string_view text, std::int32_t& value);
  Error error_here() const;
  Result<bool> next_file();
  /// Handles a row that cannot be read: returns an error, or counts the row as left out.
  Status leave_out();
  /// Number and kinds of the rows that were left out, and the first of them.
  [[nodiscard]] std::string left_out_text() const;
  /// Called when all rows have been read: completes the facts about the trace as a whole.
  void finish();

  std::unique_ptr<Input> input_;
  std::vector<std::string> rest_;
  ReadHook on_read_;
  std::size_t next_file_{0};
  bool top_pending_{true};
  bool ended_{false};
  PieceBuilder builder_;
  RequestIds ids_;
  StreamSummary summary_;
  IsoTimeParser iso_;
  std::array<int, kRoles> exponent_{};  ///< for times: `exponent_of` their unit, -1 for dates
  std::string problem_field_;
  std::string problem_;
  std::int64_t left_out_{0}, other_rows_{0};
  std::map<std::string, std::int64_t> kinds_;  ///< kinds of errors, with the rows that were left out for each
  std::vector<std::string> examples_;
};

inline const char* TableStream::set_plain(Role role, const char* at, const char* end) {
  std::int64_t* time = nullptr;
  std::int32_t* count = nullptr;
  switch (role) {
    case Role::kArrival:
      time = &row_.arrival_ns;
      break;
    case Role::kTtft:
      time = &row_.ttft_ns;
      break;
    case Role::kE2e:
      time = &row_.e2e_ns;
      break;
    case Role::kInput:
      count = &row_.input_tokens;
      break;
    case Role::kOutput:
      count = &row_.output_tokens;
      break;
    case Role::kMaxTokens:
      count = &row_.max_tokens;
      break;
    case Role::kPriority:
      count = &row_.priority;
      break;
    case Role::kSession:
    case Role::kTenant:
    case Role::kHashes:
    case Role::kThink:
    case Role::kToolWait:
    case Role::kId:
    case Role::kAfter:
      return nullptr;
  }
  if (count != nullptr) return plain_count(at, end, *count);
  const int exponent = exponent_[static_cast<std::size_t>(role)];
  return exponent < 0 ? iso_.plain(at, end, *time) : plain_decimal(at, end, exponent, *time);
}

}  // namespace kvplan::traces
