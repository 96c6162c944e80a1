#include "gui/viewmodel/formatting.h"

#include <QCoreApplication>
#include <QLocale>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <cmath>

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Units {
  Q_DECLARE_TR_FUNCTIONS(Units)
};

struct UnitStep {
  double size;
  const char* name;
};
constexpr std::array<UnitStep, 6> kByteUnits{{{1.0, "B"},
                                              {1024.0, "KiB"},
                                              {1048576.0, "MiB"},
                                              {1073741824.0, "GiB"},
                                              {1099511627776.0, "TiB"},
                                              {1125899906842624.0, "PiB"}}};
constexpr std::array<UnitStep, 4> kTimeUnits{{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1.0, "s"}}};

/// The largest unit that gives at least 1, or the first.
template <std::size_t N>
const UnitStep& unit_for(const std::array<UnitStep, N>& units, double value) {
  std::size_t i = 0;
  while (i + 1 < N && std::abs(value) >= units[i + 1].size) ++i;
  return units[i];
}

/// Three significant digits, without an exponent.
QString three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return QLocale().toString(value, 'f', decimals);
}

QString with_unit(const QString& number, const char* unit) {
  return number + QChar(0x00A0) + QString::fromUtf8(unit);  // no line break between a number and its unit
}

/// 1, 2 or 5 times a power of ten, at least `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-12)) return factor * power;
  return 10 * power;
}

AxisMarks marks(double begin, double end, double unit, double step, const QString& name) {
  AxisMarks out;
  out.unit = name;
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  const double first = std::ceil(begin / unit / step - 1e-9);
  for (std::int64_t k = 0;; ++k) {
    const double i = first + static_cast<double>(k);
    if (i * step * unit > end + step * unit * 1e-9) return out;
    out.values.push_back(i * step * unit);
    out.texts.push_back(QLocale().toString(i * step, 'f', decimals));
  }
}

}  // namespace

QString to_qstring(std::string_view utf8) {
  return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}
std::string to_utf8(const QString& text) {
  const QByteArray bytes = text.toUtf8();
  return {bytes.constData(), static_cast<std::size_t>(bytes.size())};
}

QString without_mnemonic(QString text) {
  static const QRegularExpression kBeside(QStringLiteral("\\(&.\\)"));
  return text.remove(kBeside).remove(QLatin1Char('&'));
}

QString format_bytes(double bytes) {
  const UnitStep& unit = unit_for(kByteUnits, bytes);
  const double value = bytes / unit.size;
  return with_unit(unit.size == 1 ? QLocale().toString(value, 'f', 0) : three_digits(value), unit.name);
}

QString format_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return QLocale().toString(value, 'f', 0);
  return three_digits(value);
}

QString format_seconds(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0) return with_unit(QLocale().toString(0), "s");
  if (size < 119.95) {
    const UnitStep& unit = unit_for(kTimeUnits, seconds);
    return with_unit(three_digits(seconds / unit.size), unit.name);
  }
  const auto whole = static_cast<qint64>(std::llround(size));
  const QString sign = seconds < 0 ? QStringLiteral("-") : QString();
  if (whole < 7200)
    return sign + Units::tr("%1 min %2 s").arg(whole / 60).arg(whole % 60, 2, 10, QLatin1Char('0'));
  const qint64 minutes = (whole + 30) / 60;
  return sign + Units::tr("%1 h %2 min").arg(minutes / 60).arg(minutes % 60, 2, 10, QLatin1Char('0'));
}

QString format_percent(double fraction) {
  const double percent = fraction * 100;
  if (percent > 0 && percent < 0.005)
    return with_unit(QStringLiteral("<") + QLocale().toString(0.01, 'f', 2), "%");
  const int decimals = percent == 0 ? 0 : std::abs(percent) >= 9.95 ? 1 : 2;
  return with_unit(QLocale().toString(percent, 'f', decimals), "%");
}

AxisMarks byte_marks(double begin, double end, int most) {
  const UnitStep& unit = unit_for(kByteUnits, end);
  const double least = (end - begin) / unit.size / most;
  return marks(begin, end, unit.size, std::max(round_step(least), unit.size == 1 ? 1.0 : 0.0),
               QString::fromUtf8(unit.name));
}

AxisMarks time_marks(double begin_s, double end_s, int most) {
  const double length = end_s - begin_s;
  const double least = length / most;
  // Past some minutes people count in minutes and hours, which do not divide by ten.
  constexpr std::array<double, 13> kLong{60,   120,   300,   600,   900,   1800,  3600,
                                         7200, 10800, 21600, 43200, 86400, 172800};
  if (length > 240) {
    const auto* step = std::find_if(kLong.begin(), kLong.end(), [&](double s) { return s >= least; });
    const double seconds = step == kLong.end() ? 86400 * round_step(least / 86400) : *step;
    const bool hours = length > 4 * 3600;
    const double unit = hours ? 3600 : 60;
    return marks(begin_s, end_s, unit, seconds / unit, hours ? Units::tr("h") : Units::tr("min"));
  }
  const UnitStep& unit = unit_for(kTimeUnits, std::max(end_s, 1e-9) < 1 ? end_s : std::max(length, 1.0));
  return marks(begin_s, end_s, unit.size, round_step(least / unit.size), QString::fromUtf8(unit.name));
}

AxisMarks count_marks(double begin, double end, int most) {
  return marks(begin, end, 1, std::max(1.0, round_step((end - begin) / most)), QString());
}

}  // namespace kvplan::gui
