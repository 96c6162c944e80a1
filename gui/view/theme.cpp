#include "gui/view/theme.h"

#include <QApplication>
#include <QPalette>
#include <QStyle>
#include <array>

namespace kvplan::gui {
namespace {

struct Shades {
  QRgb window, base, alternate, text, button, highlight, highlighted_text, faint, link;
};
constexpr Shades kLight{0xFFF3F3F3, 0xFFFFFFFF, 0xFFF0F0F0, 0xFF1A1A1A, 0xFFE8E8E8,
                        0xFF0072B2, 0xFFFFFFFF, 0xFF767676, 0xFF005A8C};
constexpr Shades kDark{0xFF26282B, 0xFF17191B, 0xFF1F2124, 0xFFE6E6E6, 0xFF34373B,
                       0xFF3D8FC4, 0xFFFFFFFF, 0xFF8A8D91, 0xFF7CC0EE};

QPalette palette_of(const Shades& s) {
  QPalette palette;
  const auto set = [&](QPalette::ColorRole role, QRgb colour) { palette.setColor(role, QColor(colour)); };
  set(QPalette::Window, s.window);
  set(QPalette::WindowText, s.text);
  set(QPalette::Base, s.base);
  set(QPalette::AlternateBase, s.alternate);
  set(QPalette::Text, s.text);
  set(QPalette::Button, s.button);
  set(QPalette::ButtonText, s.text);
  set(QPalette::BrightText, s.highlighted_text);
  set(QPalette::ToolTipBase, s.base);
  set(QPalette::ToolTipText, s.text);
  set(QPalette::Highlight, s.highlight);
  set(QPalette::HighlightedText, s.highlighted_text);
  set(QPalette::PlaceholderText, s.faint);
  set(QPalette::Link, s.link);
  const QColor window(s.window);
  palette.setColor(QPalette::Light, window.lighter(130));
  palette.setColor(QPalette::Midlight, window.lighter(115));
  palette.setColor(QPalette::Mid, window.darker(130));
  palette.setColor(QPalette::Dark, window.darker(160));
  palette.setColor(QPalette::Shadow, window.darker(250));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, QColor(s.faint));
  palette.setColor(QPalette::Disabled, QPalette::Highlight, QColor(s.faint));
  return palette;
}

constexpr std::array<std::pair<Theme, const char*>, 3> kNames{
    {{Theme::kSystem, "system"}, {Theme::kLight, "light"}, {Theme::kDark, "dark"}}};

}  // namespace

QString theme_name(Theme theme) {
  return QString::fromLatin1(kNames[static_cast<std::size_t>(theme)].second);
}

std::optional<Theme> theme_by_name(const QString& name) {
  for (const auto& [theme, text] : kNames)
    if (name == QLatin1String(text)) return theme;
  return std::nullopt;
}

void apply_theme(Theme theme) {
  static const QPalette kDesktop = QApplication::palette();
  QApplication::setStyle(QStringLiteral("Fusion"));
  switch (theme) {
    case Theme::kSystem:
      return QApplication::setPalette(kDesktop);
    case Theme::kLight:
      return QApplication::setPalette(palette_of(kLight));
    case Theme::kDark:
      return QApplication::setPalette(palette_of(kDark));
  }
}

}  // namespace kvplan::gui
