#include "gui/viewmodel/catalogue_text.h"

#include <QCoreApplication>
#include <algorithm>
#include <string>

namespace kvplan::gui {

QString catalogue_text(std::string_view english) {
  if (english.empty()) return {};
  return QCoreApplication::translate(kCatalogueContext, std::string(english).c_str());
}

QString field_words(std::string_view path) {
  std::string words(path.substr(path.rfind('.') + 1));
  std::replace(words.begin(), words.end(), '_', ' ');
  return catalogue_text(words);
}

}  // namespace kvplan::gui
