#include <algorithm>

#include "simulator/base/json_brackets.h"
#include "traces/import/csv_line.h"
#include "traces/import/importer.h"
#include "traces/import/json_cursor.h"
#include "traces/import/json_scan.h"

namespace kvplan::traces {
namespace {

/// Bytes that are looked at. Longer first lines of tables are not recognised (prompts with 100,000 ids fit); of
/// longer documents only the keys in this part count.
constexpr std::size_t kSniffBytes = std::size_t{1} << 20;
constexpr std::size_t kHeadBytes = 4096;
constexpr std::string_view kJsonSpace = " \t\r\n";

enum class End : std::uint8_t { kWhole, kCut, kBroken };

/// Reads the keys of the object at the front of `text`, and returns how the object ends. `cut`: the file continues
/// after the text.
End sniff_object(std::string_view text, bool cut, Sniff& sniff) {
  sniff.columns.clear();
  sniff.kinds.clear();
  JsonCursor json(text);
  if (!json.enter_object()) return End::kBroken;
  std::string_view key;
  bool first = true;
  while (json.next_key(key, first)) {
    if (sniff.columns.size() == kMaxColumns) return End::kBroken;
    sniff.columns.emplace_back(key);
    sniff.kinds.push_back(json.kind());
    JsonScan value;
    const std::string_view rest = text.substr(json.where());
    json.skip(value.feed(rest));
    if (!value.done()) return !value.failed() && cut ? End::kCut : End::kBroken;
  }
  if (!json.failed()) return End::kWhole;
  return cut && json.where() == text.size() ? End::kCut : End::kBroken;
}

/// Looks at a document: an object over several lines or longer than the part in view, or an array of objects.
void sniff_document(std::string_view text, bool cut, Sniff& sniff) {
  const bool array = text.front() == '[';
  if (array) text.remove_prefix(std::min(text.find_first_not_of(kJsonSpace, 1), text.size()));
  if (text.empty() || sniff_object(text, cut, sniff) == End::kBroken) return;
  sniff.shape = array ? Sniff::Shape::kJsonArray : Sniff::Shape::kJsonDocument;
}

/// Why text that begins like JSON is not JSON, if the reason is plain: too deep, or cut off. Otherwise empty.
std::string json_problem(std::string_view text, bool cut) {
  std::string problem = cut ? "" : "its JSON ends with an unclosed { or [";
  each_bracket(text, [&](std::size_t /*at*/, std::int64_t depth) {
    if (depth > JsonCursor::kMaxDepth)
      problem = "its JSON is nested deeper than " + std::to_string(JsonCursor::kMaxDepth) + " levels";
    if (depth <= 0) problem.clear();
    return depth > 0 && depth <= JsonCursor::kMaxDepth;
  });
  return problem;
}

/// The encoding of bytes that are not UTF-8 text, if it can be recognised.
std::string encoding_problem(std::string_view text) {
  const std::string_view mark = text.substr(0, 2);
  if (mark == "\xFF\xFE" || mark == "\xFE\xFF") return "it is UTF-16; expected UTF-8";
  if (text.substr(0, kHeadBytes).find('\0') != std::string_view::npos)
    return "it has zero bytes, as UTF-16 and binary files do; expected UTF-8";
  return {};
}

std::string names_of(const std::vector<const Importer*>& list) {
  std::string out;
  for (const Importer* importer : list) {
    out += out.empty() ? "" : ", ";
    out += importer->name;
  }
  return out;
}

}  // namespace

bool Sniff::has(std::string_view column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

char Sniff::kind(std::string_view column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  return found == columns.end() || kinds.empty() ? char{0}
                                                 : kinds[static_cast<std::size_t>(found - columns.begin())];
}

Sniff sniff(Input& input) {
  Sniff out;
  std::string_view text = input.peek(kSniffBytes);
  const std::string_view text_of_file = text;
  const bool cut = text.size() == kSniffBytes;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const std::string_view from_first = text.substr(std::min(text.find_first_not_of(kJsonSpace), text.size()));
  if (!from_first.empty() && (from_first.front() == '{' || from_first.front() == '['))
    out.head = from_first.substr(0, kHeadBytes);
  std::string_view line;
  while (!text.empty() && line.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  }
  if (!line.empty() && line.front() == '{' && sniff_object(line, false, out) == End::kWhole) {
    out.shape = Sniff::Shape::kJsonLines;
    return out;
  }
  if (!from_first.empty() && (from_first.front() == '{' || from_first.front() == '[')) {
    sniff_document(from_first, cut, out);
    if (out.shape == Sniff::Shape::kUnknown) out.problem = encoding_problem(from_first);
    if (out.shape == Sniff::Shape::kUnknown && out.problem.empty())
      out.problem = json_problem(from_first, cut);
    return out;
  }
  out.problem = encoding_problem(text_of_file);
  // A header: printable text, at least two columns, and names rather than numbers.
  const bool text_only = std::all_of(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\t'; });
  if (!text_only || line.size() > (std::size_t{1} << 16)) return out;
  out.columns = split_csv(line, guess_delimiter(line));
  if (out.columns.size() >= 2 && out.columns.size() <= kMaxColumns) out.shape = Sniff::Shape::kCsv;
  return out;
}

Result<const Importer*> choose_importer(const Sniff& sniff, std::span<const Importer* const> among,
                                        const std::string& path) {
  std::vector<const Importer*> candidates;
  for (const Importer* importer : among)
    if (importer->recognises(sniff)) candidates.push_back(importer);
  if (candidates.size() == 1) return candidates.front();
  if (candidates.size() > 1)
    return bad_input("could be any of " + names_of(candidates) + ": choose one with --format").at_file(path);
  const std::vector<const Importer*> all(among.begin(), among.end());
  if (!sniff.is_table())
    return bad_input("is not a trace in any known format (" + names_of(all) + ", .kvt)" +
                     (sniff.problem.empty() ? "" : ": " + sniff.problem))
        .at_file(path);
  std::string message = "no known format has these columns: " + listed(sniff.columns);
  for (const Importer* importer : among) {
    const std::string why = importer->nearly == nullptr ? std::string() : importer->nearly(sniff);
    if (!why.empty()) message += "; --format " + std::string(importer->name) + " could read it " + why;
  }
  message += "; map them to roles, as in " + propose_column_map(sniff.columns);
  if (std::find(sniff.kinds.begin(), sniff.kinds.end(), 'o') != sniff.kinds.end())
    message += "; nested objects are not read";
  return bad_input(std::move(message)).at_file(path);
}

}  // namespace kvplan::traces
