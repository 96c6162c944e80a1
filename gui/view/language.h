// The language of the window: texts, and how numbers are written. Translations are compiled into the program.
#pragma once

#include <QString>
#include <optional>

namespace kvplan::gui {

enum class Language : std::uint8_t { kSystem, kEnglish, kChinese };

/// "system", "en", "zh".
QString language_name(Language language);
std::optional<Language> language_by_name(const QString& name);

/// What kSystem stands for here: Chinese where the system's locale is, otherwise English.
Language system_language();

/// For the whole program, at once: windows that are there get an event of type LanguageChange. Numbers are
/// written as the system's locale has it where that is of this language, otherwise as in the United States or
/// China. REQUIRES: a QApplication.
void apply_language(Language language);
/// What was applied last.
Language applied_language();

/// The letters of this language can be drawn with the fonts that are installed.
bool has_font_for(Language language);

}  // namespace kvplan::gui
