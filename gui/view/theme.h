// Light, dark, or as on the desktop. The program paints only with palette roles, so a palette is a theme.
#pragma once

#include <QString>
#include <optional>

namespace kvplan::gui {

enum class Theme : std::uint8_t { kSystem, kLight, kDark };

/// The theme's name in settings: "system", "light", "dark".
QString theme_name(Theme theme);
std::optional<Theme> theme_by_name(const QString& name);

/// Changes the theme of the whole program at once. The first call stores the desktop's own palette. REQUIRES: a
/// QApplication.
void apply_theme(Theme theme);

}  // namespace kvplan::gui
