#include "gui/view/language.h"

#include <QApplication>
#include <QFontDatabase>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>
#include <array>
#include <memory>
#include <vector>

#include "gui/viewmodel/formatting.h"

namespace kvplan::gui {
namespace {

constexpr std::array<std::pair<Language, const char*>, 3> kNames{
    {{Language::kSystem, "system"}, {Language::kEnglish, "en"}, {Language::kChinese, "zh"}}};

using Translators = std::vector<std::unique_ptr<QTranslator>>;

Language& applied() {
  static Language language = Language::kSystem;
  return language;
}

/// Qt's own dialogs first: the translator installed later is asked first.
Translators chinese() {
  Translators found;
  const auto add = [&](const QString& file, const QString& folder) {
    auto translator = std::make_unique<QTranslator>();
    if (translator->load(file, folder)) found.push_back(std::move(translator));
  };
  add(QStringLiteral("qtbase_zh_CN"), QLibraryInfo::path(QLibraryInfo::TranslationsPath));
  for (const char* file : {"catalogue_zh", "program_zh"})
    add(QString::fromLatin1(file), QStringLiteral(":/translations"));
  return found;
}

}  // namespace

QString language_name(Language language) {
  return QString::fromLatin1(kNames[static_cast<std::size_t>(language)].second);
}

std::optional<Language> language_by_name(const QString& name) {
  for (const auto& [language, text] : kNames)
    if (name == QLatin1String(text)) return language;
  return std::nullopt;
}

Language system_language() {
  return QLocale::system().language() == QLocale::Chinese ? Language::kChinese : Language::kEnglish;
}

void apply_language(Language language) {
  static Translators installed;
  applied() = language;
  if (language == Language::kSystem) language = system_language();
  const bool is_chinese = language == Language::kChinese;
  const QLocale system = QLocale::system();
  if (system.language() == (is_chinese ? QLocale::Chinese : QLocale::English)) {
    QLocale::setDefault(system);
  } else {
    QLocale::setDefault(is_chinese ? QLocale(QLocale::Chinese, QLocale::China)
                                   : QLocale(QLocale::English, QLocale::UnitedStates));
  }
  for (const auto& translator : installed) QApplication::removeTranslator(translator.get());
  installed = is_chinese ? chinese() : Translators{};
  for (const auto& translator : installed) QApplication::installTranslator(translator.get());
}

Language applied_language() {
  return applied();
}

bool has_font_for(Language language) {
  if (language == Language::kSystem) language = system_language();
  return !QFontDatabase::families(language == Language::kChinese ? QFontDatabase::SimplifiedChinese
                                                                 : QFontDatabase::Latin)
              .isEmpty();
}

}  // namespace kvplan::gui
