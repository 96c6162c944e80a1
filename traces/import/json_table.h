// JSON lines: one object per line, columns are its keys.
#pragma once

#include <string>
#include <vector>

#include "traces/import/json_cursor.h"
#include "traces/import/learned_row.h"
#include "traces/import/table_stream.h"

namespace kvplan::traces {

/// Life cycle: as `TraceStream`. A format with rows that have more than a map can describe is a subclass that also
/// reads the other keys; it cannot use the fast path, which ignores them.
class JsonTable : public TableStream {
 public:
  enum class OtherKeys : std::uint8_t { kSkipped, kRead };
  JsonTable(Inputs inputs, ColumnMap map, std::string_view format, SourceTraits traits = {},
            OtherKeys other_keys = OtherKeys::kSkipped);

 protected:
  /// The value of a key without a role, to be read or skipped. False after `fail`, or if the JSON is broken.
  virtual bool other_value(JsonCursor& json, std::string_view /*key*/) { return json.skip_value(); }
  /// All keys of a row are read into `row_`. False after `fail`.
  virtual bool end_row() { return true; }

 private:
  bool read_top() override { return true; }
  bool read_row(std::string_view line) override;
  bool matches(std::string_view& line) override;
  /// Any object, key by key.
  bool read_any_row(std::string_view line);
  std::size_t read_held_row(std::string_view held) override;
  /// The value of a role or, with kPassedOver, of another key, in the form that `LearnedRow::read` takes.
  const char* take_value(int name, const char* at, const char* end);
  const char* take_ids(const char* at, const char* end);
  /// The role of a key, or -1.
  int role_of(std::string_view key) const;
  bool read_value(JsonCursor& json, Role role);
  bool read_hashes(JsonCursor& json);
  bool read_after(JsonCursor& json);

  OtherKeys other_keys_;
  struct Name {
    std::string text;
    std::int8_t role;
    std::int8_t order;  ///< 0 = the role's own name, others are aliases
  };
  std::vector<Name> names_;
  static constexpr int kPassedOver = -1;            ///< in addition to roles: a value that is not read
  static constexpr std::size_t kMostLearned = 256;  ///< rows with more other values are read key by key
  LearnedRow learned_;
  std::vector<LearnedRow::Value> values_;  ///< values of the current row
  int misses_{0};
  static constexpr int kMostMisses = 64;  ///< in succession; after that every row is read key by key
  std::string session_text_;              ///< used if a name has escapes or is a number
  std::string tenant_text_;
  std::string id_text_;
};

}  // namespace kvplan::traces
