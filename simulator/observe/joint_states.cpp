#include "simulator/observe/joint_states.h"

#include <algorithm>
#include <optional>

#include "simulator/base/check.h"

namespace kvplan::observe {
namespace {

std::int64_t available(const StateCounts& cells) {
  return cells[index(State::kCached)] + cells[index(State::kStranded)] + cells[index(State::kFree)];
}

}  // namespace

/// The reports of one replica, and the position up to which they are merged.
class JointStates::Track final : public LedgerSink {
 public:
  explicit Track(const core::MemoryLayout& layout)
      : alloc_unit_(layout.alloc_unit_counts()),
        whole_(layout.alloc_units * alloc_unit_),
        kinds_(layout.groups.empty() ? 0 : layout.layer_kinds().size()),
        latest_kinds_(2 * kinds_) {
    at_peak.kinds.resize(layout.layer_kinds().size());
    // Before the first report everything is free.
    Entry nothing{};
    nothing.cells[index(State::kFree)] = whole_;
    entries_.push_back(nothing);
    entry_kinds_ = latest_kinds_;
    points_.push_back({0, 0, 0});
  }

  /// The values that count in the sums, from then on.
  struct Point {
    std::int64_t ticks;
    std::int64_t taken;
    std::int64_t running;
  };
  struct BesideStates {
    std::int64_t duplicates, unreachable, sharers;
  };
  /// Values from `begin` on: in step k of `series` each state has `growth` more than in the step before, in addition
  /// to the changes in `passes`.
  struct Entry {
    SimTime begin;
    core::StepSeries series;
    StateCounts cells, growth;
    BesideStates beside;
    core::Refusal refusal;
    std::size_t passes;
    std::int64_t running;
  };

  void on_pool(SimTime /*time*/, const core::PoolCounts& pool, core::Refusal refusal) override {
    beside_ = beside(pool);
    refusal_ = refusal;
  }
  void on_kinds(std::span<const StateCounts> held, std::span<const StateCounts> growth) override {
    latest_kinds_.assign(held.begin(), held.end());
    latest_kinds_.insert(latest_kinds_.end(), growth.begin(), growth.end());
  }
  void on_span(const LedgerSpan& span) override {
    if (idle_since_ != span.begin || span.running != 0) put(span, 0);
  }
  void on_decode_run(const LedgerDecodeRun& decode_run) override {
    put(decode_run.span, decode_run.passes.size());
    std::int64_t taken = points_.back().taken;
    for (std::size_t i = 0; i < decode_run.passes.size(); ++i) {
      const LedgerGrants& pass = decode_run.passes[i];
      passes_.push_back({pass, beside(decode_run.granted[i].pool)});
      taken -= pass.cached + pass.free;
      points_.push_back({pass.time.since_start.count, taken, decode_run.span.running});
    }
    beside_ = passes_.back().beside;
  }
  /// The other replicas' sums are read before the idle span ends and is reported.
  void on_nothing_held(SimTime time, const StateCounts& cells) override {
    idle_since_ = time;
    put({time, time, {}, cells, {}, 0, 0}, 0);
  }

  [[nodiscard]] bool wants_nothing_held() const override { return true; }

  /// The first point is merged and counts in the sums, the others wait.
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(entries_.size()); }
  [[nodiscard]] const Entry& entry(std::int64_t i) const { return entries_[static_cast<std::size_t>(i)]; }

  /// Drops the points that begin before `until`, except the latest of them, which counts in the sums.
  void forget_before(SimTime until) {
    const auto erase_first = [](auto& from, std::size_t count) {
      from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
    };
    std::size_t point = points_.size() - 1;
    while (point > 0 && points_[point].ticks >= until.since_start.count) --point;
    erase_first(points_, point);
    std::size_t latest = entries_.size() - 1;
    while (latest > 0 && entries_[latest].begin >= until) --latest;
    std::size_t passes = 0;
    for (std::size_t i = 0; i < latest; ++i) passes += entries_[i].passes;
    erase_first(passes_, passes);
    asked_entry_ -= std::min(asked_entry_, latest);
    asked_pass_ -= std::min(asked_pass_, passes);
    erase_first(entries_, latest);
    erase_first(entry_kinds_, latest * 2 * kinds_);
    hole_entry = std::max<std::int64_t>(hole_entry - static_cast<std::int64_t>(latest), 0);
  }

  struct AtPeak {
    StateCounts cells{};
    OverlayCounts overlays{};
    std::vector<StateCounts> kinds;
  };
  /// Stores the state at this moment, which has been reported.
  void remember(SimTime moment) {
    std::size_t i = 0, pass = 0;
    find(moment, i, pass);
    const Entry& e = entries_[i];
    const std::int64_t step = core::step_at(e.series, (moment - e.begin).count);
    at_peak.cells = cells_in(e, pass, moment);
    BesideStates beside = e.beside;
    for (const std::size_t end = pass + e.passes; pass < end && passes_[pass].grants.time <= moment; ++pass)
      beside = passes_[pass].beside;
    const StateCounts* const kinds = entry_kinds_.data() + i * 2 * kinds_;
    for (std::size_t k = 0; k < kinds_; ++k)
      for (std::size_t s = 0; s < kStates; ++s)
        at_peak.kinds[k][s] = kinds[k][s] + step * kinds[kinds_ + k][s];
    const core::PoolCounts pool{
        .duplicates = beside.duplicates, .unreachable = beside.unreachable, .sharers = beside.sharers};
    at_peak.overlays = overlays_of(at_peak.cells, pool, e.refusal, alloc_unit_);
  }

  /// Adds the state at this moment. REQUIRES: it has been reported and is not merged yet; moments ascend.
  void add_to(Sum& sum, SimTime moment) {
    find(moment, asked_entry_, asked_pass_);
    const Entry& e = entries_[asked_entry_];
    const StateCounts cells = cells_in(e, asked_pass_, moment);
    for (std::size_t s = 0; s < kStates; ++s) sum.cells[s] += cells[s];
    sum.running += e.running;
  }

  AtPeak at_peak;
  bool any_holes{false};  // true: there have been holes
  std::int64_t hole_entry{0}, hole_step{0}, holes{0};
  bool waits_for_holes{false};  // it is in the queue of holes

 private:
  struct Passed {
    LedgerGrants grants;
    BesideStates beside;
  };

  /// Moves to the latest entry that begins by `moment`, and to its first scheduler step.
  void find(SimTime moment, std::size_t& entry, std::size_t& pass) const {
    for (; entry + 1 < entries_.size() && entries_[entry + 1].begin <= moment; ++entry)
      pass += entries_[entry].passes;
  }
  /// The counts of this entry at this moment.
  [[nodiscard]] StateCounts cells_in(const Entry& e, std::size_t pass, SimTime moment) const {
    const std::int64_t step = core::step_at(e.series, (moment - e.begin).count);
    StateCounts cells = e.cells;
    for (std::size_t s = 0; s < kStates; ++s) cells[s] += step * e.growth[s];
    for (const std::size_t end = pass + e.passes; pass < end && passes_[pass].grants.time <= moment; ++pass)
      add_grants(cells, passes_[pass].grants);
    return cells;
  }

  static BesideStates beside(const core::PoolCounts& pool) {
    return {pool.duplicates, pool.unreachable, pool.sharers};
  }

  void put(const LedgerSpan& span, std::size_t passes) {
    any_holes = any_holes || span.cells[index(State::kHole)] != 0 || span.growth[index(State::kHole)] != 0;
    entries_.push_back(
        {span.begin, span.series, span.cells, span.growth, beside_, refusal_, passes, span.running});
    entry_kinds_.insert(entry_kinds_.end(), latest_kinds_.begin(), latest_kinds_.end());
    const std::int64_t taken = whole_ - available(span.cells);
    if (taken != points_.back().taken || span.running != points_.back().running)
      points_.push_back({span.begin.since_start.count, taken, span.running});
  }

  std::int64_t alloc_unit_;
  std::int64_t whole_;  // counts that are available before anything runs
  std::size_t kinds_;
  BesideStates beside_{};
  core::Refusal refusal_{core::Refusal::kNone};
  std::vector<StateCounts> latest_kinds_;  // held, then growth; empty where layers lie in no groups
  std::optional<SimTime> idle_since_;      // nothing was held then; already reported
  std::vector<Point> points_;
  std::vector<Entry> entries_;  // the first entry counts in the sums, the others wait
  std::vector<StateCounts> entry_kinds_;
  std::vector<Passed> passes_;                  // passes of all entries, one entry after the other
  std::size_t asked_entry_{0}, asked_pass_{0};  // position of the latest requested moment
};

JointStates::JointStates(std::int64_t replicas, const core::MemoryLayout& layout) {
  for (std::int64_t i = 0; i < replicas; ++i) tracks_.push_back(std::make_unique<Track>(layout));
}
JointStates::~JointStates() = default;

LedgerSink& JointStates::sink_of(std::int64_t replica) {
  return *tracks_[static_cast<std::size_t>(replica)];
}
const StateCounts& JointStates::peak_cells(std::int64_t replica) const {
  return tracks_[static_cast<std::size_t>(replica)]->at_peak.cells;
}
const OverlayCounts& JointStates::peak_overlays(std::int64_t replica) const {
  return tracks_[static_cast<std::size_t>(replica)]->at_peak.overlays;
}
const std::vector<StateCounts>& JointStates::peak_kinds(std::int64_t replica) const {
  return tracks_[static_cast<std::size_t>(replica)]->at_peak.kinds;
}

std::int64_t JointStates::waiting() const {
  std::size_t points = 0;
  for (const auto& track : tracks_) points += track->points().size() - 1;
  return static_cast<std::int64_t>(points);
}

JointStates::Sum JointStates::sum_at(SimTime moment) {
  Sum sum;
  for (const auto& track : tracks_) track->add_to(sum, moment);
  return sum;
}

void JointStates::merge(SimTime until) {
  if (std::any_of(tracks_.begin(), tracks_.end(), [](const auto& track) { return track->any_holes; }))
    merge_holes(until.since_start.count);
  const SimTime peak_before = peak_time_;
  const std::int64_t most_before = most_taken_;
  merge_available(until.since_start.count);
  if (peak_time_ != peak_before || most_taken_ != most_before)
    for (const auto& track : tracks_) track->remember(peak_time_);
  for (const auto& track : tracks_) track->forget_before(until);
}

// Most of the time the sum is far below its largest value. So time is cut into slices, and in each slice the largest
// value of every replica is found first. If even their sum is no more than the largest value so far, nothing in the
// slice needs to be ordered.

void JointStates::merge_available(std::int64_t until) {
  std::int64_t begin = INT64_MAX, end = 0, waiting = 0;
  for (const auto& track : tracks_) {
    const auto& points = track->points();
    for (std::size_t i = 1; i < points.size() && points[i].ticks < until; ++i) {
      begin = std::min(begin, points[i].ticks);
      end = std::max(end, points[i].ticks + 1);
      ++waiting;
    }
  }
  if (waiting == 0) return;
  constexpr std::int64_t kMostSlices = 64;
  const auto replicas = static_cast<std::int64_t>(tracks_.size());
  const std::int64_t slices = std::clamp(waiting / replicas, std::int64_t{1}, kMostSlices);
  const std::int64_t width = ceil_div(end - begin, slices);

  std::vector<Sums> most(static_cast<std::size_t>(slices), Sums{0, 0});
  for (const auto& track : tracks_) {
    const auto& points = track->points();
    std::size_t i = 0;
    for (std::size_t slice = 0; slice < most.size(); ++slice) {
      const std::int64_t slice_end = begin + static_cast<std::int64_t>(slice + 1) * width;
      Sums own{points[i].taken, points[i].running};
      while (i + 1 < points.size() && points[i + 1].ticks < std::min(slice_end, until)) {
        ++i;
        own = {std::max(own.taken, points[i].taken), std::max(own.running, points[i].running)};
      }
      most[slice] = {most[slice].taken + own.taken, most[slice].running + own.running};
    }
  }

  std::vector<std::size_t> merged(tracks_.size(), 0);  // by track: the latest point that counts
  for (std::size_t slice = 0; slice < most.size(); ++slice) {
    const std::int64_t slice_end = std::min(begin + static_cast<std::int64_t>(slice + 1) * width, until);
    if (most[slice].taken > most_taken_ || most[slice].running > max_running_) {
      merge_slice(slice_end, merged);
      continue;
    }
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      const auto& points = tracks_[t]->points();
      const std::size_t first = merged[t];
      while (merged[t] + 1 < points.size() && points[merged[t] + 1].ticks < slice_end) ++merged[t];
      now_.taken += points[merged[t]].taken - points[first].taken;
      now_.running += points[merged[t]].running - points[first].running;
    }
  }
}

/// The points before `end`, in their order.
void JointStates::merge_slice(std::int64_t end, std::vector<std::size_t>& merged) {
  order_.clear();
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    const auto& points = tracks_[t]->points();
    for (std::size_t i = merged[t] + 1; i < points.size() && points[i].ticks < end; ++i)
      order_.push_back({points[i].ticks, static_cast<std::int32_t>(t), static_cast<std::int32_t>(i)});
  }
  std::sort(order_.begin(), order_.end());
  for (std::size_t i = 0; i < order_.size();) {
    const std::int64_t now = order_[i].ticks;
    bool passes = false;  // memory is taken only by scheduler steps, so before the first one there is no peak
    for (; i < order_.size() && order_[i].ticks == now; ++i) {
      const auto t = static_cast<std::size_t>(order_[i].track);
      const auto& points = tracks_[t]->points();
      const auto& before = points[merged[t]];
      merged[t] = static_cast<std::size_t>(order_[i].point);
      now_.taken += points[merged[t]].taken - before.taken;
      now_.running += points[merged[t]].running - before.running;
      passes = passes || points[merged[t]].running > 0;
    }
    max_running_ = std::max(max_running_, now_.running);
    if (passes && now_.taken > most_taken_) {
      most_taken_ = now_.taken;
      peak_time_ = SimTime{Ticks{now}};
    }
  }
}

void JointStates::merge_holes(std::int64_t until) {
  const auto hole = index(State::kHole);
  const auto queue = [&](std::size_t t) {  // the time at which its holes change next
    Track& track = *tracks_[t];
    const auto& entry = track.entry(track.hole_entry);
    if (entry.growth[hole] != 0 && track.hole_step + 1 < entry.series.steps) {
      const Wide ticks = Wide{entry.begin.since_start.count} + entry.series.span(track.hole_step + 1);
      holes_next_.push({static_cast<std::int64_t>(ticks), static_cast<std::int32_t>(t)});
      track.waits_for_holes = true;
    } else if (track.hole_entry + 1 < track.entries()) {
      holes_next_.push(
          {track.entry(track.hole_entry + 1).begin.since_start.count, static_cast<std::int32_t>(t)});
      track.waits_for_holes = true;
    }
  };
  for (std::size_t t = 0; t < tracks_.size(); ++t)
    if (!tracks_[t]->waits_for_holes) queue(t);
  while (!holes_next_.empty() && holes_next_.top().ticks < until) {
    const std::int64_t now = holes_next_.top().ticks;
    while (!holes_next_.empty() && holes_next_.top().ticks == now) {
      const auto t = static_cast<std::size_t>(holes_next_.top().track);
      holes_next_.pop();
      Track& track = *tracks_[t];
      track.waits_for_holes = false;
      const auto& before = track.entry(track.hole_entry);
      if (before.growth[hole] != 0 && track.hole_step + 1 < before.series.steps) {
        ++track.hole_step;
      } else {
        ++track.hole_entry;
        track.hole_step = 0;
      }
      const auto& entry = track.entry(track.hole_entry);
      const std::int64_t holes = entry.cells[hole] + track.hole_step * entry.growth[hole];
      holes_ += holes - track.holes;
      track.holes = holes;
      queue(t);
    }
    most_holes_ = std::max(most_holes_, holes_);
  }
}

}  // namespace kvplan::observe
