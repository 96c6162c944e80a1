// What a person meets first: sliders with room and marks, a form of what matters, the answer in words.
#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QToolButton>

#include "gui/view/answer_bar.h"
#include "gui/view/scenario_panel.h"
#include "gui/view/slider_panel.h"
#include "gui/viewmodel/answer_words.h"
#include "gui/viewmodel/formatting.h"
#include "simulator/report/content.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

TEST(GuiFirstSeconds, SlidersHaveRoomOnASmallScreen) {
  const auto window = make_window();
  window->form()->show_all(false);
  window->resize(1280, 800);
  QApplication::processEvents();
  for (std::size_t kind = 0; kind < kSliders; ++kind)
    EXPECT_GE(window->sliders()->slider(static_cast<SliderKind>(kind))->width(), 300) << kSliderNames[kind];
}

TEST(GuiFirstSeconds, ThePoolIsMarkedAtWhatTheDeviceHoldsAndWarnsBeyond) {
  const auto window = make_window();
  window->edit(QStringLiteral("deployment.device"), QStringLiteral("h100-sxm"));
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  MarkedSlider* const pool = window->sliders()->slider(SliderKind::kPool);
  auto* warning = window->findChild<QLabel*>(QStringLiteral("slider-warning"));
  const std::int64_t holds = window->result()->run.capacity_bytes;
  ASSERT_TRUE(pool->limit());
  EXPECT_LT(*pool->limit(), pool->maximum());
  EXPECT_FALSE(warning->isVisible());
  pool->setFocus();
  pool->setValue(*pool->limit() - 1);
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  EXPECT_FALSE(window->document().scenario().derives_pool);
  EXPECT_LE(window->document().scenario().pool.bytes, holds);
  EXPECT_FALSE(warning->isVisible()) << to_utf8(warning->text());
  ASSERT_TRUE(pool->limit()) << "the mark stays where the device's is, whatever the pool";
  const int limit = *pool->limit();
  QTest::keyClick(pool, Qt::Key_Right);
  EXPECT_EQ(pool->value(), limit);
  EXPECT_FALSE(warning->isVisible()) << to_utf8(warning->text());
  QTest::keyClick(pool, Qt::Key_Right);
  EXPECT_GT(window->document().scenario().pool.bytes, holds);
  EXPECT_TRUE(warning->isVisible());
  EXPECT_TRUE(warning->text().contains(QStringLiteral("h100-sxm"))) << to_utf8(warning->text());
  EXPECT_EQ(pool->limit(), limit);
  EXPECT_LT(pool->x_of(limit), pool->x_of(pool->maximum()));
  EXPECT_EQ(pool->grab().toImage().pixelColor(QPoint(pool->x_of(limit), 2) * pool->devicePixelRatioF()),
            QColor(0xD5, 0x5E, 0x00));
}

TEST(GuiFirstSeconds, TheFormShowsWhatMattersAndWhatWasGiven) {
  const auto window = make_window();
  ScenarioPanel* const form = window->form();
  form->show_all(false);
  const auto shown = [&](const char* path) { return form->editor(QString::fromLatin1(path))->isVisible(); };
  for (const char* path : {"model", "deployment.device", "deployment.tp", "memory.pool_bytes", "engine",
                           "eviction", "workload.trace"})
    EXPECT_TRUE(shown(path)) << path;
  for (const char* path : {"seed", "memory.replacement", "engine.max_seqs", "fleet.replicas"})
    EXPECT_FALSE(shown(path)) << path;
  window->edit(QStringLiteral("engine.max_seqs"), QStringLiteral("64"));
  EXPECT_TRUE(shown("engine.max_seqs")) << "it was given";
  auto* search = window->findChild<QLineEdit*>(QStringLiteral("form-search"));
  search->setFocus();
  QTest::keyClicks(search, QStringLiteral("replicas"));
  EXPECT_TRUE(shown("fleet.replicas"));
  EXPECT_FALSE(shown("model"));
  search->clear();
  EXPECT_FALSE(shown("fleet.replicas"));
  QTest::mouseClick(window->findChild<QToolButton*>(QStringLiteral("form-all")), Qt::LeftButton);
  EXPECT_TRUE(shown("seed"));
}

TEST(GuiFirstSeconds, TheAnswerIsThatOfTheCommandAndItsWordsAreDefined) {
  const auto window = make_window();
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("3000"));
  window->edit(QStringLiteral("workload.rate_scale"), QStringLiteral("4"));
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  const AnswerBar& answer = *window->answer();
  EXPECT_TRUE(answer.isVisible());
  EXPECT_EQ(to_utf8(answer.plain()).find(report::verdict_of(window->result()->run).front()), 0U);
  EXPECT_TRUE(answer.plain().contains(to_qstring(report::limits_of(window->result()->run).front())))
      << to_utf8(answer.plain());
  EXPECT_TRUE(answer.text().contains(QStringLiteral("<a href=\"preempted\""))) << to_utf8(answer.text());
  for (const DefinedWord& word : defined_words()) EXPECT_FALSE(AnswerBar::definition(word.word).isEmpty());
  EXPECT_FALSE(answer.plain().contains(QStringLiteral("<a")));
}

}  // namespace
}  // namespace kvplan::gui
