// The tables "What fits" and "Cost": rows computed by hand, and the window's rows compared with figures and reports.
#include <gtest/gtest.h>

#include <QAction>
#include <QDockWidget>
#include <QLineEdit>
#include <QProcess>
#include <QTemporaryDir>

#include "gui/view/headline_panel.h"
#include "gui/view/message_bar.h"
#include "gui/view/scenario_panel.h"
#include "gui/viewmodel/fit_rows.h"
#include "gui/viewmodel/formatting.h"
#include "simulator/report/number_text.h"
#include "simulator/results/figures.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

const std::string kPrices = KVPLAN_SOURCE_DIR "/simulator/examples/prices.json";

bool wait_settled(const MainWindow& window) {
  return wait_for([&] { return window.settled(); });
}

/// The value for a name; empty if there is no such row.
QString value_of(const MainWindow& window, const QString& name) {
  for (const QString& row : window.fits()->text().split(QLatin1Char('\n')))
    if (row.startsWith(name + QLatin1Char('\t'))) return row.mid(name.size() + 1);
  return {};
}

double figure(const runs::RunSummary& run, std::string_view name) {
  for (const runs::Figure& each : runs::figures()) {
    if (each.name != name) continue;
    const runs::FigureValue value = each.value(run);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
  }
  ADD_FAILURE() << name << " is no number";
  return 0;
}

std::vector<std::pair<std::string, std::string>> texts(const std::vector<HeadlineRow>& rows) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const HeadlineRow& row : rows) {
    EXPECT_FALSE(row.explanation.isEmpty());
    const auto plain = [](QString text) { return to_utf8(text.replace(QChar(0x00A0), QLatin1Char(' '))); };
    out.emplace_back(plain(row.name), plain(row.value));
  }
  return out;
}

TEST(GuiFits, RowsSayWhatHoldsWhatItNeedsAndWhatItHas) {
  using Rows = std::vector<std::pair<std::string, std::string>>;
  runs::RunResult run;
  run.scenario = scenario_of({});
  EXPECT_EQ(texts(fit_rows(run)), (Rows{{"No rejections or preemptions", "–"}}))
      << "nothing arrived, nothing is asked for";
  run.unhindered = false;
  run.starts = false;
  run.obstacles = {
      {model::kStartMemory, std::int64_t{3} << 30, std::int64_t{2} << 30, Unit::kBytes, {}},
      {model::kLongestRequest, 262144, 9, Unit::kTokens, {"engine.max_model_len=9", "deployment.tp=2"}}};
  run.slo_met = false;
  run.percentiles = {{.name = "ttft.p99", .need_s = 2, .have_s = 3, .holds = false},
                     {.name = "queue.p99.9", .need_s = 2, .have_s = 1.5, .holds = true},
                     {.name = "e2e.p100", .need_s = 9, .have_s = {}, .holds = false}};
  run.saturation.emplace().saturated = true;
  run.replicas.resize(1);
  run.cost = runs::Cost{7, 12.5, "USD", {}};
  EXPECT_EQ(texts(fit_rows(run)),
            (Rows{{"Memory suffices to start", "no"},
                  {"Outside the engine's share", "needs 3.00 GiB, has 2.00 GiB"},
                  {"Longest request",
                   "needs 262,144 tokens, has 9 tokens\nengine.max_model_len=9\ndeployment.tp=2"},
                  {"No rejections or preemptions", "no"},
                  {"Targets hold", "no"},
                  {"TTFT p99 at most 2.00 s", "no: 3.00 s"},
                  {"queue p99.9 at most 2.00 s", "yes: 1.50 s"},
                  {"E2E p100 at most 9.00 s", "no: a request did not complete"},
                  {"Saturated", "yes"},
                  {"GPUs", "1"},
                  {"Nodes", "7"},
                  {"Cost per hour", "12.5 USD"},
                  {"Cost per million output tokens", "–"}}));
  EXPECT_EQ(texts(fit_rows(run.obstacles)).front(),
            (std::pair<std::string, std::string>{"Memory suffices to start", "no"}));
  EXPECT_EQ(fit_rows(run.obstacles).size(), 3U);
}

TEST(GuiFits, TargetsTypedIntoTheFormAreJudged) {
  const auto window = make_window();
  EXPECT_EQ(value_of(*window, QStringLiteral("No rejections or preemptions")), QStringLiteral("yes"));
  EXPECT_TRUE(value_of(*window, QStringLiteral("Targets hold")).isEmpty());
  auto* field = qobject_cast<QLineEdit*>(window->form()->editor(QStringLiteral("targets.percentiles_s")));
  ASSERT_NE(field, nullptr);
  const auto type = [&](const char* text) {
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, QString::fromLatin1(text));
    QTest::keyClick(field, Qt::Key_Return);
    ASSERT_TRUE(wait_settled(*window));
  };
  type("ttft.p99=1000,tpot.p50=1e-9");
  const runs::RunSummary& run = window->result()->run;
  EXPECT_EQ(value_of(*window, QStringLiteral("Targets hold")), QStringLiteral("no"));
  EXPECT_EQ(value_of(*window, QStringLiteral("TTFT p99 at most 16 min 40 s")),
            QStringLiteral("yes: ") + format_seconds(figure(run, "latency_s.ttft.p99")));
  EXPECT_TRUE(window->fits()->text().contains(QStringLiteral("\tno: ") +
                                              format_seconds(figure(run, "latency_s.tpot.p50"))))
      << to_utf8(window->fits()->text());
  type("ttft.p0=1");
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("a percentage above 0, at most 100")))
      << to_utf8(window->messages()->text());
}

TEST(GuiFits, CostAndObstaclesAreThoseOfTheReport) {
  const auto window = make_window();
  window->edit(QStringLiteral("model"), QStringLiteral("llama-3-8b"));
  window->edit(QStringLiteral("deployment.device"), QStringLiteral("l40s"));
  window->edit(QStringLiteral("engine.allow_long_max_model_len"), QStringLiteral("true"));
  window->edit(QStringLiteral("engine.max_model_len"), QStringLiteral("262144"));
  window->edit(QStringLiteral("prices"), to_qstring(kPrices));
  ASSERT_TRUE(wait_settled(*window));
  const runs::RunSummary& run = window->result()->run;
  EXPECT_EQ(value_of(*window, QStringLiteral("Memory suffices to start")), QStringLiteral("no"));
  ASSERT_EQ(run.obstacles.size(), 1U) << "a request of 262,144 tokens";
  EXPECT_EQ(value_of(*window, QStringLiteral("Longest request")),
            QStringLiteral("needs %1 tokens, has %2 tokens")
                .arg(format_number(static_cast<double>(run.obstacles[0].need)),
                     format_number(static_cast<double>(run.obstacles[0].have))));
  ASSERT_FALSE(run.obstacles[0].remedies.empty());
  EXPECT_TRUE(window->fits()->text().contains(to_qstring(run.obstacles[0].remedies[0])));
  EXPECT_EQ(value_of(*window, QStringLiteral("GPUs")), format_number(figure(run, "gpus")));
  EXPECT_EQ(value_of(*window, QStringLiteral("Nodes")), format_number(figure(run, "nodes")));
  const auto money = [&](const char* name) {
    return to_qstring(report::rounded(figure(run, name)) + " " + run.cost->currency);
  };
  EXPECT_EQ(value_of(*window, QStringLiteral("Cost per hour")), money("cost_per_hour"));
  EXPECT_EQ(value_of(*window, QStringLiteral("Cost per million output tokens")),
            money("cost_per_million_output_tokens"));
  // The report of the same run shows the same rows.
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("r.kvr"));
  QProcess program;
  program.start(QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan"),
                {QStringLiteral("run"), to_qstring(kMicroTrace), QStringLiteral("--report"), path,
                 QStringLiteral("--set"), QStringLiteral("model=llama-3-8b"), QStringLiteral("--set"),
                 QStringLiteral("deployment.device=l40s"), QStringLiteral("--set"),
                 QStringLiteral("engine.max_model_len=262144"), QStringLiteral("--set"),
                 QStringLiteral("engine.allow_long_max_model_len=true"), QStringLiteral("--prices"),
                 to_qstring(kPrices)});
  ASSERT_TRUE(program.waitForFinished(kPatient));
  ASSERT_EQ(program.exitCode(), 0) << program.readAllStandardError().constData();
  const QString shown = window->fits()->text();
  window->open({path});
  ASSERT_TRUE(wait_for([&] { return window->shows_report(); }));
  EXPECT_EQ(window->fits()->text(), shown);
}

TEST(GuiFits, AnEngineWithoutRoomSaysWhatItNeeds) {
  const auto window = make_window();
  window->edit(QStringLiteral("model"), QStringLiteral("llama-3-70b"));
  window->edit(QStringLiteral("deployment.device"), QStringLiteral("l40s"));
  ASSERT_TRUE(wait_for(
      [&] { return value_of(*window, QStringLiteral("Memory suffices to start")) == QStringLiteral("no"); }));
  const QString shown = window->fits()->text();
  EXPECT_TRUE(shown.contains(QStringLiteral("Weights and buffers\tneeds "))) << to_utf8(shown);
  EXPECT_TRUE(shown.contains(QStringLiteral("\ndeployment.tp="))) << to_utf8(shown);
  EXPECT_TRUE(window->fits()->isEnabled());
  EXPECT_FALSE(window->messages()->text().isEmpty());
  // The suggested setting removes the obstacle.
  const QString way =
      shown.mid(shown.indexOf(QStringLiteral("deployment.tp=")) + 14).section(QLatin1Char('\n'), 0, 0);
  window->edit(QStringLiteral("engine.max_model_len"), QStringLiteral("4096"));
  window->edit(QStringLiteral("deployment.tp"), way);
  ASSERT_TRUE(wait_settled(*window));
  EXPECT_EQ(value_of(*window, QStringLiteral("Memory suffices to start")), QStringLiteral("yes"));
}

TEST(GuiFits, TheDockCanBeHiddenAndComesBackWithTheLayout) {
  const auto window = make_window(false);
  auto* const dock = window->findChild<QDockWidget*>(QStringLiteral("dock:fits"));
  ASSERT_NE(dock, nullptr);
  EXPECT_TRUE(dock->isVisible());
  QAction* const action = window->findChild<QAction*>(QStringLiteral("dock:fits"));
  ASSERT_NE(action, nullptr);
  action->trigger();
  EXPECT_FALSE(dock->isVisible());
  window->findChild<QAction*>(QStringLiteral("reset-layout"))->trigger();
  EXPECT_TRUE(dock->isVisible());
}

}  // namespace
}  // namespace kvplan::gui
