// CSV, also with tabs or semicolons; fields in quotes as in RFC 4180. The first line names the columns.
#include <algorithm>
#include <cstring>

#include "traces/import/csv_line.h"
#include "traces/import/table_stream.h"

namespace kvplan::traces {
namespace {

class CsvTable final : public TableStream {
 public:
  using TableStream::TableStream;

 private:
  bool read_top() override;
  bool read_row(std::string_view line) override;
  bool matches(std::string_view& line) override;
  bool read_quoted_row(std::string_view line);
  bool take_field(std::size_t index, std::string_view text);
  bool read_hashes(std::string_view text);
  bool read_after(std::string_view text);
  /// Calls `take(part)` for the parts of a list in one field, separated by spaces, commas or semicolons, with or
  /// without brackets; false once `take` returns false.
  template <class Take>
  static bool each_part(std::string_view text, Take&& take);

  char delimiter_{','};
  std::size_t fields_{0};              ///< in the header
  std::vector<std::size_t> where_at_;  ///< fields of ColumnMap::where
  std::vector<std::int8_t> role_at_;   ///< by field: the Role, or -1 if it is not read
  std::vector<std::string> unquoted_;  ///< of the latest quoted row
};

bool CsvTable::read_top() {
  std::string_view header;
  if (!input().next_line(header))
    return fail("", "expected a header line with column names, found an empty file");
  delimiter_ = guess_delimiter(header);
  const std::vector<std::string> columns = split_csv(header, delimiter_);
  fields_ = columns.size();
  if (fields_ > kMaxColumns) return fail("", "more than " + std::to_string(kMaxColumns) + " columns");
  role_at_.assign(fields_, -1);
  for (std::size_t r = 0; r < kRoles; ++r) {
    const Column& wanted = map_.columns[r];
    if (wanted.names.empty()) continue;
    auto found = columns.end();
    for (const std::string& name : wanted.names) {
      found = std::find(columns.begin(), columns.end(), name);
      if (found != columns.end()) break;
    }
    if (found == columns.end()) {
      if (!wanted.required) continue;
      return fail("", "no column \"" + wanted.names.front() + "\"; the columns are " + listed(columns));
    }
    const auto index = static_cast<std::size_t>(found - columns.begin());
    if (std::find(found + 1, columns.end(), *found) != columns.end())
      return fail(*found, "two columns have this name");
    if (role_at_[index] >= 0) return fail(*found, "one column cannot be mapped twice");
    role_at_[index] = static_cast<std::int8_t>(r);
  }
  where_at_.clear();
  for (const auto& [name, value] : map_.where) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end())
      return fail("--where", "no column \"" + name + "\"; the columns are " + listed(columns));
    where_at_.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  return true;
}

bool CsvTable::matches(std::string_view& line) {
  while (std::count(line.begin(), line.end(), '"') % 2 != 0)
    if (!input().extend_line(line)) break;
  const std::vector<std::string> fields = split_csv(line, delimiter_, fields_ + 1);
  for (std::size_t i = 0; i < where_at_.size(); ++i)
    if (where_at_[i] >= fields.size() || fields[where_at_[i]] != map_.where[i].second) return false;
  return true;
}

bool CsvTable::take_field(std::size_t index, std::string_view text) {
  if (role_at_[index] < 0) return true;
  const auto role = static_cast<Role>(role_at_[index]);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (role == Role::kHashes) return read_hashes(text);
  return role == Role::kAfter ? read_after(text) : set(role, text);
}

bool CsvTable::read_row(std::string_view line) {
  row_.clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t field = 0;; ++field) {
    if (at != end && *at == '"') return read_quoted_row(line);
    const bool read = field < fields_ && role_at_[field] >= 0;
    const char* stop = read ? set_plain(static_cast<Role>(role_at_[field]), at, end) : nullptr;
    if (stop == nullptr || (stop != end && *stop != delimiter_)) {
      const void* const found = std::memchr(at, delimiter_, static_cast<std::size_t>(end - at));
      stop = found == nullptr ? end : static_cast<const char*>(found);
      if (read && !take_field(field, {at, static_cast<std::size_t>(stop - at)})) return false;
    }
    if (stop == end || field >= fields_) {
      if (field + 1 == fields_) return true;
      return fail("", "expected " + std::to_string(fields_) + " fields as in the header, found " +
                          (field >= fields_ ? "more" : std::to_string(field + 1)));
    }
    at = stop + 1;
  }
}

bool CsvTable::read_quoted_row(std::string_view line) {
  // An odd number of quotes means that the field continues in the next line. Each byte is counted once.
  auto quotes = std::count(line.begin(), line.end(), '"');
  while (quotes % 2 != 0) {
    const std::size_t counted = line.size();
    if (!input().extend_line(line)) return fail("", "a quoted field has no closing quote");
    quotes += std::count(line.begin() + static_cast<std::ptrdiff_t>(counted), line.end(), '"');
  }
  row_.clear();  // fields before the first quote have been read already
  unquoted_ = split_csv(line, delimiter_, fields_ + 1);
  if (unquoted_.size() != fields_)
    return fail("", "expected " + std::to_string(fields_) + " fields as in the header, found " +
                        (unquoted_.size() > fields_ ? "more" : std::to_string(unquoted_.size())));
  for (std::size_t i = 0; i < fields_; ++i)
    if (!take_field(i, unquoted_[i])) return false;
  return true;
}

template <class Take>
bool CsvTable::each_part(std::string_view text, Take&& take) {
  if (!text.empty() && text.front() == '[') text.remove_prefix(1);
  if (!text.empty() && text.back() == ']') text.remove_suffix(1);
  const auto parts = [](char c) { return c == ' ' || c == ',' || c == ';'; };
  std::size_t i = 0;
  while (i < text.size()) {
    if (parts(text[i])) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < text.size() && !parts(text[i])) ++i;
    if (!take(text.substr(start, i - start))) return false;
  }
  return true;
}

bool CsvTable::read_hashes(std::string_view text) {
  row_.has_hashes = true;
  return each_part(text, [this](std::string_view part) {
    const std::optional<std::uint64_t> id = parse_id(part);
    if (!id) return fail_expected(Role::kHashes, "a list of whole numbers from 0 to 2^64 - 1", part);
    row_.hashes.push_back(*id);
    return true;
  });
}

bool CsvTable::read_after(std::string_view text) {
  row_.states_after = !text.empty();
  return each_part(text, [this](std::string_view part) { return set(Role::kAfter, part); });
}

}  // namespace

Result<std::unique_ptr<TraceStream>> open_csv_table(Inputs inputs, ColumnMap map, std::string_view format,
                                                    SourceTraits traits) {
  return std::unique_ptr<TraceStream>(
      std::make_unique<CsvTable>(std::move(inputs), std::move(map), format, traits));
}

}  // namespace kvplan::traces
