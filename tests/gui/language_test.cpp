// Translations: complete, in agreement with the sources, drawable, and changed immediately.
#include "gui/view/language.h"

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QFile>
#include <QGlyphRun>
#include <QGroupBox>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QProcess>
#include <QRegularExpression>
#include <QSettings>
#include <QSlider>
#include <QTemporaryDir>
#include <QTextLayout>
#include <QXmlStreamReader>
#include <set>

#include "gui/view/headline_panel.h"
#include "gui/view/scenario_panel.h"
#include "gui/view/slider_panel.h"
#include "gui/viewmodel/catalogue_text.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/timeline/timeline_view.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

const QString kFolder = QStringLiteral(KVPLAN_SOURCE_DIR "/gui/translations/");

/// One <message> of a file of translations.
struct Message {
  QString context, source, translation, type;
};

std::vector<Message> messages_of(const QString& path) {
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << to_utf8(path);
  QXmlStreamReader xml(&file);
  std::vector<Message> messages;
  QString context;
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    if (xml.name() == QLatin1String("name")) context = xml.readElementText();
    if (xml.name() == QLatin1String("source")) messages.push_back({context, xml.readElementText(), {}, {}});
    if (xml.name() == QLatin1String("translation")) {
      messages.back().type = xml.attributes().value(QLatin1String("type")).toString();
      messages.back().translation = xml.readElementText();
    }
  }
  EXPECT_FALSE(xml.hasError()) << to_utf8(xml.errorString());
  return messages;
}

bool has_chinese(const QString& text) {
  return std::any_of(text.begin(), text.end(), [](QChar c) { return c.script() == QChar::Script_Han; });
}

/// True if the text has words for which a reader of Chinese would have to know English; names of states, files, units
/// and measures do not count.
bool has_english(QString text) {
  static const QRegularExpression kKept(QStringLiteral(
      "\\b(kvplan|token|tokens|Token|GPU|Pareto|png|svg|kva|TTFT|TPOT|ttft|tpot|queue|KV|Qt|LGPL|Apache|CSV|"
      "JSONL?|Azure|Mooncake|kvt|kvs|"
      "kvr|csv|jsonl?|"
      "zst|gz|"
      "Shift|Home|Esc|Left|Right|ns|ms|mod|holes|reuse|compact|renorm|raw|NVIDIA|SXM|FLOP|GB|vLLM|"
      "SnapKV|Keyformer|GPT|JSON|lfu|lru|accumulated|last|windowed|age|position|prompt|layer|head|key_norm|"
      "value_norm|int|ratio|"
      "evict --json|prefill_len|after_prefill|steps|"
      "max_num_seqs|max_num_batched_tokens|long_prefill_token_threshold|num_gpu_blocks|live|reserved|hole|"
      "tail|"
      "padding|internal|cached|metadata|stranded|free|[KMGTP]iB)\\b"));
  static const QRegularExpression kWord(QStringLiteral("[A-Za-z]{2,}"));
  return text.remove(kKept).contains(kWord);
}

/// All texts of descriptors and fields that a form shows.
std::set<std::string> texts_of_the_catalogues() {
  std::set<std::string> texts;
  const auto words = [&](std::string_view path) {
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t dot = std::min(path.find('.', at), path.size());
      std::string word(path.substr(at, dot - at));
      std::replace(word.begin(), word.end(), '_', ' ');
      texts.insert(word);
      at = dot + 1;
    }
  };
  const auto help = [&](std::string_view text) { texts.emplace(text); };
  for (const runs::Field& field : runs::scenario_fields()) {
    words(field.path);
    help(field.help);
    help(unit_name(field.unit));
    if (field.kind != runs::FieldKind::kComponent) continue;
    for (const Descriptor* descriptor : runs::family_descriptors(field.family)) {
      help(descriptor->summary);
      for (const Param& param : descriptor->params) {
        words(param.name);
        help(param.help);
        help(unit_name(param.unit));
      }
    }
  }
  texts.erase("");
  return texts;
}

/// Sets the language to Chinese for one test.
class GuiChinese : public testing::Test {
 protected:
  GuiChinese() {
    apply_language(Language::kChinese);
    QApplication::processEvents();
  }
  ~GuiChinese() override {
    apply_language(Language::kEnglish);
    QApplication::processEvents();
  }
};

void expect_whole(const Message& message) {
  const std::string where = to_utf8(message.context + QStringLiteral(": ") + message.source);
  EXPECT_TRUE(message.type.isEmpty()) << where << " is " << to_utf8(message.type);
  EXPECT_FALSE(message.translation.isEmpty()) << where;
  EXPECT_FALSE(has_english(message.translation)) << where << " -> " << to_utf8(message.translation);
  if (has_english(message.source)) {
    EXPECT_TRUE(has_chinese(message.translation)) << where;
  }
  for (const QString& part : {QStringLiteral("%1"), QStringLiteral("%2"), QStringLiteral("%3"),
                              QStringLiteral("%4"), QStringLiteral("%5"), QStringLiteral("\n")})
    EXPECT_EQ(message.translation.count(part), message.source.count(part)) << where;
  static const QRegularExpression kMnemonic(QStringLiteral("&(.)"));
  const bool wanted = message.source.contains(kMnemonic);
  EXPECT_EQ(message.translation.contains(kMnemonic), wanted) << where;
}

TEST(GuiTranslations, AreFinished) {
  for (const char* name : {"program_zh.ts", "catalogue_zh.ts"}) {
    const auto messages = messages_of(kFolder + QString::fromLatin1(name));
    EXPECT_GT(messages.size(), 50U);
    for (const Message& message : messages) expect_whole(message);
  }
}

TEST(GuiTranslations, AreThoseOfTheSources) {
  const QString lupdate = QStringLiteral(KVPLAN_LUPDATE);
  if (!QFile::exists(lupdate)) GTEST_SKIP() << "no lupdate here (Debian: qt6-l10n-tools)";
  const QTemporaryDir folder;
  const QString copy = folder.filePath(QStringLiteral("program_zh.ts"));
  ASSERT_TRUE(QFile::copy(kFolder + QStringLiteral("program_zh.ts"), copy));
  QProcess process;
  process.setWorkingDirectory(QStringLiteral(KVPLAN_SOURCE_DIR));
  process.start(lupdate, {QStringLiteral("-silent"), QStringLiteral("gui"), QStringLiteral("-I"),
                          QStringLiteral("."), QStringLiteral("-ts"), copy});
  ASSERT_TRUE(process.waitForFinished(kPatient));
  ASSERT_EQ(process.exitCode(), 0) << process.readAllStandardError().constData();
  for (const Message& message : messages_of(copy))
    EXPECT_TRUE(message.type.isEmpty())
        << to_utf8(message.context) << ": " << to_utf8(message.source) << " is " << to_utf8(message.type)
        << "; gui/README.md says how translations are brought up to date";
}

TEST_F(GuiChinese, CataloguesAreTranslatedAndFallBackToEnglish) {
  std::set<std::string> known;
  for (const Message& message : messages_of(kFolder + QStringLiteral("catalogue_zh.ts"))) {
    EXPECT_EQ(message.context, QLatin1String(kCatalogueContext));
    EXPECT_TRUE(known.insert(to_utf8(message.source)).second) << to_utf8(message.source) << " stands twice";
  }
  const auto texts = texts_of_the_catalogues();
  for (const std::string& text : texts) {
    const QString shown = catalogue_text(text);
    if (known.contains(text)) {
      EXPECT_FALSE(has_english(shown)) << text;
      continue;
    }
    EXPECT_EQ(to_utf8(shown), text);  // catalogue_zh.ts is frozen: a new component needs no translation
  }
}

/// All texts that a user can read in the window, except those that were typed or chosen, and names of files.
QStringList texts_shown(const MainWindow& window) {
  QStringList texts;
  for (const QAction* action : window.findChildren<QAction*>())
    if (action->isVisible() && !action->isSeparator() && !action->data().isValid()) texts << action->text();
  for (const auto* label : window.findChildren<QLabel*>())  // the answer is a message of the library
    if (label->objectName() != QStringLiteral("answer")) texts << label->text() << label->toolTip();
  for (const auto* box : window.findChildren<QGroupBox*>()) texts << box->title();
  for (const auto* button : window.findChildren<QAbstractButton*>())
    texts << button->text() << button->toolTip() << button->accessibleName();
  for (const auto* dock : window.findChildren<QDockWidget*>()) texts << dock->windowTitle();
  for (const auto* widget : window.findChildren<QWidget*>())
    if (widget->objectName() != QStringLiteral("answer"))
      texts << widget->accessibleName() << widget->accessibleDescription();
  texts << window.timeline()->value_text();
  texts.removeAll(QString());
  return texts;
}

TEST_F(GuiChinese, NothingInTheWindowIsInEnglish) {
  const auto window = make_window();
  window->edit(QStringLiteral("eviction"), QStringLiteral("streaming-llm"));
  window->edit(QStringLiteral("targets.ttft_s"), QStringLiteral("2"));
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  int chinese = 0;
  static const QRegularExpression kMnemonic(QStringLiteral("\\(&.\\)|&"));
  static const QRegularExpression kPath(QStringLiteral("[a-z_]+\\.[a-z_]+"));
  QStringList untranslated;  // catalogue_zh.ts is frozen: newer texts of components and fields are English
  for (const std::string& text : texts_of_the_catalogues())
    if (catalogue_text(text) == to_qstring(text) && text.size() > 12) untranslated << to_qstring(text);
  for (const QString& text : texts_shown(*window)) {
    QString plain = text;
    for (const QString& english : untranslated) plain.remove(english);
    plain.remove(kMnemonic).remove(kPath);
    chinese += has_chinese(plain) ? 1 : 0;
    if (plain == QStringLiteral("English")) continue;  // each language is named in itself
    EXPECT_FALSE(has_english(plain)) << to_utf8(text);
  }
  EXPECT_GT(chinese, 150);
}

TEST(GuiLanguage, ChangesAtOnceAndBack) {
  const auto window = make_window();
  window->findChild<QAction*>(QStringLiteral("show-table"))->trigger();
  const QStringList english = texts_shown(*window);
  const QString numbers = window->numbers()->text();
  const ResultPtr shown = window->result();
  window->findChild<QAction*>(QStringLiteral("language-zh"))->trigger();
  QApplication::processEvents();
  EXPECT_TRUE(has_chinese(window->menuBar()->actions().at(0)->text()));
  EXPECT_TRUE(has_chinese(window->numbers()->text()));
  EXPECT_TRUE(has_chinese(window->timeline()->value_text()));
  EXPECT_TRUE(has_chinese(window->sliders()->slider(SliderKind::kLoad)->accessibleName()));
  EXPECT_TRUE(window->findChild<QAction*>(QStringLiteral("show-table"))->isChecked());
  EXPECT_EQ(QSettings().value(QStringLiteral("window/language")).toString(), QStringLiteral("zh"));
  window->findChild<QAction*>(QStringLiteral("language-en"))->trigger();
  QApplication::processEvents();
  EXPECT_EQ(window->numbers()->text(), numbers);
  const QStringList again = texts_shown(*window);
  for (qsizetype i = 0; i < std::min(again.size(), english.size()); ++i)
    EXPECT_EQ(to_utf8(again[i]), to_utf8(english[i])) << i;
  EXPECT_EQ(again.size(), english.size());
  EXPECT_EQ(window->result(), shown) << "another language simulates nothing";
}

TEST(GuiLanguage, MnemonicsOfAMenuDiffer) {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    apply_language(language);
    QApplication::processEvents();
    const auto window = make_window(false);
    static const QRegularExpression kMnemonic(QStringLiteral("&([^&])"));
    const auto check = [&](const QList<QAction*>& actions, const QString& menu) {
      std::set<QString> seen;
      for (const QAction* action : actions) {
        if (action->isSeparator()) continue;
        const QString key = kMnemonic.match(action->text()).captured(1).toUpper();
        EXPECT_FALSE(key.isEmpty()) << to_utf8(menu) << " > " << to_utf8(action->text());
        EXPECT_TRUE(seen.insert(key).second) << to_utf8(menu) << " > " << to_utf8(action->text());
      }
      EXPECT_GE(seen.size(), 2U) << to_utf8(menu);
    };
    check(window->menuBar()->actions(), QStringLiteral("menu bar"));
    for (const QMenu* menu : window->findChildren<QMenu*>()) check(menu->actions(), menu->title());
    apply_language(Language::kEnglish);
  }
  QApplication::processEvents();
}

TEST_F(GuiChinese, EveryCharacterHasAGlyph) {
  if (!has_font_for(Language::kChinese))
    GTEST_SKIP() << "no installed font has Chinese characters (Debian: fonts-wqy-microhei)";
  std::set<char32_t> letters;
  for (const char* name : {"program_zh.ts", "catalogue_zh.ts"})
    for (const Message& message : messages_of(kFolder + QString::fromLatin1(name)))
      for (const char32_t letter : message.translation.toStdU32String())
        if (letter > U' ') letters.insert(letter);
  EXPECT_GT(letters.size(), 300U);
  for (const char32_t letter : letters) {
    QTextLayout layout(QString::fromUcs4(&letter, 1), QApplication::font());
    layout.beginLayout();
    layout.createLine();
    layout.endLayout();
    for (const QGlyphRun& run : layout.glyphRuns())
      for (const quint32 glyph : run.glyphIndexes())
        EXPECT_NE(glyph, 0U) << to_utf8(QString::fromUcs4(&letter, 1));
  }
}

TEST_F(GuiChinese, TimesAreInChineseUnits) {
  EXPECT_TRUE(has_chinese(format_seconds(200)));
  EXPECT_TRUE(has_chinese(format_seconds(9000)));
  EXPECT_TRUE(has_chinese(time_marks(0, 3600, 8).unit));
}

}  // namespace
}  // namespace kvplan::gui
