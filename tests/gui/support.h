// What the tests of the desktop program share: traces, a window that waits, and the naive way to reduce bins.
#pragma once

#include <gtest/gtest.h>

#include <QTest>
#include <functional>
#include <memory>
#include <string>

#include "gui/view/main_window.h"
#include "gui/worker/open_files.h"

namespace kvplan::gui {

inline const std::string kMicroTrace =
    std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/engines/micro_trace.jsonl";

/// Time that something may take on a very busy machine, in milliseconds. Nothing is measured with it.
inline constexpr int kPatient = 60'000;

inline bool wait_for(const std::function<bool()>& condition) {
  return QTest::qWaitFor(condition, kPatient);
}

/// The golden trace of 3,000 requests, read once.
const TracePtr& micro_trace();
/// Requests enough for a run of a second or so.
TracePtr long_trace();

/// The scenario of settings given as PATH=VALUE.
runs::Scenario scenario_of(const std::vector<std::string>& sets);

/// A window of fixed size with fixed looks, shown, and with the micro trace in it if `open`.
std::unique_ptr<MainWindow> make_window(bool open = true);

/// A program that has ended.
struct Ended {
  int code;
  QString out, err;
};
/// Runs a program without a display and without a platform chosen.
Ended run_program(const QString& program, const QStringList& arguments, const QString& locale = {});

/// A file dragged over the window and dropped.
void drop(MainWindow& window, const QString& path);

}  // namespace kvplan::gui
