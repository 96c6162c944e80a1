// Views of files: sweeps, plans and validations, against what the commands print.
#include <gtest/gtest.h>

#include <QFile>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>

#include "gui/view/message_bar.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/plan/plan_view.h"
#include "gui/views/sweep/scatter.h"
#include "gui/views/sweep/sweep_view.h"
#include "gui/views/validation/validation_view.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

const QString kKvplan = QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan");

class GuiDocuments : public testing::Test {
 protected:
  QString write(const char* name, const QByteArray& text) const {
    const QString path = folder.filePath(QString::fromLatin1(name));
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
    return path;
  }
  /// A window in which the file is open.
  static std::unique_ptr<MainWindow> window_of(const QString& path) {
    auto window = make_window(false);
    bool shown = false;
    QObject::connect(window.get(), &MainWindow::result_shown, window.get(), [&] { shown = true; });
    window->open({path});
    EXPECT_TRUE(wait_for([&] { return shown || !window->messages()->text().isEmpty(); }));
    return window;
  }
  QTemporaryDir folder;
};

TEST_F(GuiDocuments, ASweepHasTheFrontAndTheTableOfTheCommand) {
  const QString database = folder.filePath(QStringLiteral("sweep.db"));
  const Ended swept = run_program(
      kKvplan, {QStringLiteral("sweep"), to_qstring(kMicroTrace), QStringLiteral("--vary"),
                QStringLiteral("memory.pool_blocks=2500;3000;4000;6000"), QStringLiteral("--vary"),
                QStringLiteral("engine.max_seqs=8;64"), QStringLiteral("--set"),
                QStringLiteral("workload.limit=400"), QStringLiteral("--out"), database});
  ASSERT_EQ(swept.code, 0) << to_utf8(swept.err);
  const auto window = window_of(database);
  ASSERT_EQ(window->current_view_id(), QStringLiteral("sweep"));
  auto* view = qobject_cast<SweepView*>(window->current_view());
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->table()->rowCount(), 8);
  const QString csv = folder.filePath(QStringLiteral("sweep.csv"));
  ASSERT_EQ(run_program(kKvplan, {QStringLiteral("report"), database, QStringLiteral("--csv"), csv}).code, 0);
  QFile file(csv);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(view->csv(), QString::fromUtf8(file.readAll()));

  ASSERT_TRUE(view->set_axes(QStringLiteral("memory.pool_blocks"), QStringLiteral("makespan_s")));
  EXPECT_FALSE(view->set_axes(QStringLiteral("memory.pool_blocks"), QStringLiteral("beauty")));
  const QString front = folder.filePath(QStringLiteral("front.csv"));
  const Ended reported = run_program(kKvplan, {QStringLiteral("report"), database, QStringLiteral("--pareto"),
                                               QStringLiteral("memory.pool_blocks:lower,makespan_s:lower"),
                                               QStringLiteral("--pareto-csv"), front});
  ASSERT_EQ(reported.code, 0) << to_utf8(reported.err);
  QFile front_file(front);
  ASSERT_TRUE(front_file.open(QIODevice::ReadOnly));
  QStringList expected, shown;
  for (const QString& line :
       QString::fromUtf8(front_file.readAll()).split(QLatin1Char('\n'), Qt::SkipEmptyParts))
    expected << line.section(QLatin1Char(','), 0, 0);
  expected.removeFirst();  // the names of the columns
  for (const std::size_t row : view->scatter().front()) shown << QString::number(row);
  EXPECT_EQ(shown, expected);
  EXPECT_TRUE(view->command().contains(QStringLiteral("--pareto memory.pool_blocks:lower,makespan_s:lower")));

  view->set_filter(QStringLiteral("memory.pool_blocks>=4000"));
  EXPECT_EQ(view->table()->rowCount(), 4);
  view->set_filter({});
  // A point is clicked, and opens as a scenario.
  Scatter& scatter = view->scatter();
  const ScatterPoint point = scatter.points().back();
  QTest::mouseClick(&scatter, Qt::LeftButton, {}, scatter.place_of(point, scatter.size()).toPoint());
  EXPECT_TRUE(view->value_text().contains(QStringLiteral("Chosen"))) << to_utf8(view->value_text());
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("sweep-open")), Qt::LeftButton);
  ASSERT_TRUE(wait_for([&] { return window->result() != nullptr && window->settled(); }))
      << to_utf8(window->messages()->text());
  EXPECT_EQ(window->current_view_id(), QStringLiteral("timeline"));
  EXPECT_EQ(window->document().scenario().text("memory.pool_blocks"), "6000");
  EXPECT_EQ(window->result()->run.arrived, 400);
}

TEST_F(GuiDocuments, ABrushKeepsItsCases) {
  const QString database = folder.filePath(QStringLiteral("sweep.db"));
  ASSERT_EQ(
      run_program(kKvplan, {QStringLiteral("sweep"), to_qstring(kMicroTrace), QStringLiteral("--vary"),
                            QStringLiteral("memory.pool_blocks=2500;3000;4000;6000"), QStringLiteral("--set"),
                            QStringLiteral("workload.limit=200"), QStringLiteral("--out"), database})
          .code,
      0);
  const auto window = window_of(database);
  auto* view = qobject_cast<SweepView*>(window->current_view());
  ASSERT_NE(view, nullptr);
  Scatter& scatter = view->scatter();
  ASSERT_TRUE(view->set_axes(QStringLiteral("memory.pool_blocks"), QStringLiteral("makespan_s")));
  const QPoint at = scatter.place_of(scatter.points().back(), scatter.size()).toPoint();
  QTest::mousePress(&scatter, Qt::LeftButton, {}, at - QPoint(15, 15));
  QTest::mouseMove(&scatter, at + QPoint(15, 15));
  QTest::mouseRelease(&scatter, Qt::LeftButton, {}, at + QPoint(15, 15));
  EXPECT_EQ(view->table()->rowCount(), 1);
  QTest::keyClick(&scatter, Qt::Key_Escape);
  EXPECT_EQ(view->table()->rowCount(), 4);
}

TEST_F(GuiDocuments, AValidationShowsWhatItHas) {
  const QString path = write("validation.json", R"({"events": 5, "quantities": [
    {"name": "bytes", "predicted": 1024, "measured": 1024, "unit": "bytes"},
    {"name": "decode attention", "predicted": 100.5, "measured": 134, "unit": "us"},
    {"name": "output error", "predicted": null, "measured": 0.25, "unit": ""}],
    "verdict": "equal", "device": "NVIDIA H100"})");
  const auto window = window_of(path);
  ASSERT_EQ(window->current_view_id(), QStringLiteral("validation")) << to_utf8(window->messages()->text());
  View& view = *window->current_view();
  EXPECT_EQ(view.table()->rowCount(), 3);
  EXPECT_EQ(view.csv(),
            QStringLiteral("name,unit,predicted,measured,ratio\nbytes,bytes,1024,1024,1\n"
                           "decode attention,us,100.5,134,1.3333333333333333\noutput error,,,0.25,\n"));
  EXPECT_TRUE(view.value_text().contains(QStringLiteral("H100")));
  EXPECT_TRUE(view.value_text().contains(QStringLiteral("decode attention, measured 1.33")))
      << to_utf8(view.value_text());
  EXPECT_FALSE(view.grab().isNull());
}

/// Editors of some systems write a byte-order mark.
TEST_F(GuiDocuments, AByteOrderMarkIsSkipped) {
  const QString path = write("marked.json",
                             "\xEF\xBB\xBF"
                             R"({"quantities": [{"name": "a", "predicted": 1, "measured": 2}]})");
  const auto window = window_of(path);
  ASSERT_EQ(window->current_view_id(), QStringLiteral("validation")) << to_utf8(window->messages()->text());
  EXPECT_EQ(window->current_view()->table()->rowCount(), 1);
}

TEST_F(GuiDocuments, APlanShowsWhatWasTriedAndOpensItsDeployments) {
  const QByteArray option = R"({"name": "NAME", "scenario": {"workload": {"trace": "TRACE"},
    "memory": {"pool_blocks": 3000}}, "gpus": 2, "cost_per_hour": 4.5, "meets": true, "met_fraction": 0.995,
    "targets": [{"name": "ttft_s.p99", "limit": 2, "value": 1.25, "margin": 0.375, "holds": true}],
    "preemptions": 3})";
  const auto named = [&](const char* name) {
    return QByteArray(option).replace("NAME", name).replace("TRACE", QByteArray::fromStdString(kMicroTrace));
  };
  const QString path =
      write("plan.json",
            "{\"version\": \"0\", \"trace\": \"t\", \"model\": \"m\", \"currency\": \"USD\", \"best\": " +
                named("2 h100: tp=2") + ", \"fewer\": null, \"runners_up\": [" + named("4 a100") +
                "], \"binding\": [{\"what\": \"KV memory\", \"share\": 0.5}],"
                "\"headroom\": {\"rate_scale\": 1.25}, \"baselines\": [], \"path\": ["
                "{\"case\": \"2 h100: tp=2\", \"number\": 0, \"why\": \"cheapest that fits\","
                "\"outcome\": \"meets\"}, {\"case\": \"1 h100\", \"number\": 1, \"why\": \"half\","
                "\"outcome\": \"misses ttft\"}]}");
  const auto window = window_of(path);
  ASSERT_EQ(window->current_view_id(), QStringLiteral("plan")) << to_utf8(window->messages()->text());
  View& view = *window->current_view();
  EXPECT_EQ(view.table()->rowCount(), 2);
  EXPECT_TRUE(view.value_text().contains(QStringLiteral("2 h100: tp=2")));
  EXPECT_TRUE(view.value_text().contains(QStringLiteral("KV memory")));
  EXPECT_TRUE(view.csv().contains(QStringLiteral("half,misses ttft")));
  EXPECT_FALSE(view.grab().isNull());
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("plan-open")), Qt::LeftButton);
  ASSERT_TRUE(wait_for([&] { return window->result() != nullptr && window->settled(); }))
      << to_utf8(window->messages()->text());
  EXPECT_EQ(window->document().scenario().text("memory.pool_blocks"), "3000");
}

TEST_F(GuiDocuments, DamagedFilesAreRefusedWithOneLine) {
  for (const QString& path : {write("broken.db", QByteArray("SQLite format 3\0and then nothing", 33)),
                              write("broken.json", R"({"quantities": [{"predicted": 1}]})")}) {
    const auto window = window_of(path);
    EXPECT_FALSE(window->messages()->text().isEmpty()) << to_utf8(path);
    EXPECT_EQ(window->messages()->text().count(QLatin1Char('\n')), 0) << to_utf8(window->messages()->text());
    EXPECT_EQ(window->current_view_id(), QStringLiteral("timeline"));
  }
}

}  // namespace
}  // namespace kvplan::gui
