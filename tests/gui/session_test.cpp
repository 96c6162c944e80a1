// Sessions and recent files.
#include "gui/viewmodel/session.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QFileDialog>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMenu>
#include <QProcess>
#include <QSettings>
#include <QTemporaryDir>
#include <QTimer>

#include "gui/view/headline_panel.h"
#include "gui/view/message_bar.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/recent_files.h"
#include "gui/views/timeline/timeline_view.h"
#include "simulator/io/scenario_file.h"
#include "simulator/results/report.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

void write_file(const QString& path, const std::string& text) {
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly)) << to_utf8(path);
  file.write(text.data(), static_cast<qint64>(text.size()));
}

std::string text_of(const QString& path) {
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << to_utf8(path);
  return file.readAll().toStdString();
}

void wait_shown(MainWindow& window) {
  ASSERT_TRUE(wait_for([&] { return window.result() != nullptr && window.settled(); }));
}

/// Opens a file in a window that already shows something, and waits for the new content.
void open_and_wait(MainWindow& window, const QString& path) {
  const ResultPtr before = window.result();
  window.open({path});
  ASSERT_TRUE(wait_for([&] { return window.result() != before && window.settled(); }))
      << to_utf8(window.messages()->text());
}

QAction* action(MainWindow& window, const char* name) {
  auto* found = window.findChild<QAction*>(QString::fromLatin1(name));
  EXPECT_NE(found, nullptr) << name;
  return found;
}

/// Fills in the next file dialog when it appears, and accepts it. Returns its title in `title`.
void answer_dialog(const QString& path, QString* title) {
  QTimer::singleShot(50, qApp, [path, title] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (dialog == nullptr) return answer_dialog(path, title);
    *title = dialog->windowTitle();
    auto* const name = dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
    ASSERT_NE(name, nullptr);
    name->setText(path);
    QMetaObject::invokeMethod(dialog, "accept");
  });
}

class GuiSession : public testing::Test {
 protected:
  GuiSession() { clear_recent_files(); }
  [[nodiscard]] QString path(const char* name) const { return folder.filePath(QString::fromUtf8(name)); }
  QTemporaryDir folder;
};

TEST_F(GuiSession, TheRunOfASavedSessionIsWhatTheWindowShows) {
  const auto window = make_window();
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("3000"));
  window->edit(QStringLiteral("eviction"), QStringLiteral("streaming-llm:sink=4,recent=508"));
  window->edit(QStringLiteral("workload.rate_scale"), QStringLiteral("5/2"));
  window->edit(QStringLiteral("targets.ttft_s"), QStringLiteral("0.5"));
  wait_shown(*window);
  window->timeline()->zoom(3, window->timeline()->data()->whole().length() / 3);
  const QString file = path("a session, “quoted”.json");
  ASSERT_TRUE(window->save_session(file)) << to_utf8(window->messages()->text());

  QProcess run;
  run.setWorkingDirectory(QStringLiteral("/"));  // paths in the file do not depend on it
  run.start(QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan"),
            {QStringLiteral("run"), file, QStringLiteral("--json"), QStringLiteral("-")});
  ASSERT_TRUE(run.waitForFinished(kPatient));
  ASSERT_EQ(run.exitCode(), 0) << run.readAllStandardError().constData();
  const QJsonObject report = QJsonDocument::fromJson(run.readAllStandardOutput()).object();
  const QJsonObject shown =
      QJsonDocument::fromJson(QByteArray::fromStdString(runs::report_json(window->result()->run))).object();
  for (const QString& key : shown.keys()) {
    // The scenario names the trace by another path, and a window has no lines of a file.
    if (key == QStringLiteral("scenario") || key == QStringLiteral("scenario_sources")) continue;
    EXPECT_EQ(report[key], shown[key]) << to_utf8(key);
  }
  EXPECT_GT(shown.size(), 10);
}

TEST_F(GuiSession, OpensAsItWasSaved) {
  const QString file = path("s.json");
  QString numbers;
  TimeRange range;
  std::vector<runs::Setting> settings;
  {
    const auto window = make_window();
    window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("2500"));
    window->edit(QStringLiteral("engine.max_seqs"), QStringLiteral("33"));
    wait_shown(*window);
    TimelineView& chart = *window->timeline();
    chart.zoom(4, chart.data()->whole().length() / 2);
    chart.set_cursor(chart.range().begin + chart.range().length() / 4);
    chart.set_marked(TimeRange{chart.range().begin, chart.range().begin + chart.range().length() / 3});
    ASSERT_TRUE(window->save_session(file));
    numbers = window->numbers()->text();
    range = chart.range();
    settings = window->document().settings();
    EXPECT_TRUE(window->windowTitle().startsWith(QStringLiteral("s.json")));
    EXPECT_FALSE(window->isWindowModified());
    window->edit(QStringLiteral("engine.max_seqs"), QStringLiteral("34"));
    EXPECT_TRUE(window->isWindowModified());
    action(*window, "undo")->trigger();
    EXPECT_FALSE(window->isWindowModified());
    wait_shown(*window);
  }
  const auto again = make_window(false);
  again->open({file});
  wait_shown(*again);
  EXPECT_EQ(again->numbers()->text(), numbers);
  const auto& restored = again->document().settings();
  ASSERT_EQ(restored.size(), settings.size());
  for (std::size_t i = 1; i < settings.size(); ++i) {
    EXPECT_EQ(restored[i].path, settings[i].path);
    EXPECT_EQ(restored[i].text, settings[i].text);
  }
  const TimelineView& chart = *again->timeline();
  const auto near = [](std::int64_t a, std::int64_t b) { return std::abs(a - b) <= 1024; };  // a nanosecond
  EXPECT_TRUE(near(chart.range().begin, range.begin) && near(chart.range().end, range.end));
  ASSERT_TRUE(chart.cursor_tick() && chart.marked());
  EXPECT_TRUE(near(*chart.cursor_tick(), range.begin + range.length() / 4));
  EXPECT_TRUE(near(chart.marked()->end, range.begin + range.length() / 3));
  EXPECT_FALSE(action(*again, "show-table")->isChecked());
}

TEST_F(GuiSession, TheTableIsRememberedToo) {
  const auto window = make_window();
  action(*window, "show-table")->trigger();
  ASSERT_TRUE(window->save_session(path("t.json")));
  action(*window, "show-table")->trigger();
  EXPECT_TRUE(window->timeline()->isVisible());
  open_and_wait(*window, path("t.json"));
  EXPECT_FALSE(window->timeline()->isVisible());
  EXPECT_TRUE(action(*window, "show-table")->isChecked());
}

TEST_F(GuiSession, ATraceBesideItMovesWithIt) {
  ASSERT_TRUE(QDir(folder.path()).mkpath(QStringLiteral("one/traces")));
  ASSERT_TRUE(QFile::copy(to_qstring(kMicroTrace), path("one/traces/t.jsonl")));
  {
    const auto window = make_window(false);
    window->open({path("one/traces/t.jsonl")});
    wait_shown(*window);
    ASSERT_TRUE(window->save_session(path("one/s")));
  }
  EXPECT_NE(text_of(path("one/s.json")).find("\"traces/t.jsonl\""), std::string::npos);
  ASSERT_TRUE(QDir(folder.path()).rename(QStringLiteral("one"), QStringLiteral("two")));
  const auto again = make_window(false);
  again->open({path("two/s.json")});
  wait_shown(*again);
  EXPECT_EQ(again->result()->run.arrived, 3000);
}

TEST_F(GuiSession, TextIsAScenario) {
  const std::vector<runs::Setting> settings{{"workload.trace", "/data/t.kvt", {}, 0},
                                            {"workload.rate_scale", "3/2", {}, 0},
                                            {"seed", "7", {}, 0},
                                            {"memory.pool_tokens", "4000", {}, 0},
                                            {"memory.allocator", "paged:block_tokens=64", {}, 0},
                                            {"targets.ttft_s", "1e-3", {}, 0}};
  SessionView view;
  view.range = TimeRange{1024, 10240};
  const std::string text = session_text(settings, view, "/data/sessions/s.json");
  EXPECT_TRUE(io::looks_like_scenario(text));
  traces::Input input(traces::open_memory(text, "s.json").value(), "/data/sessions/s.json");
  const auto read = io::read_scenario(input);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  ASSERT_EQ(read.value().size(), settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    EXPECT_EQ(read.value()[i].path, settings[i].path);
    EXPECT_EQ(read.value()[i].text, settings[i].text);
  }
  const auto shown = view_of(text, "s.json");
  ASSERT_TRUE(shown.ok() && shown.value());
  EXPECT_EQ(shown.value()->range, view.range);
  EXPECT_FALSE(view_of(R"({"seed": 3})", "s.json").value());
}

TEST_F(GuiSession, EveryFileOfASettingIsFoundFromElsewhere) {
  const std::vector<runs::Setting> settings{{"workload.trace", "/data/sessions/7", {}, 0},
                                            {"workload.attention", "/data/a.kva,/data/sessions/b.kva", {}, 0},
                                            {"model", "/data/sessions/own/config.json", {}, 0},
                                            {"latency", "calibrated:file=/data/measured.json", {}, 0}};
  const std::string text = session_text(settings, {}, "/data/sessions/s.json");
  EXPECT_NE(text.find(R"("trace": "7")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("attention": "/data/a.kva,b.kva")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("model": "own/config.json")"), std::string::npos) << text;
  // Read as a file of that folder, each path means the same file as where the session was saved.
  traces::Input input(traces::open_memory(text, "s.json").value(), "/data/sessions/s.json");
  const auto read = io::read_scenario(input);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  ASSERT_EQ(read.value().size(), settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) EXPECT_EQ(read.value()[i].text, settings[i].text);
  const std::string here = std::filesystem::current_path().string();
  const std::string saved =
      session_text({{"latency", "calibrated:file=m.json", {}, 0}, {"model", "./x/config.json", {}, 0}}, {},
                   "/data/s.json");
  EXPECT_NE(saved.find(R"("latency": "calibrated:file=)" + here + R"(/m.json")"), std::string::npos) << saved;
  EXPECT_NE(saved.find(R"("model": ")" + here + R"(/x/config.json")"), std::string::npos) << saved;
}

TEST_F(GuiSession, WhatIsWrongWithAFileIsOneLine) {
  const auto window = make_window();
  const ResultPtr shown = window->result();
  const std::string trace = R"({"workload": {"trace": ")" + kMicroTrace + R"("}, )";
  const std::vector<std::pair<std::string, QString>> cases{
      {trace + R"("view": 3})", QStringLiteral("view")},
      {trace + R"("view": {"begin_ns": "x", "end_ns": 7}})", QStringLiteral("view.begin_ns")},
      {trace + R"("view": {"begin_ns": 9, "end_ns": 7}})", QStringLiteral("view.begin_ns")},
      {trace + R"("view": {"cursor_ns": -1}})", QStringLiteral("view.cursor_ns")},
      {trace + R"("view": {"table": 1}})", QStringLiteral("view.table")},
      {R"({"workload": {"trace": "gone.kvt"}})", QStringLiteral("gone.kvt")},
      {R"({"workload": {"trace": )", QStringLiteral("bad.json")},
      {R"({"seed": 3})", QStringLiteral("workload.trace")}};
  for (const auto& [text, expected] : cases) {
    window->messages()->clear();
    write_file(path("bad.json"), text);
    window->open({path("bad.json")});
    ASSERT_TRUE(wait_for([&] { return !window->messages()->text().isEmpty(); })) << text;
    EXPECT_TRUE(window->messages()->text().contains(expected)) << to_utf8(window->messages()->text());
    EXPECT_FALSE(window->messages()->text().contains(QLatin1Char('\n')));
    EXPECT_EQ(window->result(), shown);
  }
  EXPECT_FALSE(recent_files().contains(path("bad.json")));
  EXPECT_FALSE(window->save_session(QStringLiteral("/no/such/folder/s.json")));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("/no/such/folder")));
}

TEST_F(GuiSession, MenusAskForTheFile) {
  const auto window = make_window(false);
  EXPECT_FALSE(action(*window, "save-session")->isEnabled()) << "there is nothing to save";
  open_and_wait(*window, to_qstring(kMicroTrace));
  QString title;
  answer_dialog(path("menu.json"), &title);
  action(*window, "save-session")->trigger();
  EXPECT_EQ(title, QStringLiteral("Save the session"));
  ASSERT_TRUE(QFile::exists(path("menu.json")));
  EXPECT_EQ(window->session_file(), path("menu.json"));
  window->edit(QStringLiteral("engine.max_seqs"), QStringLiteral("5"));
  action(*window, "save-session")->trigger();  // no question now
  EXPECT_NE(text_of(path("menu.json")).find("max_seqs=5"), std::string::npos);
  const auto other = make_window(false);
  answer_dialog(path("menu.json"), &title);
  action(*other, "open-session")->trigger();
  EXPECT_EQ(title, QStringLiteral("Open a session"));
  wait_shown(*other);
  EXPECT_EQ(other->document().scenario().engine.integer("max_seqs"), 5);
}

TEST_F(GuiSession, ADroppedSessionOpens) {
  {
    const auto window = make_window();
    window->edit(QStringLiteral("engine.max_seqs"), QStringLiteral("6"));
    ASSERT_TRUE(window->save_session(path("d.json")));
  }
  const auto window = make_window(false);
  drop(*window, path("d.json"));
  wait_shown(*window);
  EXPECT_EQ(window->document().scenario().engine.integer("max_seqs"), 6);
}

QStringList recent_entries(MainWindow& window) {
  QStringList entries;
  auto* menu = window.findChild<QMenu*>(QStringLiteral("recent"));
  for (const QAction* entry : menu->actions())
    if (entry->data().isValid()) entries << entry->data().toString();
  return entries;
}

TEST_F(GuiSession, RecentFilesAreOfferedAndDeadOnesGo) {
  for (const char* name : {"a & b.jsonl", "b.jsonl"})
    ASSERT_TRUE(QFile::copy(to_qstring(kMicroTrace), path(name)));
  const auto window = make_window(false);
  EXPECT_FALSE(window->findChild<QMenu*>(QStringLiteral("recent"))->isEnabled());
  open_and_wait(*window, path("a & b.jsonl"));
  open_and_wait(*window, path("b.jsonl"));
  EXPECT_EQ(recent_entries(*window), (QStringList{path("b.jsonl"), path("a & b.jsonl")}));
  const auto second = make_window(false);
  EXPECT_EQ(recent_entries(*second).size(), 2) << "another window, or the next start, has them too";
  ResultPtr before = window->result();
  action(*window, "recent-1")->trigger();
  ASSERT_TRUE(wait_for([&] { return window->result() != before && window->settled(); }));
  EXPECT_EQ(window->result()->trace->path, to_utf8(path("a & b.jsonl")));
  EXPECT_EQ(recent_entries(*window).front(), path("a & b.jsonl")) << "what was opened last is first";
  ASSERT_TRUE(QFile::remove(path("b.jsonl")));
  before = window->result();
  action(*window, "recent-1")->trigger();
  ASSERT_TRUE(wait_for([&] { return !window->messages()->text().isEmpty(); }));
  EXPECT_TRUE(window->messages()->text().contains(path("b.jsonl")));
  EXPECT_EQ(recent_entries(*window), QStringList{path("a & b.jsonl")});
  EXPECT_EQ(window->result(), before);
  action(*window, "recent-clear")->trigger();
  ASSERT_TRUE(wait_for([&] { return recent_entries(*window).isEmpty(); }));
  EXPECT_TRUE(recent_files().isEmpty());
}

TEST_F(GuiSession, TenRecentFilesEachOnce) {
  for (int i = 0; i < 14; ++i) add_recent_file(QStringLiteral("/data/%1.kvt").arg(i % 12));
  const QStringList files = recent_files();
  EXPECT_EQ(files.size(), kMostRecentFiles);
  EXPECT_EQ(files.front(), QStringLiteral("/data/1.kvt"));
  EXPECT_EQ(files.count(QStringLiteral("/data/0.kvt")), 1);
  add_recent_file(QStringLiteral("x/../y.kvt"));
  EXPECT_EQ(recent_files().front(), QDir::current().absoluteFilePath(QStringLiteral("y.kvt")));
  EXPECT_TRUE(QSettings().fileName().startsWith(QDir::tempPath())) << "no user's settings are touched";
}

TEST(GuiImport, AnotherTableIsReadAsTheScenarioSays) {
  const QTemporaryDir folder;
  const QString table = folder.filePath(QStringLiteral("t.csv"));
  write_file(table, "when,a,b\n0,100,20\n1,100,20\n2,100,20\n");
  const auto window = make_window(false);
  window->open({table});
  ASSERT_TRUE(wait_for([&] { return !window->messages()->text().isEmpty(); }));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("--map"))) << "it says what to do";
  window->edit(QStringLiteral("workload.map"), QStringLiteral("arrival=when:s,input=a,output=b"));
  window->open({table});
  wait_shown(*window);
  const auto outputs = [&] { return window->result()->run.output_tokens; };
  EXPECT_EQ(outputs(), 60);
  // A change of the column map reads the file again; undo reads it once more.
  window->edit(QStringLiteral("workload.map"), QStringLiteral("arrival=when:s,input=b,output=a"));
  ASSERT_TRUE(wait_for([&] { return outputs() == 300 && window->settled(); }));
  window->document().undo_stack().undo();
  ASSERT_TRUE(wait_for([&] { return outputs() == 60 && window->settled(); }));
  // A file that cannot be read leaves the old picture, greyed, and is not tried again and again.
  window->edit(QStringLiteral("workload.map"), QStringLiteral("arrival=when:s,input=b,output=nowhere"));
  ASSERT_TRUE(wait_for([&] { return window->messages()->text().contains(QStringLiteral("nowhere")); }));
  EXPECT_EQ(outputs(), 60);
  window->edit(QStringLiteral("workload.limit"), QStringLiteral("2"));
  EXPECT_FALSE(window->worker().busy());
  window->edit(QStringLiteral("workload.map"), QStringLiteral("arrival=when:s,input=a,output=b"));
  ASSERT_TRUE(wait_for([&] { return outputs() == 40 && window->settled(); }));
}

}  // namespace
}  // namespace kvplan::gui
