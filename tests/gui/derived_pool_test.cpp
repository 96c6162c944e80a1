// A derived pool on its slider: known from device and model before any run, except if the model is in a file.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <algorithm>

#include "gui/view/scenario_panel.h"
#include "gui/view/slider_panel.h"
#include "gui/viewmodel/formatting.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

bool wait_settled(const MainWindow& window) {
  return wait_for([&] { return window.settled(); });
}

/// The text beside the slider of the pool.
bool beside_sliders(const MainWindow& window, const QString& part) {
  const auto labels = window.sliders()->findChildren<QLabel*>();
  return std::any_of(labels.begin(), labels.end(),
                     [&](const QLabel* label) { return label->text().contains(part); });
}

TEST(GuiSliders, ADerivedPoolIsThatOfTheDeviceBeforeItRan) {
  const auto window = make_window();
  const QSlider* const pool = window->sliders()->slider(SliderKind::kPool);
  const auto choose = [&](const char* device) {  // like a user; no run starts before this returns
    auto* list = qobject_cast<QComboBox*>(window->form()->editor(QStringLiteral("deployment.device")));
    ASSERT_NE(list, nullptr);
    list->setCurrentIndex(list->findText(QString::fromLatin1(device)));
    Q_EMIT list->activated(list->currentIndex());
  };
  choose("h100-sxm");
  EXPECT_FALSE(window->settled());
  EXPECT_TRUE(beside_sliders(*window, QStringLiteral("h100-sxm")));
  const int before = pool->value();
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_EQ(pool->value(), before) << "the run has the pool that was shown";
  EXPECT_EQ(derived_pool_bytes(window->document().scenario(), nullptr),
            window->result()->run.replicas.front().pool.capacity_bytes);
  choose("l40s");
  EXPECT_FALSE(window->settled());
  EXPECT_LT(pool->value(), before) << "48 GB are less than 80";
  EXPECT_TRUE(beside_sliders(*window, QStringLiteral("l40s")));
  EXPECT_FALSE(beside_sliders(*window, QStringLiteral("h100-sxm")));
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_EQ(derived_pool_bytes(window->document().scenario(), nullptr),
            window->result()->run.replicas.front().pool.capacity_bytes);
}

TEST(GuiSliders, ADerivedPoolOfAModelInAFileIsNotKnownBeforeItRan) {
  const auto window = make_window();
  const QSlider* const pool = window->sliders()->slider(SliderKind::kPool);
  window->edit(QStringLiteral("model"),
               QStringLiteral(KVPLAN_SOURCE_DIR "/simulator/model/data/llama-3-8b.json"));
  window->edit(QStringLiteral("deployment.device"), QStringLiteral("h100-sxm"));
  EXPECT_FALSE(pool->isEnabled());
  EXPECT_TRUE(beside_sliders(*window, QStringLiteral("from h100-sxm")));
  EXPECT_TRUE(pool->toolTip().contains(QStringLiteral("known after a first run")))
      << to_utf8(pool->toolTip());
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_TRUE(pool->isEnabled());
  EXPECT_TRUE(beside_sliders(*window, QStringLiteral("GiB, h100-sxm")));
  // Another load has the same pool; another device has a different one.
  window->edit(QStringLiteral("workload.rate_scale"), QStringLiteral("2"));
  EXPECT_TRUE(pool->isEnabled());
  window->edit(QStringLiteral("deployment.device"), QStringLiteral("l40s"));
  EXPECT_FALSE(pool->isEnabled());
  EXPECT_TRUE(beside_sliders(*window, QStringLiteral("from l40s")));
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_TRUE(pool->isEnabled());
}

}  // namespace
}  // namespace kvplan::gui
