// Cancelling a run, cancelling a drag, quitting during a run; and all functions by keyboard.
#include <gtest/gtest.h>
#include <zlib.h>

#include <QAction>
#include <QApplication>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QSlider>
#include <QStyleOptionSlider>
#include <QTemporaryDir>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "gui/view/message_bar.h"
#include "gui/view/scenario_panel.h"
#include "gui/view/slider_panel.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/timeline/timeline_view.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

/// A scenario with the first thousand requests of a trace that takes long enough to be stopped by hand.
QString long_file() {
  static const QTemporaryDir kFolder;
  const QString scenario = kFolder.filePath(QStringLiteral("short.json"));
  if (QFile::exists(scenario)) return scenario;
  std::string text = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  std::array<char, 64> line{};
  for (int i = 0; i < 1'200'000; ++i) {
    const int ms = i * 50;
    const int s = ms / 1000;
    const int length = std::snprintf(line.data(), line.size(), "2023-11-16 %02d:%02d:%02d.%03d,%d,%d\n",
                                     s / 3600, s / 60 % 60, s % 60, ms % 1000, 200 + i % 991, 20 + i % 293);
    text.append(line.data(), static_cast<std::size_t>(length));
  }
  const auto write = [](const QString& path, const std::string& content) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(content.data(), static_cast<qint64>(content.size()));
  };
  write(kFolder.filePath(QStringLiteral("long.csv")), text);
  write(scenario, R"({"workload": {"trace": "long.csv", "limit": 1000}, "memory": {"pool_blocks": 500}})");
  return scenario;
}

/// A window that shows these thousand requests.
std::unique_ptr<MainWindow> long_window() {
  auto window = make_window(false);
  window->open({long_file()});
  EXPECT_TRUE(wait_for([&] { return window->result() != nullptr && window->settled(); }));
  // Reading took long enough, on a busy machine, to show progress; the display ends when events are processed.
  auto* const cancel = window->findChild<QPushButton*>(QStringLiteral("cancel"));
  EXPECT_TRUE(wait_for([&] { return !cancel->isVisible(); }));
  return window;
}

/// Begins the run of all requests.
void run_long(MainWindow& window) {
  window.edit(QStringLiteral("workload.limit"), QString());
}

QAction* action(MainWindow& window, const char* name) {
  auto* found = window.findChild<QAction*>(QString::fromLatin1(name));
  EXPECT_NE(found, nullptr) << name;
  return found;
}

TEST(GuiCancel, TheButtonKeepsThePictureAndSaysSo) {
  const auto window = long_window();
  const ResultPtr shown = window->result();
  auto* const cancel = window->findChild<QPushButton*>(QStringLiteral("cancel"));
  ASSERT_NE(cancel, nullptr);
  EXPECT_FALSE(cancel->isVisible());
  run_long(*window);
  ASSERT_TRUE(wait_for([&] { return cancel->isVisible() || window->settled(); }));
  ASSERT_TRUE(cancel->isVisible()) << "the run was too short to be cancelled by hand";
  EXPECT_TRUE(window->timeline()->stale()) << "what is shown is greyed meanwhile";
  QTest::mouseClick(cancel, Qt::LeftButton);
  ASSERT_TRUE(wait_for([&] { return !window->worker().busy(); }));
  EXPECT_EQ(window->result(), shown);
  EXPECT_EQ(window->timeline()->data(), shown->timeline);
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("Cancelled")));
  EXPECT_FALSE(window->settled()) << "the picture is not the scenario's, and is not said to be";
  EXPECT_EQ(window->document().scenario().limit, -1) << "the scenario stays as it was set";
  ASSERT_TRUE(wait_for([&] { return !cancel->isVisible(); }));
  action(*window, "undo")->trigger();
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  EXPECT_NE(window->result(), shown);
  EXPECT_TRUE(window->messages()->text().isEmpty());
}

TEST(GuiCancel, TheKeyCancelsToo) {
  const auto window = long_window();
  const ResultPtr shown = window->result();
  run_long(*window);
  QTest::keyClick(window.get(), Qt::Key_Period, Qt::ControlModifier);
  ASSERT_TRUE(wait_for([&] { return !window->worker().busy(); }));
  EXPECT_EQ(window->result(), shown);
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("Cancelled")));
}

TEST(GuiCancel, AWindowMayCloseWhileItRuns) {
  auto window = long_window();
  run_long(*window);
  ASSERT_TRUE(wait_for([&] { return window->worker().progress() >= 0; }));
  action(*window, "quit")->trigger();
  EXPECT_FALSE(window->isVisible());
  EXPECT_TRUE(window->worker().busy()) << "the run was not waited for";
  window.reset();  // ends the run
}

/// An importable file that is small on the disk and takes long to read: the same rows compressed again and again. A
/// gzip file may have several members.
QString slow_file() {
  static const QTemporaryDir kFolder;
  const QString path = kFolder.filePath(QStringLiteral("slow.csv.gz"));
  if (QFile::exists(path)) return path;
  const auto packed = [](const QByteArray& text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    QByteArray out(static_cast<qsizetype>(deflateBound(&stream, static_cast<uLong>(text.size()))), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.constData()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.truncate(static_cast<qsizetype>(stream.total_out));
    deflateEnd(&stream);
    return out;
  };
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(packed("TIMESTAMP,ContextTokens,GeneratedTokens\n"));
  const QByteArray rows = packed(QByteArray("2023-11-16 00:00:01.500,374,44\n").repeated(250'000));
  for (int i = 0; i < 200; ++i) file.write(rows);
  return path;
}

TEST(GuiCancel, ImportingShowsHowFarItIsAndStops) {
  const auto window = make_window();
  const ResultPtr shown = window->result();
  auto* const bar = window->findChild<QProgressBar*>();
  auto* const cancel = window->findChild<QPushButton*>(QStringLiteral("cancel"));
  ASSERT_NE(bar, nullptr);
  ASSERT_TRUE(wait_for([&] { return !bar->isVisible(); })) << "of the first run, on a slow machine";
  window->open({slow_file()});
  ASSERT_TRUE(wait_for([&] { return bar->isVisible() && bar->value() > 0; }));
  EXPECT_EQ(bar->maximum(), 1000);
  EXPECT_LT(bar->value(), 1000);
  EXPECT_TRUE(bar->text().startsWith(QStringLiteral("Reading"))) << to_utf8(bar->text());
  const int before = bar->value();
  ASSERT_TRUE(wait_for([&] { return bar->value() > before; })) << "it moves";
  EXPECT_FALSE(window->timeline()->stale()) << "what is shown stays as it is";
  QTest::mouseClick(cancel, Qt::LeftButton);
  ASSERT_TRUE(wait_for([&] { return !window->worker().busy(); }));
  ASSERT_TRUE(wait_for([&] { return !bar->isVisible() && !cancel->isVisible(); }));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("Opening was cancelled")));
  EXPECT_EQ(window->result(), shown);
  EXPECT_TRUE(window->settled());
}

QPoint handle_of(const QSlider& slider) {
  QStyleOptionSlider option;
  option.initFrom(&slider);
  option.minimum = slider.minimum();
  option.maximum = slider.maximum();
  option.sliderPosition = slider.value();
  option.sliderValue = slider.value();
  return slider.style()
      ->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, &slider)
      .center();
}

TEST(GuiDrag, EscapeTakesBackADragOfASlider) {
  const auto window = make_window();
  QSlider* const pool = window->sliders()->slider(SliderKind::kPool);
  const int start = pool->value();
  const std::int64_t makespan = window->result()->run.makespan.count;
  const QPoint from = handle_of(*pool);
  QTest::mousePress(pool, Qt::LeftButton, {}, from);
  for (int i = 1; i <= 5; ++i) QTest::mouseMove(pool, from - QPoint(15 * i, 0));
  EXPECT_LT(pool->value(), start);
  EXPECT_EQ(window->document().undo_stack().index(), 1);
  QTest::keyClick(pool, Qt::Key_Escape);
  EXPECT_EQ(pool->value(), start);
  EXPECT_EQ(window->document().undo_stack().index(), 0);
  QTest::mouseMove(pool, from - QPoint(100, 0));  // the button is still down
  EXPECT_EQ(pool->value(), start);
  QTest::mouseRelease(pool, Qt::LeftButton, {}, from - QPoint(100, 0));
  EXPECT_EQ(pool->value(), start);
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  EXPECT_EQ(window->result()->run.makespan.count, makespan);
  // The next drag moves the slider again, and Escape outside a drag does nothing.
  QTest::keyClick(pool, Qt::Key_Escape);
  EXPECT_EQ(window->document().undo_stack().index(), 0);
  QTest::mousePress(pool, Qt::LeftButton, {}, handle_of(*pool));
  QTest::mouseMove(pool, from - QPoint(40, 0));
  QTest::mouseRelease(pool, Qt::LeftButton, {}, from - QPoint(40, 0));
  EXPECT_LT(pool->value(), start);
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
}

TEST(GuiDrag, EscapeTakesBackADragOfTheChart) {
  const auto window = make_window();
  TimelineView* const chart = window->timeline();
  chart->zoom(8, chart->data()->whole().length() / 2);
  const TimeRange before = chart->range();
  const QPoint from = chart->plot_rect().center();
  QTest::mousePress(chart, Qt::LeftButton, {}, from);
  QTest::mouseMove(chart, from - QPoint(60, 0));
  EXPECT_NE(chart->range(), before);
  QTest::keyClick(chart, Qt::Key_Escape);
  EXPECT_EQ(chart->range(), before);
  QTest::mouseMove(chart, from - QPoint(90, 0));
  EXPECT_EQ(chart->range(), before);
  QTest::mouseRelease(chart, Qt::LeftButton, {}, from - QPoint(90, 0));
  chart->set_marked(TimeRange{before.begin, before.begin + before.length() / 4});
  const auto marked = chart->marked();
  QTest::mousePress(chart, Qt::LeftButton, Qt::ShiftModifier, from);
  QTest::mouseMove(chart, from + QPoint(60, 0));
  EXPECT_NE(chart->marked(), marked);
  QTest::keyClick(chart, Qt::Key_Escape);
  EXPECT_EQ(chart->marked(), marked);
  QTest::mouseRelease(chart, Qt::LeftButton, {}, from + QPoint(60, 0));
}

/// The widgets that the Tab key visits, from `first` until it comes back to it.
std::vector<QWidget*> tab_round(QWidget* first) {
  std::vector<QWidget*> visited;
  first->setFocus(Qt::TabFocusReason);
  int steps = 0;
  for (QWidget* at = QApplication::focusWidget(); at != nullptr; at = QApplication::focusWidget()) {
    if (++steps > 1000) break;
    const bool link = !visited.empty() && visited.back() == at;  // Tab goes from link to link in a text
    if (!link && std::find(visited.begin(), visited.end(), at) != visited.end()) break;
    if (!link) visited.push_back(at);
    QTest::keyClick(at, Qt::Key_Tab);
  }
  return visited;
}

TEST(GuiKeyboard, TabGoesThroughEverythingInTheOrderOfTheForm) {
  const auto window = make_window();
  window->edit(QStringLiteral("memory.allocator"), QStringLiteral("contiguous"));
  window->edit(QStringLiteral("eviction"), QStringLiteral("streaming-llm"));
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  QWidget* const form = window->findChild<QWidget*>(QStringLiteral("scenario-form"));
  ASSERT_NE(form, nullptr);
  const auto visited = tab_round(window->form()->editor(QStringLiteral("workload.trace")));
  std::vector<QPoint> places;
  std::vector<std::string> names;
  for (QWidget* widget : visited) {
    if (!form->isAncestorOf(widget)) continue;
    places.push_back(widget->mapTo(form, QPoint(0, widget->height() / 2)));
    names.push_back(widget->objectName().toStdString());
  }
  const auto below = [](const QPoint& a, const QPoint& b) {
    return b.y() > a.y() + 6 || (std::abs(b.y() - a.y()) <= 6 && b.x() > a.x());
  };
  for (std::size_t i = 1; i < places.size(); ++i)
    EXPECT_TRUE(below(places[i - 1], places[i]))
        << "stop " << i << " of the form: " << names[i - 1] << ", then " << names[i];
  int wanted = 0;
  for (QWidget* widget : window->findChildren<QWidget*>()) {
    if (!widget->isVisible() || !widget->isEnabled() || (widget->focusPolicy() & Qt::TabFocus) == 0) continue;
    if (widget->objectName().startsWith(QStringLiteral("qt_"))) continue;  // parts of Qt's own widgets
    ++wanted;
    EXPECT_NE(std::find(visited.begin(), visited.end(), widget), visited.end())
        << widget->metaObject()->className() << " " << to_utf8(widget->objectName());
  }
  EXPECT_GT(wanted, 25);
}

TEST(GuiKeyboard, WhatHasTheFocusIsScrolledIntoView) {
  const auto window = make_window();
  auto* const scroll = window->form()->findChild<QScrollArea*>();
  ASSERT_NE(scroll, nullptr);
  QWidget* const last = window->form()->editor(QStringLiteral("prices"));
  QWidget* const before_last = window->form()->editor(QStringLiteral("targets.to_s"));
  scroll->ensureVisible(0, 0);
  EXPECT_TRUE(last->visibleRegion().isEmpty());
  before_last->setFocus(Qt::TabFocusReason);
  QTest::keyClick(before_last, Qt::Key_Tab);
  ASSERT_EQ(QApplication::focusWidget(), last);
  EXPECT_FALSE(last->visibleRegion().isEmpty());
}

TEST(GuiKeyboard, NamesOfControlsDiffer) {
  const auto window = make_window();
  window->edit(QStringLiteral("engine.max_seqs"), QStringLiteral("7"));
  window->edit(QStringLiteral("eviction"), QStringLiteral("streaming-llm"));
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    apply_language(language);
    QApplication::processEvents();
    std::map<QString, QWidget*> names;
    for (QWidget* widget : window->findChildren<QWidget*>()) {
      if (!widget->isVisible() || (widget->focusPolicy() & Qt::TabFocus) == 0) continue;
      if (widget->objectName().startsWith(QStringLiteral("qt_"))) continue;
      const QString name = widget->accessibleName();
      if (name.isEmpty()) continue;  // another test checks that all widgets have names
      EXPECT_TRUE(names.emplace(name, widget).second) << to_utf8(name);
    }
    EXPECT_GT(names.size(), 25U);
  }
  apply_language(Language::kEnglish);
  QApplication::processEvents();
}

TEST(GuiKeyboard, AltKeysOfMenusAndSlidersDiffer) {
  static const QRegularExpression kMnemonic(QStringLiteral("&([^&])"));
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    apply_language(language);
    QApplication::processEvents();
    const auto window = make_window();
    std::set<QString> keys;
    const auto take = [&](const QString& text) {
      const QString key = kMnemonic.match(text).captured(1).toUpper();
      EXPECT_FALSE(key.isEmpty()) << to_utf8(text);
      EXPECT_TRUE(keys.insert(key).second) << to_utf8(text);
    };
    for (const QAction* menu : window->menuBar()->actions()) take(menu->text());
    for (const auto* label : window->sliders()->findChildren<QLabel*>())
      if (label->buddy() != nullptr) take(label->text());
    EXPECT_EQ(keys.size(), 5U + kSliders);
    QSlider* const block = window->sliders()->slider(SliderKind::kBlock);
    EXPECT_FALSE(block->hasFocus());
    QTest::keyClick(window.get(), Qt::Key_B, Qt::AltModifier);
    EXPECT_TRUE(block->hasFocus());
  }
  apply_language(Language::kEnglish);
  QApplication::processEvents();
}

TEST(GuiKeyboard, CommandsHaveKeysOfTheirOwn) {
  const auto window = make_window(false);
  std::map<QKeySequence, QString> keys;
  for (const QAction* command : window->findChildren<QAction*>()) {
    if (command->shortcut().isEmpty()) continue;
    EXPECT_TRUE(keys.emplace(command->shortcut(), command->text()).second)
        << to_utf8(command->shortcut().toString()) << ": " << to_utf8(command->text());
  }
  EXPECT_GT(keys.size(), 12U);
}

}  // namespace
}  // namespace kvplan::gui
