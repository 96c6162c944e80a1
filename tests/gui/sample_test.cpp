// The empty window offers the bundled sample; names and icon by which desktops know the program.
#include <gtest/gtest.h>

#include <QAction>
#include <QDir>
#include <QFile>
#include <QImage>
#include <QPushButton>
#include <QTemporaryDir>
#include <set>

#include "gui/view/icon.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/sample.h"
#include "gui/views/timeline/timeline_view.h"
#include "simulator/report/palette.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

bool put(const QString& path) {
  QFile file(path);
  return QDir().mkpath(QFileInfo(path).path()) && file.open(QIODevice::WriteOnly) && file.write("x") == 1;
}

TEST(GuiSample, TheEmptyWindowOffersItAndOpensIt) {
  const auto window = make_window(false);
  auto* const offer = window->findChild<QPushButton*>(QStringLiteral("offer"));
  ASSERT_NE(offer, nullptr);
  EXPECT_TRUE(offer->isVisible());
  EXPECT_EQ(offer->text(), QStringLiteral("Open the Sample"));
  EXPECT_GT(offer->mapTo(window->timeline(), QPoint(0, 0)).y(), window->timeline()->height() / 2 + 64)
      << "beneath the words of the empty window";
  QTest::mouseClick(offer, Qt::LeftButton);
  ASSERT_TRUE(wait_for([&] { return window->result() != nullptr && window->settled(); }));
  EXPECT_EQ(window->result()->run.arrived, 1500);
  EXPECT_EQ(window->windowTitle(), QStringLiteral("chat.kvt[*] – kvplan"));
  EXPECT_FALSE(offer->isVisible());
  EXPECT_TRUE(window->command().contains(QStringLiteral("/traces/samples/chat.kvt")))
      << "a path that is there";
}

TEST(GuiSample, TheFileMenuOpensItInPlaceOfWhatIsOpen) {
  const auto window = make_window();
  EXPECT_FALSE(window->findChild<QPushButton*>(QStringLiteral("offer"))->isVisible());
  const ResultPtr before = window->result();
  window->findChild<QAction*>(QStringLiteral("open-sample"))->trigger();
  ASSERT_TRUE(wait_for([&] { return window->result() && window->result() != before && window->settled(); }));
  EXPECT_EQ(window->result()->run.arrived, 1500);
}

TEST(GuiSample, IsFoundBesideTheProgramWhereverThatIs) {
  const QTemporaryDir folder;
  const QString root = QDir(folder.path()).canonicalPath();
  for (const char* bin : {"/prefix/bin", "/tree/build/bin"})
    ASSERT_TRUE(QDir().mkpath(root + QLatin1String(bin)));
  EXPECT_EQ(sample_file(root + QStringLiteral("/prefix/bin")), QString());
  const QString installed = root + QStringLiteral("/prefix/share/kvplan/samples/chat.kvt");
  ASSERT_TRUE(put(installed));
  EXPECT_EQ(sample_file(root + QStringLiteral("/prefix/bin")), installed);
  const QString in_tree = root + QStringLiteral("/tree/traces/samples/chat.kvt");
  ASSERT_TRUE(put(in_tree));
  EXPECT_EQ(sample_file(root + QStringLiteral("/tree/build/bin")), in_tree);
}

TEST(GuiIcon, IsDrawnInEverySize) {
  const QIcon icon = program_icon();
  for (const int pixels : {16, 48, 256}) {
    const QImage picture = icon.pixmap(QSize(pixels, pixels), 1.0).toImage();
    ASSERT_EQ(picture.size(), QSize(pixels, pixels));
    EXPECT_EQ(qAlpha(picture.pixel(0, 0)), 0) << "its corners are round";
    std::set<QRgb> colours;
    for (int y = 0; y < pixels; ++y)
      for (int x = 0; x < pixels; ++x) colours.insert(picture.pixel(x, y));
    // Live and cached, in the colours of the ledger.
    for (const auto state : {observe::State::kLive, observe::State::kCached}) {
      const auto& style = report::kStateStyles[static_cast<std::size_t>(state)];
      EXPECT_TRUE(colours.contains(QColor(to_qstring(style.colour)).rgb())) << style.colour << ' ' << pixels;
    }
  }
}

}  // namespace
}  // namespace kvplan::gui
