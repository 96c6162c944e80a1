// Runs simulations beside the window: one thread, one job at a time.
//
// The mailbox has one place: while a job runs, only the newest request waits. During a drag the running job may
// finish, so that the picture follows the mouse, unless it is older than `kPatience`. A discrete change (undo, a
// combo box) ends it at once. Every request has a generation number, larger than all before; each gets at most one
// answer, as a signal on the window's thread. Answers are passed in the worker's own list, under its lock; Qt's queue
// only carries the notice that there is one. So all shared data are guarded in this file (and the thread sanitizer,
// which does not see Qt's locks, can check it).
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
#include <variant>

#include "gui/viewmodel/timeline_data.h"
#include "gui/worker/open_files.h"
#include "simulator/study/cases.h"

namespace kvplan::gui {

using Generation = std::uint64_t;

/// One finished run. Its details are dropped; `timeline` has the displayed part of them.
struct SimulationResult {
  Generation generation{0};
  runs::RunSummary run;
  std::shared_ptr<const TimelineData> timeline;
  TracePtr trace;
  /// CPU time of the worker's thread for everything from the request to this result
  double cpu_seconds{0};
  double run_cpu_seconds{0};  ///< the part of it for the simulation, with its report and timeline
};
using ResultPtr = std::shared_ptr<const SimulationResult>;

/// Runs a scenario in the calling thread. `bins`: even number of bins of its timeline.
Result<ResultPtr> run_once(const runs::Scenario& scenario, const TracePtr& trace, std::int64_t bins,
                           const runs::Openers& openers, core::RunControl& control);

class SimulationWorker final : public QObject {
  Q_OBJECT

 public:
  /// A run older than this, in milliseconds, is ended by a newer request.
  static constexpr qint64 kPatience = 300;

  explicit SimulationWorker(QObject* parent = nullptr);
  ~SimulationWorker() override;
  SimulationWorker(const SimulationWorker&) = delete;
  SimulationWorker& operator=(const SimulationWorker&) = delete;

  /// Requests a run. `bins`: bins of its timeline.
  Generation run(const runs::Scenario& scenario, TracePtr trace, std::int64_t bins, bool discrete);
  /// Sets how documents are read from now on; called before the first `open`.
  void read_documents_with(DocumentReader reader) { documents_ = std::move(reader); }
  /// Work of any other kind: it runs on the worker's thread, and returns a function that runs on the window's thread.
  using Answer = std::function<void()>;
  using Task = std::function<Answer(core::RunControl& control, runs::Inputs& inputs)>;
  Generation perform_task(Task task);
  /// Requests reading files; `current` as for open_files.
  Generation open(std::vector<std::string> paths, std::vector<runs::Setting> current);
  /// Drops the waiting request and ends the running job. Both still get an answer: an error of kind kInterrupted.
  void cancel();

  /// True: a job runs or waits.
  [[nodiscard]] bool busy() const;
  /// Time since the worker became busy, in milliseconds; 0 if it is idle.
  [[nodiscard]] qint64 busy_ms() const;
  /// Completed share of the running job, in [0, 1]; negative if unknown (a file that is not on a disk).
  [[nodiscard]] double progress() const;

 Q_SIGNALS:
  void finished(const kvplan::gui::ResultPtr& result);
  void opened(quint64 generation, const kvplan::gui::Opened& opened);
  void failed(quint64 generation, const kvplan::Error& error);

 private:
  struct Simulate {
    runs::Case run;
    TracePtr trace;
  };
  struct Read {
    std::vector<std::string> paths;
    std::vector<runs::Setting> current;
  };
  struct Job {
    Generation generation{0};
    std::variant<Simulate, Read, Task> what;
  };

  Generation wish(Job job, bool discrete);
  void work();
  void perform(const Job& job, core::RunControl& control, ReadProgress& reading);
  void simulate(Generation generation, const Simulate& job, core::RunControl& control);
  /// The same as `perform`; if there is not enough memory, only this job fails.
  void perform_guarded(const Job& job, core::RunControl& control, ReadProgress& reading);
  /// Called by any thread: `call` will be made on the window's thread, and ends a job.
  void answer(std::function<void()> call);
  /// Called on the window's thread, once for every answer: makes the oldest waiting call.
  void deliver();
  void fail(Generation generation, const Error& error);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Job> waiting_;
  std::shared_ptr<core::RunControl> running_;  // control of the running job; null if none runs
  std::int64_t running_requests_{0};           // number of requests for its progress; 0 = it does not run any
  std::shared_ptr<ReadProgress> reading_;      // progress of the running job, if it reads
  QElapsedTimer running_since_;
  bool ending_{false};
  std::deque<std::function<void()>> answers_;  // not delivered yet, oldest first

  // Used on the window's thread:
  Generation newest_{0};
  std::int64_t open_jobs_{0};
  QElapsedTimer busy_since_;

  DocumentReader documents_;
  runs::Inputs inputs_;  // used on the worker's thread: the files of the latest run

  std::thread thread_;
};

}  // namespace kvplan::gui
