// Shared code of the desktop program's tests: traces, a window that waits, and a naive way to reduce bins.
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

/// Milliseconds that an action may take on a very busy machine. Nothing is measured with it.
inline constexpr int kPatient = 60'000;

inline bool wait_for(const std::function<bool()>& condition) {
  return QTest::qWaitFor(condition, kPatient);
}

/// The golden trace of 3,000 requests, read once.
const TracePtr& micro_trace();
/// Enough requests for a run of about a second.
TracePtr long_trace();

/// The scenario with settings given as PATH=VALUE.
runs::Scenario scenario_of(const std::vector<std::string>& sets);

/// A visible window of fixed size and look, with the micro trace in it if `open`.
std::unique_ptr<MainWindow> make_window(bool open = true);

/// A program that has ended.
struct Ended {
  int code;
  QString out, err;
};
/// Runs a program without a display, and without a chosen platform.
Ended run_program(const QString& program, const QStringList& arguments, const QString& locale = {});

/// Drags a file over the window and drops it.
void drop(MainWindow& window, const QString& path);

}  // namespace kvplan::gui
