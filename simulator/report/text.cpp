#include "simulator/report/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/report/number_text.h"

namespace kvplan::report {
namespace {

std::string spaces(std::size_t count) {
  return std::string(count, ' ');
}

std::string aligned(const std::string& text, std::size_t width, bool right) {
  const std::size_t size = characters(text);
  if (size >= width) return text;
  return right ? spaces(width - size) + text : text + spaces(width - size);
}

std::string without_end_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Names come from files: control characters are shown, not sent to the terminal.
std::string shown(const std::string& text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
    } else {
      (out += "\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    }
  }
  return out;
}

/// A cell over several lines: it breaks after commas and spaces.
std::string broken(const std::string& cell, std::size_t width, const std::string& indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < cell.size();) {
    const std::size_t end = std::min(cell.find_first_of(", ", at), cell.size() - 1) + 1;
    const std::string piece = cell.substr(at, end - at);
    if (column > 0 && column + characters(piece) > width) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n" + indent;
      column = 0;
    }
    if (column == 0 && piece == " " && !out.empty()) {  // a line does not begin with a space
      at = end;
      continue;
    }
    out += piece;
    column += characters(piece);
    at = end;
  }
  return out;
}

Table shown(Table table) {
  table.title = shown(table.title);
  for (Row& row : table.rows) {
    row.label = shown(row.label);
    for (std::string& cell : row.cells) cell = shown(cell);
  }
  return table;
}

}  // namespace

std::string bar_text(double share, std::size_t width) {
  static constexpr std::array<const char*, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::clamp(share, 0.0, 1.0);
  auto eighths = static_cast<std::size_t>(std::llround(clamped * static_cast<double>(width * 8)));
  if (clamped > 0) eighths = std::max<std::size_t>(eighths, 1);  // a value above zero is always visible
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

std::string wrapped(const std::string& words, std::size_t width, const std::string& indent) {
  const std::string text = shown(words);
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (column > 0 && column + 1 + characters(word) > width) {
      out += "\n" + indent;
      column = characters(indent);
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += characters(word);
    at = end + 1;
  }
  return out;
}

std::string table_text(const Table& given, std::size_t width) {
  const Table table = shown(given);
  std::size_t label = 0;
  std::size_t note = 0;
  bool bars = false;
  std::vector<std::size_t> widths;
  for (const std::string& column : table.columns) widths.push_back(characters(column));
  for (const Row& row : table.rows) {
    label = std::max(label, characters(row.label));
    note = std::max(note, characters(row.note));
    bars = bars || row.bar >= 0;
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      widths[c] = std::max(widths[c], characters(row.cells[c]));
  }
  std::string out = table.title + "\n";
  const bool headed = table.numbers && std::any_of(table.columns.begin(), table.columns.end(),
                                                   [](const std::string& c) { return !c.empty(); });
  if (headed && !table.rows.empty()) {
    std::string line = "  " + spaces(label);
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      line += "  " + aligned(table.columns[c], widths[c], true);
    out += line + "\n";
  }
  std::size_t taken = 2 + label + (note > 0 ? note + 2 : 0);
  for (const std::size_t w : widths) taken += w + 2;
  const std::size_t bar_width = std::clamp<std::size_t>(width > taken + 2 ? width - taken - 2 : 0, 10, 60);
  for (const Row& row : table.rows) {
    std::string line = "  " + aligned(row.label, label, false);
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const std::size_t before = characters(line) + 2;
      const bool text = !table.numbers && c + 1 == row.cells.size();
      line += "  ";
      line += text ? broken(row.cells[c], std::max(width, before + 20) - before, spaces(before))
                   : aligned(row.cells[c], widths[c], table.numbers);
    }
    if (note > 0) line += "  " + aligned(row.note, note, false);
    if (bars) line += "  " + (row.bar > 0 ? bar_text(row.bar, bar_width) : std::string());
    out += without_end_spaces(std::move(line)) + "\n";
  }
  return out;
}

std::string list_text(const std::string& title, const std::vector<std::string>& lines, std::size_t width) {
  if (lines.empty()) return {};
  std::string out = title + "\n";
  for (const std::string& line : lines) out += "  " + wrapped(line, width - 2, "  ") + "\n";
  return out;
}

std::string content_text(const Content& content, std::size_t width) {
  std::string out = shown(content.title) + "\n";
  const auto part = [&](const std::string& text) { out += text.empty() ? "" : "\n" + text; };
  part(list_text("Verdict", content.verdict, width));
  part(list_text("What it means", content.meaning, width));
  for (const Table& table : content.tables) part(table_text(table, width));
  part(table_text(content.scenario, width));
  part(list_text("Warnings", content.warnings, width));
  part(list_text("Assumed", content.assumptions, width));
  return out;
}

}  // namespace kvplan::report
