// What every view has: a name, a table, files, the shared selection; and the view of requests.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QAction>
#include <QCheckBox>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>

#include "gui/view/message_bar.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/compare/compare_view.h"
#include "gui/views/registry.h"
#include "gui/views/requests/lane.h"
#include "gui/views/requests/requests_view.h"
#include "gui/views/timeline/timeline_view.h"
#include "simulator/results/report.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

QByteArray content_of(const QString& path) {
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << to_utf8(path);
  return file.readAll();
}

/// A run with preemptions, shown and inspected.
std::unique_ptr<MainWindow> window_of_requests() {
  auto window = make_window();
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("3000"));
  window->edit(QStringLiteral("workload.rate_scale"), QStringLiteral("4"));
  EXPECT_TRUE(window->show_view(QStringLiteral("requests")));
  EXPECT_TRUE(wait_for([&] { return window->settled() && window->current_view()->settled(); }));
  return window;
}

InspectionPtr inspected(const std::vector<std::string>& sets) {
  core::RunControl control;
  return inspect(scenario_of(sets), micro_trace()->trace, {}, control).value();
}

TEST(GuiViews, EachHasANameATabAKeyAndATable) {
  const auto window = make_window();
  auto* tabs = window->findChild<QTabBar*>(QStringLiteral("views"));
  ASSERT_NE(tabs, nullptr);
  ASSERT_EQ(tabs->count(), static_cast<int>(view_entries().size()));
  for (const ViewEntry& entry : view_entries()) {
    const QString id = QString::fromLatin1(entry.id);
    auto* action = window->findChild<QAction*>(QStringLiteral("view-") + id);
    ASSERT_NE(action, nullptr) << entry.id;
    EXPECT_FALSE(action->shortcut().isEmpty());
    action->trigger();
    EXPECT_EQ(window->current_view_id(), id);
    View* const view = window->current_view();
    EXPECT_TRUE(view->isVisible());
    EXPECT_FALSE(view->accessibleName().isEmpty()) << entry.id;
    ASSERT_NE(view->table(), nullptr);
    EXPECT_GT(view->table()->columnCount(), 0) << entry.id;
    const QAbstractItemModelTester tester(view->table(),
                                          QAbstractItemModelTester::FailureReportingMode::Fatal);
  }
  tabs->setCurrentIndex(0);
  EXPECT_EQ(window->current_view_id(), QStringLiteral("timeline"));
  EXPECT_FALSE(window->show_view(QStringLiteral("heap")));
}

TEST(GuiViews, EachExportsPictureDrawingAndNumbers) {
  const auto window = window_of_requests();
  const QTemporaryDir folder;
  for (const ViewEntry& entry : view_entries()) {
    ASSERT_TRUE(window->show_view(QString::fromLatin1(entry.id)));
    ASSERT_TRUE(wait_for([&] { return window->current_view()->settled() && window->workspace().idle(); }));
    if (window->current_view()->empty()) {
      EXPECT_FALSE(window->export_to(folder.filePath(QStringLiteral("nothing.png"))));
      continue;
    }
    const auto path = [&](const char* suffix) {
      return folder.filePath(QString::fromLatin1(entry.id) + QString::fromLatin1(suffix));
    };
    ASSERT_TRUE(window->export_to(path(".png"))) << to_utf8(window->messages()->text());
    ASSERT_TRUE(window->export_to(path(".svg"))) << to_utf8(window->messages()->text());
    ASSERT_TRUE(window->export_to(path(".csv"))) << to_utf8(window->messages()->text());
    EXPECT_EQ(QImage(path(".png")).size(), window->current_view()->size() * 2);
    const QByteArray svg = content_of(path(".svg"));
    EXPECT_TRUE(svg.contains("<text")) << entry.id;
    EXPECT_FALSE(svg.contains("<image")) << entry.id << ": shapes, not pixels";
    EXPECT_GT(content_of(path(".csv")).count('\n'), 1) << entry.id;
  }
  window->show_view(QStringLiteral("timeline"));
  EXPECT_FALSE(window->export_to(folder.filePath(QStringLiteral("view.pdf"))));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral(".svg")));
  EXPECT_FALSE(window->export_to(QStringLiteral("/no/such/folder/view.csv")));
}

TEST(GuiViews, ShareOneSelectionAndOneTable) {
  const auto window = window_of_requests();
  SelectionModel& selection = window->workspace().selection();
  window->timeline()->set_cursor(window->timeline()->data()->whole().length() / 2);
  EXPECT_EQ(selection.get().cursor, window->timeline()->cursor_tick());
  selection.set_cursor(7);
  EXPECT_EQ(window->timeline()->cursor_tick(), 7);
  window->findChild<QAction*>(QStringLiteral("show-table"))->trigger();
  auto* table = window->findChild<QTableView*>(QStringLiteral("view-table"));
  ASSERT_TRUE(table->isVisible());
  EXPECT_EQ(table->model(), window->current_view()->table());
  window->show_view(QStringLiteral("timeline"));
  ASSERT_TRUE(table->isVisible());
  EXPECT_EQ(table->model(), window->timeline()->table());
}

TEST(GuiRequests, AreThoseOfTheCommandLine) {
  const auto window = window_of_requests();
  runs::RunOptions options;
  options.request_memory = true;
  const auto run = runs::run_scenario(scenario_of({"memory.pool_blocks=3000", "workload.rate_scale=4"}),
                                      micro_trace()->trace, options);
  EXPECT_EQ(to_utf8(window->current_view()->csv()), runs::requests_csv(run.value()));
  EXPECT_TRUE(window->current_view()->command().endsWith(QStringLiteral("--requests requests.csv")));
  const QAbstractItemModel& table = *window->current_view()->table();
  ASSERT_EQ(table.rowCount(), static_cast<int>(run.value().records.size()));
  std::int64_t preemptions = 0;
  for (int row = 0; row < table.rowCount(); ++row)
    preemptions +=
        table.index(row, column_of(RequestColumn::kPreemptions)).data(TableModel::kValueRole).toLongLong();
  EXPECT_EQ(preemptions, run.value().preemptions);
  EXPECT_GT(preemptions, 0);
}

TEST(GuiRequests, SortFilterAndJumpBothWays) {
  const auto window = window_of_requests();
  auto* view = qobject_cast<RequestsView*>(window->current_view());
  ASSERT_NE(view, nullptr);
  const auto press = [&](const char* name) {
    QTest::mouseClick(window->findChild<QPushButton*>(QString::fromLatin1(name)), Qt::LeftButton);
  };
  const auto cell = [&](int row, RequestColumn column) {
    return view->table()->index(row, column_of(column)).data(TableModel::kValueRole);
  };
  press("requests-preempted");
  EXPECT_GT(cell(0, RequestColumn::kPreemptions).toLongLong(), 0);
  const auto worst = cell(0, RequestColumn::kRequest).toLongLong();
  SelectionModel& selection = window->workspace().selection();
  ASSERT_EQ(selection.get().request, worst);
  EXPECT_TRUE(view->value_text().contains(QStringLiteral("preempted"))) << to_utf8(view->value_text());
  press("requests-slowest");
  EXPECT_GE(cell(0, RequestColumn::kE2e).toDouble(), cell(1, RequestColumn::kE2e).toDouble());
  press("requests-biggest");
  EXPECT_GE(cell(0, RequestColumn::kPeakHeld).toLongLong(), cell(1, RequestColumn::kPeakHeld).toLongLong());

  // To the timeline: the life is marked there.
  auto* table = window->findChild<QTableView*>(QStringLiteral("requests-table"));
  const auto life = view->lane().life();
  ASSERT_FALSE(life.empty());
  QTest::keyClick(table, Qt::Key_Return);
  EXPECT_EQ(window->current_view_id(), QStringLiteral("timeline"));
  ASSERT_TRUE(window->timeline()->marked());
  EXPECT_EQ(window->timeline()->marked()->begin, life.front().begin);
  EXPECT_EQ(window->timeline()->marked()->end, life.back().end);

  // And back: the requests of the marked range.
  window->show_view(QStringLiteral("requests"));
  const int all = view->table()->rowCount();
  window->findChild<QCheckBox*>(QStringLiteral("requests-at-cursor"))->click();
  EXPECT_GT(view->table()->rowCount(), 0);
  EXPECT_LT(view->table()->rowCount(), all);
  window->findChild<QCheckBox*>(QStringLiteral("requests-at-cursor"))->click();

  view->set_filter(QStringLiteral("preemptions > 0 completed"));
  const int preempted = view->table()->rowCount();
  EXPECT_GT(preempted, 0);
  EXPECT_LT(preempted, all);
  view->set_filter(QStringLiteral("preemptions=0"));
  EXPECT_EQ(view->table()->rowCount(), all - preempted);
  view->set_filter(QStringLiteral("color>3"));
  EXPECT_EQ(view->table()->rowCount(), all - preempted) << "a wrong filter changes nothing";

  // A click on the lane sets the cursor of all views.
  auto* lane = window->findChild<Lane*>();
  lane->setFocus();
  selection.set_cursor(std::nullopt);
  QTest::keyClick(lane, Qt::Key_Right);
  ASSERT_TRUE(selection.get().cursor);
  QTest::mouseClick(lane, Qt::LeftButton, {}, lane->bar(lane->size()).center());
  EXPECT_GT(*selection.get().cursor, lane->life().front().begin);
}

TEST(GuiRequests, FiltersAreReadOrRefused) {
  const TableContent content = requests_table(nullptr);
  EXPECT_EQ(parse_filter(QStringLiteral("ttft >= 5 rejected"), content.columns).value().size(), 2U);
  EXPECT_EQ(parse_filter({}, content.columns).value().size(), 0U);
  EXPECT_FALSE(parse_filter(QStringLiteral("ttft>fast"), content.columns).ok());
  EXPECT_FALSE(parse_filter(QStringLiteral("colour=3"), content.columns).ok());
  EXPECT_TRUE(parse_filter(QStringLiteral("status=rejected"), content.columns).ok());
}

/// A life has no gaps, begins with the arrival, ends with the finish, and counts what the records count.
TEST(GuiInspection, LivesAgreeWithTheRecords) {
  const InspectionPtr inspection = inspected({"memory.pool_blocks=3000", "workload.rate_scale=4"});
  std::int64_t preemptions = 0;
  for (std::size_t i = 0; i < inspection->run.records.size(); ++i) {
    const observe::RequestRecord& record = inspection->run.records[i];
    const auto life = life_of(*inspection, i);
    if (record.status != observe::RequestStatus::kCompleted) continue;
    ASSERT_FALSE(life.empty());
    EXPECT_EQ(life.front().begin, record.arrival.since_start.count);
    EXPECT_EQ(life.back().end, record.finish.since_start.count);
    std::int64_t again = 0;
    for (std::size_t p = 0; p < life.size(); ++p) {
      EXPECT_LT(life[p].begin, life[p].end);
      if (p > 0) {
        EXPECT_EQ(life[p].begin, life[p - 1].end);
      }
      if (life[p].kind == LifePart::Kind::kPreempted) ++again;
    }
    EXPECT_LE(again, record.preemptions);
    preemptions += record.preemptions;
  }
  const auto events = preemptions_of(*inspection);
  EXPECT_EQ(static_cast<std::int64_t>(events.size()), inspection->run.preemptions);
  EXPECT_EQ(preemptions, inspection->run.preemptions);
  EXPECT_GT(preemptions, 0);
  std::int64_t lost = 0;
  for (const Preemption& event : events) lost += event.lost_tokens - event.hit_again_tokens;
  EXPECT_EQ(lost, inspection->run.recomputed_tokens) << "what preemptions lost is what was computed again";
}

TEST(GuiCompare, KeepsAScenarioAndShowsWhereTheyPart) {
  const auto window = make_window();
  ASSERT_TRUE(window->show_view(QStringLiteral("compare")));
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("compare-keep")), Qt::LeftButton);
  ASSERT_EQ(window->workspace().slots().size(), 2U);
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("3000"));
  auto* view = qobject_cast<CompareView*>(window->current_view());
  ASSERT_TRUE(wait_for([&] {
    return window->settled() && !window->workspace().stale() && view->settled() &&
           !view->parting_text().isEmpty();
  }));
  const runs::RunSummary& a = window->workspace().slots()[0].result->run;
  const runs::RunSummary& b = window->workspace().slots()[1].result->run;
  EXPECT_EQ(a.scenario.text("memory.pool_blocks"), "3000");
  const auto rows = compared_rows(window->workspace().slots(), std::nullopt);
  for (std::size_t s = 0; s < observe::kStates; ++s) {
    EXPECT_EQ(rows[s].values[0], a.memory->mean_bytes[s]);
    EXPECT_EQ(rows[s].values[1], b.memory->mean_bytes[s]);
  }
  EXPECT_TRUE(view->csv().contains(QStringLiteral("iterations,%1,").arg(a.iterations)));
  EXPECT_EQ(view->command().count(QLatin1Char('\n')), 1) << "a command for each scenario";

  // The first step that differs, found the slow way: all decisions of both in one list each.
  const auto one = inspected({"memory.pool_blocks=3000"}), two = inspected({});
  const auto parting = runs::parting_of(one->decided, two->decided);
  ASSERT_TRUE(parting);
  const auto flat = [](const observe::Decisions& decisions) {
    std::vector<std::pair<std::int64_t, observe::Decision>> all;
    for (std::size_t i = 0; i < decisions.size(); ++i)
      for (const observe::Decision& decision : decisions.of(i))
        all.emplace_back(decisions.step(i).step, decision);
    return all;
  };
  const auto all_one = flat(*one->decided[0]), all_two = flat(*two->decided[0]);
  std::size_t i = 0;
  while (all_one[i] == all_two[i]) ++i;
  EXPECT_EQ(parting->step, std::min(all_one[i].first, all_two[i].first));
  EXPECT_TRUE(view->parting_text().contains(format_number(static_cast<double>(parting->step))));
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("compare-parting")), Qt::LeftButton);
  EXPECT_EQ(window->workspace().selected().cursor, parting->time().since_start.count);

  // Equal runs never part.
  EXPECT_FALSE(runs::parting_of(one->decided, one->decided));
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("compare-edit-B")), Qt::LeftButton);
  ASSERT_TRUE(wait_for([&] { return window->settled() && window->result()->run.makespan == b.makespan; }));
  EXPECT_EQ(window->workspace().slots().size(), 2U);
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("compare-remove-B")), Qt::LeftButton);
  EXPECT_EQ(window->workspace().slots().size(), 1U);
}

TEST(GuiCompare, AtMostFourScenarios) {
  const auto window = make_window();
  auto* keep = window->findChild<QAction*>(QStringLiteral("keep-scenario"));
  for (int i = 0; i < 3; ++i) keep->trigger();
  EXPECT_EQ(window->workspace().slots().size(), runs::kMostSlots);
  EXPECT_TRUE(window->messages()->text().isEmpty());
  keep->trigger();
  EXPECT_EQ(window->workspace().slots().size(), runs::kMostSlots);
  EXPECT_FALSE(window->messages()->text().isEmpty());
}

TEST(GuiCompare, SessionsRestoreViewsAndKeptScenarios) {
  const QTemporaryDir folder;
  const QString file = folder.filePath(QStringLiteral("s.json"));
  {
    const auto window = make_window();
    window->findChild<QAction*>(QStringLiteral("keep-scenario"))->trigger();
    window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("3000"));
    ASSERT_TRUE(wait_for([&] { return window->settled(); }));
    window->show_view(QStringLiteral("compare"));
    window->workspace().selection().set_request(7);
    ASSERT_TRUE(window->save_session(file)) << to_utf8(window->messages()->text());
  }
  const auto window = make_window(false);
  window->open({file});
  ASSERT_TRUE(wait_for([&] {
    return window->result() != nullptr && window->settled() && window->workspace().slots().size() == 2;
  })) << to_utf8(window->messages()->text());
  EXPECT_EQ(window->current_view_id(), QStringLiteral("compare"));
  EXPECT_EQ(window->workspace().selected().request, 7);
  EXPECT_EQ(window->workspace().slots()[0].result->run.scenario.text("memory.pool_blocks"), "3000");
  EXPECT_NE(window->workspace().slots()[1].result->run.scenario.text("memory.pool_blocks"), "3000");
}

}  // namespace
}  // namespace kvplan::gui
