// Light, dark, or as the desktop has it. The program paints with palette roles only, so a palette is a theme.
#pragma once

#include <QString>
#include <optional>

namespace kvplan::gui {

enum class Theme : std::uint8_t { kSystem, kLight, kDark };

/// "system", "light", "dark".
QString theme_name(Theme theme);
std::optional<Theme> theme_by_name(const QString& name);

/// For the whole program, at once. The first call remembers the desktop's own palette. REQUIRES: a
/// QApplication.
void apply_theme(Theme theme);

}  // namespace kvplan::gui
