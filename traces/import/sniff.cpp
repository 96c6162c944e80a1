#include <algorithm>

#include "traces/import/csv_line.h"
#include "traces/import/importer.h"
#include "traces/import/json_cursor.h"

namespace kvplan::traces {
namespace {

/// A first line longer than this is not understood; prompts with 100,000 ids fit.
constexpr std::size_t kSniffBytes = std::size_t{1} << 20;

void sniff_object(std::string_view line, Sniff& sniff) {
  JsonCursor json(line);
  if (!json.enter_object()) return;
  std::string_view key;
  bool first = true;
  while (json.next_key(key, first)) {
    if (sniff.columns.size() == kMaxColumns) return;
    sniff.columns.emplace_back(key);
    sniff.kinds.push_back(json.kind());
    if (!json.skip_value()) return;
  }
  if (!json.failed()) sniff.shape = Sniff::Shape::kJsonLines;
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
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  std::string_view line;
  while (!text.empty() && line.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  }
  if (!line.empty() && line.front() == '{') {
    sniff_object(line, out);
    return out;
  }
  // A header: printable text, at least two columns, and names rather than numbers.
  const bool text_only = std::all_of(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\t'; });
  if (!text_only || line.substr(0, 1) == "[" || line.size() > (std::size_t{1} << 16)) return out;
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
    return bad_input("could be any of " + names_of(candidates) + "; say which with --format").at_file(path);
  const std::vector<const Importer*> all(among.begin(), among.end());
  if (sniff.shape == Sniff::Shape::kUnknown)
    return bad_input("not a trace in any known format (" + names_of(all) + ", .kvt)").at_file(path);
  return bad_input("no known format has these columns: " + listed(sniff.columns) +
                   "; say what they are, as in " + propose_column_map(sniff.columns))
      .at_file(path);
}

}  // namespace kvplan::traces
