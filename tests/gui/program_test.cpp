// kvplan-gui as a command, and its agreement with kvplan.
#include <gtest/gtest.h>

#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include "gui/viewmodel/colours.h"
#include "gui/viewmodel/formatting.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

Ended gui(const QStringList& arguments) {
  return run_program(QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan-gui"), arguments);
}

TEST(GuiProgram, TakesAScreenshotWithoutADisplay) {
  const QTemporaryDir folder;
  for (const QString& theme : {QStringLiteral("light"), QStringLiteral("dark")}) {
    const QString picture = folder.filePath(theme + QStringLiteral(".png"));
    const Ended ended =
        gui({QStringLiteral("--screenshot"), QStringLiteral("timeline"), to_qstring(kMicroTrace),
             QStringLiteral("-o"), picture, QStringLiteral("--theme"), theme});
    ASSERT_EQ(ended.code, 0) << to_utf8(ended.err);
    EXPECT_TRUE(ended.err.isEmpty()) << to_utf8(ended.err);
    const QImage image(picture);
    const int scale = std::max(1, qEnvironmentVariableIntValue("QT_SCALE_FACTOR"));
    EXPECT_EQ(image.size(), QSize(1280, 800) * scale);
    std::map<QRgb, int> colours;
    for (int y = 0; y < image.height(); y += 2)
      for (int x = 0; x < image.width(); x += 2) ++colours[image.pixel(x, y)];
    EXPECT_GT(colours[state_colour(observe::State::kCached, {}).rgb()], 10'000);
    EXPECT_GT(colours[state_colour(observe::State::kLive, {}).rgb()], 100);
    EXPECT_EQ(qGray(image.pixel(4, image.height() - 4)) < 128, theme == QStringLiteral("dark"));
  }
}

TEST(GuiProgram, EachViewIsAScreenshotOfItsOwnFiles) {
  const QTemporaryDir folder;
  const auto shot = [&](const char* view, const QStringList& files) {
    const QString picture = folder.filePath(QString::fromLatin1(view) + QStringLiteral(".png"));
    const Ended ended = gui(QStringList{QStringLiteral("--screenshot"), QString::fromLatin1(view)} + files +
                            QStringList{QStringLiteral("-o"), picture});
    EXPECT_EQ(ended.code, 0) << view << to_utf8(ended.err);
    EXPECT_FALSE(QImage(picture).isNull()) << view;
    return QImage(picture);
  };
  const QImage timeline = shot("timeline", {to_qstring(kMicroTrace)});
  EXPECT_NE(timeline, shot("requests", {to_qstring(kMicroTrace)}));
  EXPECT_NE(timeline, shot("compare", {to_qstring(kMicroTrace)}));
  EXPECT_NE(timeline, shot("blocks", {to_qstring(kMicroTrace)}));
  shot("attention", {QStringLiteral(KVPLAN_SOURCE_DIR "/traces/samples/tiny_llama.kva")});
  const Ended nothing = gui({QStringLiteral("--screenshot"), QStringLiteral("sweep"), to_qstring(kMicroTrace),
                             QStringLiteral("-o"), folder.filePath(QStringLiteral("n.png"))});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.err.count(QLatin1Char('\n')), 1) << to_utf8(nothing.err);
  EXPECT_TRUE(nothing.err.contains(QStringLiteral("sweep")));
}

/// A picture must not replace a file that was read, under any name of that file, and also if only the scenario names
/// it.
TEST(GuiProgram, APictureReplacesNoFileThatWasRead) {
  const QTemporaryDir folder;
  const QString trace = folder.filePath(QStringLiteral("t.kvt"));
  ASSERT_TRUE(QFile::copy(to_qstring(kMicroTrace), trace));
  const QString link = folder.filePath(QStringLiteral("link.kvt"));
  ASSERT_TRUE(QFile::link(trace, link));
  const QString scenario = folder.filePath(QStringLiteral("s.json"));
  const auto write = [](const QString& path, const QByteArray& text) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
  };
  ASSERT_TRUE(write(scenario, R"({"workload": {"trace": "t.kvt"}})"));
  const auto bytes = [](const QString& path) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return file.readAll();
  };
  const QByteArray trace_before = bytes(trace), scenario_before = bytes(scenario);
  for (const auto& [shown, picture] :
       {std::pair{trace, trace}, std::pair{link, trace}, std::pair{trace, link},
        std::pair{scenario, scenario}, std::pair{scenario, trace}}) {
    const Ended ended = gui(
        {QStringLiteral("--screenshot"), QStringLiteral("timeline"), shown, QStringLiteral("-o"), picture});
    EXPECT_EQ(ended.code, 2) << to_utf8(shown) << " " << to_utf8(picture);
    EXPECT_TRUE(ended.err.startsWith(QStringLiteral("kvplan-gui: ") + picture)) << to_utf8(ended.err);
    EXPECT_EQ(bytes(trace), trace_before);
    EXPECT_EQ(bytes(scenario), scenario_before);
  }
  // A file that was not read may be replaced.
  ASSERT_TRUE(write(folder.filePath(QStringLiteral("p.png")), "old"));
  EXPECT_EQ(gui({QStringLiteral("--screenshot"), QStringLiteral("timeline"), scenario, QStringLiteral("-o"),
                 folder.filePath(QStringLiteral("p.png"))})
                .code,
            0);
}

TEST(GuiProgram, WhatCannotBePrintedIsAnError) {
  for (const char* option : {"--version", "--help"}) {
    const Ended ended = run_program(
        QStringLiteral("/bin/sh"),
        {QStringLiteral("-c"),
         QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan-gui %1 >/dev/full").arg(QString::fromLatin1(option))});
    EXPECT_EQ(ended.code, 2) << option;
    EXPECT_TRUE(ended.err.startsWith(QStringLiteral("kvplan-gui: standard output: "))) << to_utf8(ended.err);
  }
}

TEST(GuiProgram, TheLanguageIsThatOfTheOptionElseOfTheSystem) {
  const QTemporaryDir folder;
  const auto picture = [&](const QString& locale, const QStringList& more) {
    const QString path = folder.filePath(QStringLiteral("p.png"));
    const Ended ended = run_program(QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan-gui"),
                                    QStringList{QStringLiteral("--screenshot"), QStringLiteral("timeline"),
                                                to_qstring(kMicroTrace), QStringLiteral("-o"), path} +
                                        more,
                                    locale);
    EXPECT_EQ(ended.code, 0) << to_utf8(ended.err);
    return QImage(path);
  };
  const QString option = QStringLiteral("--lang");
  const QString china = QStringLiteral("zh_CN.UTF-8");
  const QImage chinese = picture(china, {});
  EXPECT_FALSE(chinese.isNull());
  EXPECT_EQ(chinese, picture(china, {option, QStringLiteral("zh")}));
  EXPECT_NE(chinese, picture(china, {option, QStringLiteral("en")}));
  const QString plain = QStringLiteral("C.UTF-8");
  const QImage english = picture(plain, {});
  EXPECT_EQ(english, picture(plain, {option, QStringLiteral("en")}));
  EXPECT_NE(english, picture(plain, {option, QStringLiteral("zh")}));
}

TEST(GuiProgram, WrongArgumentsAreOneLineAndExitTwo) {
  const QString timeline = QStringLiteral("timeline");
  const QTemporaryDir folder;
  const QString picture = folder.filePath(QStringLiteral("p.png"));
  const QString screenshot = QStringLiteral("--screenshot");
  const QString to = QStringLiteral("-o");
  const std::vector<std::pair<QStringList, QString>> cases{
      {{screenshot, QStringLiteral("heap"), QStringLiteral("x"), to, picture}, timeline},
      {{screenshot, timeline, QStringLiteral("no-such-file"), to, picture}, QStringLiteral("no-such-file")},
      {{screenshot, timeline, QStringLiteral(KVPLAN_SOURCE_DIR "/README.md"), to, picture},
       QStringLiteral("README.md")},
      {{screenshot, timeline, to_qstring(kMicroTrace)}, to},
      {{screenshot, timeline, to_qstring(kMicroTrace), to, QStringLiteral("/no/such/folder/p.png")},
       QStringLiteral("/no/such/folder")},
      {{QStringLiteral("--theme"), QStringLiteral("pink")}, QStringLiteral("dark")},
      {{QStringLiteral("--lang"), QStringLiteral("fr")}, QStringLiteral("zh")},
      {{QStringLiteral("--screnshot")}, screenshot},
      {{}, QStringLiteral("display")}};
  for (const auto& [arguments, expected] : cases) {
    const Ended ended = gui(arguments);
    EXPECT_EQ(ended.code, 2) << to_utf8(arguments.join(QLatin1Char(' ')));
    EXPECT_TRUE(ended.err.contains(expected)) << to_utf8(ended.err);
    EXPECT_EQ(ended.err.count(QLatin1Char('\n')), 1) << to_utf8(ended.err);
  }
  EXPECT_FALSE(QFile::exists(picture));
}

TEST(GuiProgram, SaysWhatItIs) {
  EXPECT_TRUE(gui({QStringLiteral("--version")}).out.startsWith(QStringLiteral("kvplan-gui ")));
  EXPECT_TRUE(gui({QStringLiteral("--help")}).out.contains(QStringLiteral("--screenshot")));
}

TEST(GuiProgram, TheCopiedCommandGivesTheNumbersThatAreShown) {
  const auto window = make_window();
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("3000"));
  window->edit(QStringLiteral("eviction"), QStringLiteral("streaming-llm:sink=4,recent=508"));
  window->edit(QStringLiteral("workload.rate_scale"), QStringLiteral("5/2"));
  ASSERT_TRUE(wait_for([&] { return window->settled(); }));
  QString command = window->command();
  ASSERT_TRUE(command.startsWith(QStringLiteral("kvplan ")));
  command.replace(0, 6, QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan"));
  const Ended ended =
      run_program(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), command + QStringLiteral(" --json -")});
  ASSERT_EQ(ended.code, 0) << to_utf8(ended.err);
  const QJsonObject report = QJsonDocument::fromJson(ended.out.toUtf8()).object();
  const runs::RunSummary& run = window->result()->run;
  EXPECT_EQ(report[QStringLiteral("preemptions")].toInteger(-1), run.preemptions);
  EXPECT_EQ(report[QStringLiteral("iterations")].toInteger(-1), run.iterations);
  EXPECT_EQ(report[QStringLiteral("makespan_s")].toDouble(-1), seconds(run.makespan));
  const QJsonObject mean =
      report[QStringLiteral("memory")].toObject()[QStringLiteral("mean_bytes")].toObject();
  for (std::size_t s = 0; s < observe::kStates; ++s)
    EXPECT_EQ(mean[to_qstring(observe::kStateNames[s])].toDouble(-1), run.memory->mean_bytes[s]);
}

}  // namespace
}  // namespace kvplan::gui
