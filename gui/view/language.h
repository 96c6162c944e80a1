// The language of the window: its texts, and the form of numbers. Translations are compiled into the program.
#pragma once

#include <QString>
#include <optional>

namespace kvplan::gui {

enum class Language : std::uint8_t { kSystem, kEnglish, kChinese };

/// The language's name in settings: "system", "en", "zh".
QString language_name(Language language);
std::optional<Language> language_by_name(const QString& name);

/// The language that kSystem stands for on this machine: Chinese if the system's locale is Chinese, otherwise English.
Language system_language();

/// Changes the language of the whole program at once: existing windows get an event of type LanguageChange. Numbers
/// use the system's locale if it has this language, otherwise that of the United States or China. REQUIRES: a
/// QApplication.
void apply_language(Language language);
/// The language that was applied last.
Language applied_language();

/// True: the installed fonts can draw the letters of this language.
bool has_font_for(Language language);

}  // namespace kvplan::gui
