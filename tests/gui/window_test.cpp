// The whole window, operated with mouse and keyboard.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QSlider>
#include <QStyleOptionSlider>
#include <QTableView>
#include <ctime>

#include "gui/view/headline_panel.h"
#include "gui/view/message_bar.h"
#include "gui/view/scenario_panel.h"
#include "gui/view/slider_panel.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/timeline/timeline_view.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

void trigger(MainWindow& window, const char* name) {
  auto* action = window.findChild<QAction*>(QString::fromLatin1(name));
  ASSERT_NE(action, nullptr) << name;
  action->trigger();
}

bool wait_settled(MainWindow& window) {
  return wait_for([&] { return window.settled(); });
}

TEST(GuiWindow, KeysOnASliderSimulateAgainAndUndoIsOneStep) {
  const auto window = make_window();
  QSlider* const load = window->sliders()->slider(SliderKind::kLoad);
  const ResultPtr before = window->result();
  load->setFocus();
  const int start = load->value();
  for (int i = 0; i < 12; ++i) QTest::keyClick(load, Qt::Key_Right);
  EXPECT_EQ(load->value(), start + 12);
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_NE(window->result(), before);
  EXPECT_EQ(window->result()->run.scenario.text("workload.rate_scale"),
            window->document().scenario().text("workload.rate_scale"))
      << "the newest value wins";
  EXPECT_LT(window->result()->run.makespan, before->run.makespan) << "twelve steps up: 2.8 times the load";
  EXPECT_EQ(window->document().undo_stack().count(), 1);
  QTest::keyClick(window.get(), Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_EQ(window->result()->run.makespan, before->run.makespan);
  EXPECT_EQ(load->value(), start);
  trigger(*window, "redo");
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_EQ(load->value(), start + 12);
}

TEST(GuiWindow, ADragWithTheMouseShowsItsLastValue) {
  const auto window = make_window();
  QSlider* const pool = window->sliders()->slider(SliderKind::kPool);
  const int pictures_before = static_cast<int>(window->result()->generation);
  const QPoint middle(pool->width() / 2, pool->height() / 2);
  QStyleOptionSlider option;
  option.initFrom(pool);
  option.minimum = pool->minimum();
  option.maximum = pool->maximum();
  option.sliderPosition = pool->value();
  option.sliderValue = pool->value();
  const QRect handle =
      pool->style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, pool);
  QTest::mousePress(pool, Qt::LeftButton, {}, handle.center());
  for (int x = handle.center().x(); x > handle.center().x() - 120; x -= 6) {
    QTest::mouseMove(pool, QPoint(x, middle.y()));
    QTest::qWait(1);
  }
  QTest::mouseRelease(pool, Qt::LeftButton, {}, QPoint(handle.center().x() - 120, middle.y()));
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_GT(static_cast<int>(window->result()->generation), pictures_before);
  EXPECT_LT(window->result()->run.capacity_bytes, std::int64_t{48} << 30);
  EXPECT_EQ(window->result()->run.capacity_bytes, window->document().scenario().pool.bytes);
  EXPECT_EQ(window->document().undo_stack().count(), 1) << "a drag is one step";
}

TEST(GuiWindow, AMovementIsDrawnInFewerColumnsUntilTheHandRests) {
  const auto window = make_window();
  const std::size_t fine = window->timeline()->data()->bins().size();
  QSlider* const load = window->sliders()->slider(SliderKind::kLoad);
  const ResultPtr before = window->result();
  QTest::keyClick(load, Qt::Key_Right);
  ASSERT_TRUE(wait_for([&] { return window->result() != before; }));
  const ResultPtr moved = window->result();
  EXPECT_LE(moved->timeline->bins().size(), 2048U);
  EXPECT_FALSE(window->timeline()->stale()) << "it is the scenario's picture already";
  EXPECT_FALSE(window->settled());
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_GT(window->result()->timeline->bins().size(), fine / 2 - 1);
  EXPECT_GT(window->result()->timeline->bins().size(), 2048U);
  EXPECT_EQ(window->result()->run.makespan, moved->run.makespan);
  // At close zoom, all columns are computed at once, so the view does not change later.
  window->timeline()->zoom(500, window->timeline()->data()->whole().length() / 2);
  const double part = static_cast<double>(window->timeline()->range().length()) /
                      static_cast<double>(window->timeline()->data()->whole().length());
  const ResultPtr wide = window->result();
  QTest::keyClick(load, Qt::Key_Left);
  ASSERT_TRUE(wait_for([&] { return window->result() != wide; }));
  EXPECT_GT(window->result()->timeline->bins().size(), 2048U);
  EXPECT_NEAR(static_cast<double>(window->timeline()->range().length()) /
                  static_cast<double>(window->timeline()->data()->whole().length()),
              part, part * 0.01);
  ASSERT_TRUE(wait_settled(*window));
}

TEST(GuiWindow, ShowsTheNumbersOfTheCommandLine) {
  const auto window = make_window();
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("3000"));
  window->edit(QStringLiteral("workload.rate_scale"), QStringLiteral("4"));
  ASSERT_TRUE(wait_settled(*window));
  const auto run = runs::run_scenario(scenario_of({"memory.pool_blocks=3000", "workload.rate_scale=4"}),
                                      micro_trace()->trace, {});
  QString expected;
  for (const HeadlineRow& row : headline(run.value()))
    expected += row.name + QLatin1Char('\t') + row.value + QLatin1Char('\n');
  EXPECT_EQ(window->numbers()->text(), expected);
  EXPECT_GT(run.value().preemptions, 0) << "the case is one where something happens";
}

TEST(GuiWindow, DropOfAGoodAndABadFile) {
  const auto window = make_window(false);
  EXPECT_EQ(window->result(), nullptr);
  drop(*window, to_qstring(kMicroTrace));
  ASSERT_TRUE(wait_for([&] { return window->result() != nullptr && window->settled(); }));
  EXPECT_TRUE(window->messages()->text().isEmpty());
  const ResultPtr shown = window->result();
  drop(*window, QStringLiteral(KVPLAN_SOURCE_DIR "/README.md"));
  ASSERT_TRUE(wait_for([&] { return !window->messages()->text().isEmpty(); }));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("README.md")));
  EXPECT_EQ(window->result(), shown) << "the old picture stays";
  EXPECT_TRUE(window->settled());
  QMimeData text;
  text.setText(QStringLiteral("no file"));
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
  enter.ignore();
  QCoreApplication::sendEvent(window.get(), &enter);
  EXPECT_FALSE(enter.isAccepted());
}

TEST(GuiWindow, AWrongValueIsSaidAndChangesNothing) {
  const auto window = make_window();
  const ResultPtr shown = window->result();
  window->edit(QStringLiteral("fleet.replicas"), QStringLiteral("many"));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("fleet.replicas")));
  EXPECT_EQ(window->result(), shown);
  // An error that only the run finds: a pool that is too small.
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("1"));
  ASSERT_TRUE(wait_for([&] { return !window->worker().busy(); }));
  EXPECT_FALSE(window->messages()->text().isEmpty());
  EXPECT_EQ(window->result(), shown) << "the old picture stays, greyed";
  EXPECT_FALSE(window->settled());
  trigger(*window, "undo");
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_TRUE(window->messages()->text().isEmpty());
}

TEST(GuiWindow, CopyAsCommandAndCopyPicture) {
  const auto window = make_window();
  window->edit(QStringLiteral("engine.max_seqs"), QStringLiteral("9"));
  trigger(*window, "copy-command");
  const QString command = QApplication::clipboard()->text();
  EXPECT_EQ(command, QStringLiteral("kvplan run ") + to_qstring(kMicroTrace) +
                         QStringLiteral(" --set engine=vllm-v1:max_seqs=9"));
  trigger(*window, "copy");
  EXPECT_TRUE(QApplication::clipboard()->mimeData()->hasImage());
}

TEST(GuiWindow, TheTableHasWhatTheChartShows) {
  const auto window = make_window();
  trigger(*window, "show-table");
  auto* table = window->findChild<QTableView*>(QStringLiteral("view-table"));
  ASSERT_TRUE(table->isVisible());
  EXPECT_FALSE(window->timeline()->isVisible());
  EXPECT_EQ(table->model()->rowCount(), static_cast<int>(window->timeline()->data()->bins().size()));
  EXPECT_EQ(table->model()->headerData(3, Qt::Horizontal).toString(), QStringLiteral("live"));
  EXPECT_FALSE(table->model()->index(5, 3).data().toString().isEmpty());
}

TEST(GuiWindow, ThemesRepaint) {
  const auto window = make_window();
  const QRgb light = window->grab().toImage().pixel(3, 300);
  trigger(*window, "theme-dark");
  QApplication::processEvents();
  const QRgb dark = window->grab().toImage().pixel(3, 300);
  EXPECT_GT(qGray(light), 180);
  EXPECT_LT(qGray(dark), 80);
  trigger(*window, "theme-light");
}

TEST(GuiWindow, EverythingThatTakesTheFocusHasAName) {
  const auto window = make_window();
  int found = 0;
  for (QWidget* widget : window->findChildren<QWidget*>()) {
    if (!widget->isVisible() || (widget->focusPolicy() & Qt::TabFocus) == 0) continue;
    if (widget->objectName().startsWith(QStringLiteral("qt_"))) continue;  // parts of Qt's own widgets
    ++found;
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(widget);
    ASSERT_NE(interface, nullptr);
    EXPECT_FALSE(interface->text(QAccessible::Name).isEmpty())
        << widget->metaObject()->className() << " " << to_utf8(widget->objectName());
  }
  EXPECT_GE(found, 5);
}

TEST(GuiWindow, RemembersItsLayout) {
  {
    const auto window = make_window(false);
    window->resize(1111, 777);
    window->close();
  }
  MainWindow again;
  again.restore_layout();
  EXPECT_EQ(again.size(), QSize(1111, 777));
}

TEST(GuiForm, HasARowForEveryFieldAndParameter) {
  const auto window = make_window(false);
  for (const runs::Field& field : runs::scenario_fields()) {
    ASSERT_NE(window->form()->editor(to_qstring(field.path)), nullptr) << field.path;
    if (field.kind != runs::FieldKind::kComponent) continue;
    for (const Descriptor* descriptor : runs::family_descriptors(field.family)) {
      window->edit(to_qstring(field.path), to_qstring(descriptor->name));
      if (!window->messages()->text().isEmpty()) {  // a policy that a run refuses, with a message
        window->messages()->clear();
        continue;
      }
      for (const Param& param : descriptor->params)
        EXPECT_NE(window->form()->editor(to_qstring(std::string(field.path) + "." + std::string(param.name))),
                  nullptr)
            << descriptor->name << " " << param.name;
    }
  }
}

TEST(GuiForm, ListsHaveWhatTheScenarioNames) {
  const auto window = make_window(false);
  auto* model = qobject_cast<QComboBox*>(window->form()->editor(QStringLiteral("model")));
  ASSERT_NE(model, nullptr);
  EXPECT_GE(model->findText(QStringLiteral("recording")), 0);
  for (const runs::Field& field : runs::scenario_fields()) {
    auto* list = qobject_cast<QComboBox*>(window->form()->editor(to_qstring(field.path)));
    if (list == nullptr) continue;
    const std::string text = window->document().scenario().text(field.path);
    EXPECT_EQ(to_utf8(list->currentText()), text.substr(0, text.find(':'))) << field.path;
  }
}

TEST(GuiForm, TypingSimulatesAgainAndWhatIsWrongStaysToBeMended) {
  const auto window = make_window();
  auto* seqs = qobject_cast<QLineEdit*>(window->form()->editor(QStringLiteral("engine.max_seqs")));
  ASSERT_NE(seqs, nullptr);
  EXPECT_EQ(seqs->text(), QStringLiteral("256"));
  const auto type = [&](const char* text) {
    seqs->setFocus();
    seqs->selectAll();
    QTest::keyClicks(seqs, QString::fromLatin1(text));
    QTest::keyClick(seqs, Qt::Key_Return);
  };
  type("1");
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_EQ(window->result()->run.max_running, 1);
  type("0");
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("max_seqs")))
      << to_utf8(window->messages()->text());
  EXPECT_EQ(seqs->text(), QStringLiteral("0"));
  EXPECT_EQ(window->document().scenario().engine.integer("max_seqs"), 1);
  type("2");
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_TRUE(window->messages()->text().isEmpty());
  EXPECT_EQ(window->result()->run.max_running, 2);
  auto* allocator = qobject_cast<QComboBox*>(window->form()->editor(QStringLiteral("memory.allocator")));
  ASSERT_NE(allocator, nullptr);
  allocator->setFocus();
  QTest::keyClick(allocator, Qt::Key_Up);
  QTest::keyClick(allocator, Qt::Key_Down);
  ASSERT_TRUE(wait_settled(*window));
}

/// Time from a slider's step to its picture, in processor time of both threads. It is printed, never judged.
TEST(GuiWindow, PrintsWhatAStepOfASliderCosts) {
  const char* shared = std::getenv("KVPLAN_SHARED");
  const QString folder =
      shared != nullptr ? QString::fromUtf8(shared) : QStringLiteral(KVPLAN_SOURCE_DIR "/../shared");
  const QString trace = folder + QStringLiteral("/traces/azure_llm_2023_conv.csv");
  if (!QFile::exists(trace)) GTEST_SKIP() << "no shared traces beside the source tree";
  const auto window = make_window(false);
  window->open({trace});
  ASSERT_TRUE(wait_for([&] { return window->result() != nullptr && window->settled(); }));
  const auto thread_ms = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
  };
  for (const SliderKind kind : {SliderKind::kLoad, SliderKind::kPool, SliderKind::kBlock}) {
    const ResultPtr before = window->result();
    QSlider* const slider = window->sliders()->slider(kind);
    const double begin = thread_ms();
    QTest::keyClick(slider, Qt::Key_Left);
    const double asked = thread_ms();
    ASSERT_TRUE(wait_for([&] { return window->result() != before; }));
    const double arrived = thread_ms();
    window->timeline()->repaint();
    const double painted = thread_ms();
    const ResultPtr moved = window->result();
    std::printf(
        "slider %s: %.1f ms of processor time: simulation %.1f, columns %.1f, request %.1f, "
        "waiting and showing %.1f, picture %.1f\n",
        to_utf8(slider->accessibleName()).c_str(), moved->cpu_seconds * 1e3 + painted - begin,
        moved->run_cpu_seconds * 1e3, (moved->cpu_seconds - moved->run_cpu_seconds) * 1e3, asked - begin,
        arrived - asked, painted - arrived);
    ASSERT_TRUE(wait_settled(*window));  // the run with all columns is not counted
  }
}

}  // namespace
}  // namespace kvplan::gui
