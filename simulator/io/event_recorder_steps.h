// The run of equal steps at the end of an event log that is being written.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/io/event_recorder.h"

namespace kvplan::io {

/// A run of equal steps that may still go on, and the records after it that are dropped if it does.
///
/// A run continues through a pass that decides nothing and is refused the same allocations as the pass before it. So a
/// run ends where something is reported, and it is the same run whether its steps are reported one by one, all at once
/// or in portions. Durations are divided into the longest arithmetic series, from the first step on.
class EventRecorder::Steps {
 public:
  explicit Steps(EventRecorder& recorder) : recorder_(recorder) {}

  /// `alike`: the steps after this one may join it.
  void begin(std::int64_t time, const core::StepSeries& series, bool alike) {
    release();
    run_ = {time, series.first.count, series.steps > 1 ? series.growth.count : 0, series.steps};
    open_ = alike;
    if (!open_) recorder_.put({run_, {}});
  }
  [[nodiscard]] bool may_go_on() const { return open_; }
  /// Begin of the run that is held back; INT64_MAX if there is none.
  [[nodiscard]] std::int64_t open_since() const { return open_ ? run_.time : INT64_MAX; }
  /// Holds back a record, which is dropped if the run goes on.
  void hold(event_log::Record record) {
    open_ ? held_.push_back(std::move(record)) : recorder_.put(std::move(record));
  }

  /// The run continues with these steps; records held back since are dropped.
  void append(const core::StepSeries& series) {
    held_.clear();
    std::int64_t first = series.first.count;
    std::int64_t steps = series.steps;
    while (steps > 0) {
      const std::int64_t next = run_.first + run_.growth * run_.steps;
      std::int64_t taken = 1;
      if (run_.steps == 1) {
        run_.growth = first - run_.first;
      } else if (first != next) {
        start_series(first, steps > 1 ? series.growth.count : 0, steps);
        return;
      }
      if (series.growth.count == run_.growth) taken = steps;
      run_.steps += taken;
      first += series.growth.count * taken;
      steps -= taken;
    }
  }

  /// Writes all records that were held back.
  void release() {
    if (open_) recorder_.put({run_, {}});
    open_ = false;
    for (event_log::Record& record : held_) recorder_.put(std::move(record));
    held_.clear();
  }

 private:
  void start_series(std::int64_t first, std::int64_t growth, std::int64_t steps) {
    recorder_.put({run_, {}});
    run_ = {run_.time + static_cast<std::int64_t>(run_.span()), first, growth, steps};
  }

  EventRecorder& recorder_;
  bool open_{false};
  event_log::StepRun run_{};
  std::vector<event_log::Record> held_;
};

}  // namespace kvplan::io
