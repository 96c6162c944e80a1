// Translations of texts from descriptors and scenario fields into the window's language.
//
// They are looked up by their English text in gui/translations/catalogue_zh.ts; a text without an entry, such as that
// of a new component, is shown in English.
#pragma once

#include <QString>
#include <string_view>

namespace kvplan::gui {

/// The context of these texts in the file of translations.
inline constexpr char kCatalogueContext[] = "catalogue";

/// A help text, a summary or a unit.
QString catalogue_text(std::string_view english);

/// Name of the last part of a path, in words: "pool bytes" of "memory.pool_bytes".
QString field_words(std::string_view path);

}  // namespace kvplan::gui
