// The chart, tested by pixels, keys, wheel and mouse.
#include "gui/views/timeline/timeline_view.h"

#include <gtest/gtest.h>

#include <QAccessible>
#include <QMimeData>
#include <QWheelEvent>

#include "gui/viewmodel/colours.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/timeline/timeline_raster.h"
#include "simulator/report/palette.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

/// A chart of known data, 900 x 500.
class GuiTimelineView : public testing::Test {
 protected:
  GuiTimelineView() {
    runs::RunOptions options;
    options.timeline_bins = 2000;
    const auto run =
        runs::run_scenario(scenario_of({"memory.pool_blocks=3000"}), micro_trace()->trace, options);
    view.resize(900, 500);
    view.set_data(TimelineData::from(run.value()));
    view.show();
    view.setFocus();
  }
  QImage picture() { return view.grab().toImage(); }
  void wheel(QPointF at, int delta, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWheelEvent event(at, view.mapToGlobal(at), {}, {0, delta}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QCoreApplication::sendEvent(&view, &event);
  }
  TimelineView view;
};

TEST_F(GuiTimelineView, EveryPixelHasTheColourOfItsState) {
  view.clearFocus();
  const QImage image = picture();
  const QRect plot = view.plot_rect();
  const qreal scale = image.devicePixelRatio();
  const int width = static_cast<int>(plot.width() * scale);
  const int height = static_cast<int>(plot.height() * scale);
  const auto columns = view.data()->columns(view.range(), width);
  std::array<int, observe::kStates> seen{};
  for (int x = 1; x < width; x += 7) {
    const auto edges = layer_edges(columns[static_cast<std::size_t>(x)], height);
    EXPECT_EQ(edges.back(), height);
    int bottom = 0;
    for (std::size_t layer = 0; layer < observe::kStates; ++layer) {
      const observe::State state = report::kStackOrder[layer];
      const std::size_t s = observe::index(state);
      const int middle = (bottom + edges[layer]) / 2;
      if (edges[layer] - bottom > 8) {
        ++seen[s];
        const QRgb pixel = image.pixel(static_cast<int>(plot.left() * scale) + x,
                                       static_cast<int>(plot.top() * scale) + height - 1 - middle);
        EXPECT_TRUE(pixel == state_colour(state, view.palette()).rgb() ||
                    (state_hatched(state) && pixel == hatch_colour(state, view.palette()).rgb()))
            << observe::kStateNames[s] << " at column " << x << ": " << std::hex << pixel;
      }
      EXPECT_GE(edges[layer], bottom);
      bottom = edges[layer];
    }
  }
  EXPECT_GT(seen[observe::index(observe::State::kLive)], 20);
  EXPECT_GT(seen[observe::index(observe::State::kCached)], 20);
}

TEST_F(GuiTimelineView, TheWheelKeepsTheTimeUnderThePointer) {
  for (const double part : {0.1, 0.5, 0.83}) {
    view.show_all();
    const QPointF at(view.plot_rect().left() + part * view.plot_rect().width(),
                     view.plot_rect().center().y());
    const std::int64_t before = view.tick_at(at.x());
    for (int i = 0; i < 6; ++i) wheel(at, 120);
    EXPECT_LT(view.range().length(), view.data()->whole().length() / 3);
    const double pixel = static_cast<double>(view.range().length()) / view.plot_rect().width();
    EXPECT_NEAR(static_cast<double>(view.tick_at(at.x())), static_cast<double>(before), pixel);
  }
  for (int i = 0; i < 30; ++i) wheel(QPointF(view.plot_rect().center()), -120);
  EXPECT_EQ(view.range(), view.data()->whole()) << "zooming out ends at everything";
}

TEST_F(GuiTimelineView, KeysZoomPanMoveAndMark) {
  QTest::keyClick(&view, Qt::Key_W);
  QTest::keyClick(&view, Qt::Key_W);
  const TimeRange zoomed = view.range();
  EXPECT_LT(zoomed.length(), view.data()->whole().length());
  QTest::keyClick(&view, Qt::Key_A);
  EXPECT_LT(view.range().begin, zoomed.begin);
  QTest::keyClick(&view, Qt::Key_D);
  EXPECT_EQ(view.range(), zoomed);
  QTest::keyClick(&view, Qt::Key_Right);
  ASSERT_TRUE(view.cursor_tick());
  const std::int64_t first = *view.cursor_tick();
  for (int i = 0; i < 5; ++i) QTest::keyClick(&view, Qt::Key_Right, Qt::ShiftModifier);
  ASSERT_TRUE(view.marked());
  EXPECT_EQ(view.marked()->begin, first);
  EXPECT_EQ(view.marked()->end, *view.cursor_tick());
  QTest::keyClick(&view, Qt::Key_F);
  EXPECT_EQ(view.range(), *view.marked());
  QTest::keyClick(&view, Qt::Key_Escape);
  EXPECT_FALSE(view.cursor_tick());
  EXPECT_FALSE(view.marked());
  QTest::keyClick(&view, Qt::Key_S);
  QTest::keyClick(&view, Qt::Key_Home);
  EXPECT_EQ(view.range(), view.data()->whole());
}

TEST_F(GuiTimelineView, DraggingMovesTheView) {
  view.zoom(8, view.data()->whole().length() / 2);
  const TimeRange before = view.range();
  const QPoint from = view.plot_rect().center();
  QTest::mousePress(&view, Qt::LeftButton, {}, from);
  QTest::mouseMove(&view, from - QPoint(100, 0));
  QTest::mouseRelease(&view, Qt::LeftButton, {}, from - QPoint(100, 0));
  EXPECT_GT(view.range().begin, before.begin);
  EXPECT_EQ(view.range().length(), before.length());
}

TEST_F(GuiTimelineView, TheCursorIsReadable) {
  view.set_cursor(view.data()->whole().length() / 2);
  QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(&view);
  ASSERT_NE(interface, nullptr);
  EXPECT_EQ(interface->role(), QAccessible::Chart);
  const QString value = interface->text(QAccessible::Value);
  EXPECT_TRUE(value.contains(QStringLiteral("live"))) << to_utf8(value);
  ASSERT_NE(interface->valueInterface(), nullptr);
  EXPECT_EQ(interface->valueInterface()->currentValue().toString(), value);
  view.set_cursor(0);
  EXPECT_NE(interface->text(QAccessible::Value), value);
}

TEST_F(GuiTimelineView, CopiesPictureAndTable) {
  view.zoom(10, view.data()->whole().length() / 2);
  const auto copied = view.copied();
  EXPECT_TRUE(copied->hasImage());
  const QStringList lines = copied->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  EXPECT_GT(lines.size(), 100);
  EXPECT_LT(lines.size(), 400);
  EXPECT_EQ(lines[0].count(QLatin1Char('\t')), lines[1].count(QLatin1Char('\t')));
  EXPECT_TRUE(lines[0].contains(QStringLiteral("live_bytes")));
}

TEST_F(GuiTimelineView, AnotherPaletteRepaints) {
  const QImage light = picture();
  QPalette palette = view.palette();
  palette.setColor(QPalette::Base, Qt::black);
  palette.setColor(QPalette::Window, Qt::black);
  palette.setColor(QPalette::WindowText, Qt::white);
  view.setPalette(palette);
  const QImage dark = picture();
  EXPECT_EQ(dark.pixel(2, dark.height() - 4), QColor(Qt::black).rgb());
  EXPECT_NE(light, dark);
}

TEST(GuiTimelineViewEmpty, SurvivesEverythingWithoutData) {
  TimelineView view;
  view.resize(900, 500);
  view.show();
  for (const int key : {Qt::Key_W, Qt::Key_A, Qt::Key_Left, Qt::Key_Home, Qt::Key_F, Qt::Key_Escape})
    QTest::keyClick(&view, static_cast<Qt::Key>(key));
  QTest::mouseClick(&view, Qt::LeftButton, {}, QPoint(300, 200));
  EXPECT_FALSE(view.grab().isNull());
  EXPECT_FALSE(view.copied()->hasImage());
  EXPECT_EQ(view.value_text(), QStringLiteral("No data"));
}

}  // namespace
}  // namespace kvplan::gui
