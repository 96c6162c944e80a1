// Numbers as text with units, and the positions of axis marks.
//
// Only for the window. Files and commands have plain numbers.
#pragma once

#include <QString>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan::gui {

QString to_qstring(std::string_view utf8);
std::string to_utf8(const QString& text);

/// A menu's or a label's text without its mnemonic: "File" of "&File" and of "File(&F)".
QString without_mnemonic(QString text);

/// "512 B", "1.50 MiB", "48.0 GiB": three significant digits in the largest binary unit that gives at
/// least 1.
QString format_bytes(double bytes);
/// "0", "12", "19,366", "2.35": whole numbers with separators, others with three significant digits.
QString format_number(double value);
/// "850 ns", "1.25 ms", "12.3 s", "58 min 20 s", "2 h 05 min".
QString format_seconds(double seconds);
/// "12.3 %", "2.67 %", "<0.01 %", "0 %".
QString format_percent(double fraction);

/// Marks of an axis: values in the unit of the data, and their texts in the unit of the axis.
struct AxisMarks {
  QString unit;  ///< "GiB", "min", ...; empty for counts
  std::vector<double> values;
  std::vector<QString> texts;
};

// Marks inside [begin, end], about `most` of them and never more than `most` + 1. REQUIRES: begin < end, most
// >= 1.
AxisMarks byte_marks(double begin, double end, int most);
AxisMarks time_marks(double begin_s, double end_s, int most);
AxisMarks count_marks(double begin, double end, int most);

}  // namespace kvplan::gui
