// Runs simulations beside the window: one thread, one wish at a time.
//
// The mailbox has one place. While a run goes on, only the newest wish waits; during a drag the running one
// may finish, so that the picture follows the hand, unless it is older than `kPatience`. A discrete change
// (undo, a combo box) ends it at once. Every wish has a generation number, larger than all before it; each
// gets at most one answer, as a signal on the window's thread. Answers are handed over in a list of the
// worker's own, under its lock; Qt's queue carries the news that there is one and nothing else. So all that
// the threads share is guarded in this file (and the thread sanitizer, which sees no lock of Qt's, checks it).
//
// Life cycle: made and used on the window's thread; the destructor ends the running job and waits for it.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "gui/viewmodel/timeline_data.h"
#include "gui/worker/open_files.h"
#include "simulator/study/cases.h"

namespace kvplan::gui {

using Generation = std::uint64_t;

/// One finished run. Its details are dropped: `timeline` has what is shown of them.
struct SimulationResult {
  Generation generation{0};
  plan::RunSummary run;
  std::shared_ptr<const TimelineData> timeline;
  TracePtr trace;
  double cpu_seconds{0};      ///< of the worker's thread, for everything from the wish to this result
  double run_cpu_seconds{0};  ///< the part of it that is the simulation, with its report and timeline
};
using ResultPtr = std::shared_ptr<const SimulationResult>;

class SimulationWorker final : public QObject {
  Q_OBJECT

 public:
  /// A run older than this gives way to a newer wish, in milliseconds.
  static constexpr qint64 kPatience = 300;

  explicit SimulationWorker(QObject* parent = nullptr);
  ~SimulationWorker() override;
  SimulationWorker(const SimulationWorker&) = delete;
  SimulationWorker& operator=(const SimulationWorker&) = delete;

  /// Wishes a run. `bins`: of its timeline.
  Generation run(const plan::Scenario& scenario, TracePtr trace, std::int64_t bins, bool discrete);
  /// Wishes that files are read; `current` as for open_files.
  Generation open(std::vector<std::string> paths, std::vector<plan::Setting> current);
  /// Drops the waiting wish and ends the running job. Both still get their answer: an error of kind
  /// kInterrupted.
  void cancel();

  /// A job runs or waits.
  [[nodiscard]] bool busy() const;
  /// Time since the worker became busy, in milliseconds; 0 when it is not.
  [[nodiscard]] qint64 busy_ms() const;
  /// Part of the running job that is done, in [0, 1]; negative where it cannot be told (a file that is none
  /// on a disk).
  [[nodiscard]] double progress() const;

 Q_SIGNALS:
  void finished(const kvplan::gui::ResultPtr& result);
  void opened(quint64 generation, const kvplan::gui::Opened& opened);
  void failed(quint64 generation, const kvplan::Error& error);

 private:
  struct Job {
    Generation generation{0};
    // A run, where there is a trace:
    plan::Case run;
    TracePtr trace;
    // Reading, where there is no trace:
    std::vector<std::string> paths;
    std::vector<plan::Setting> current;
  };

  Generation wish(Job job, bool discrete);
  void work();
  void perform(const Job& job, core::RunControl& control, ReadProgress& reading);
  /// The same; a job for which there is not enough memory fails, and nothing else.
  void perform_guarded(const Job& job, core::RunControl& control, ReadProgress& reading);
  /// Of any thread: `call` will be made on the window's thread, and ends a job.
  void answer(std::function<void()> call);
  /// Of the window's thread, once for every answer: makes the oldest call that waits.
  void deliver();
  void fail(Generation generation, const Error& error);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Job> waiting_;
  std::shared_ptr<core::RunControl> running_;  // of the job that runs now; null when none does
  std::int64_t running_requests_{0};           // what its progress is measured against; 0 = it reads
  std::shared_ptr<ReadProgress> reading_;      // of the job that runs now, if it reads
  QElapsedTimer running_since_;
  bool ending_{false};
  std::deque<std::function<void()>> answers_;  // not delivered yet, oldest first

  // Of the window's thread:
  Generation newest_{0};
  std::int64_t open_jobs_{0};
  QElapsedTimer busy_since_;

  plan::Inputs inputs_;  // of the worker's thread: the files of the latest run

  std::thread thread_;
};

}  // namespace kvplan::gui
