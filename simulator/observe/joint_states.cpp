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

/// What one replica has told and what of it is merged.
class JointStates::Track final : public LedgerSink {
 public:
  Track(std::int64_t& waiting, const core::MemoryLayout& layout)
      : waiting_(waiting), quantum_(layout.quantum_counts()), has_kinds_(!layout.groups.empty()) {
    const std::size_t kinds = model::kinds_of(layout.groups).size();
    at_peak.kinds.resize(kinds);
    // Before anything is told everything is free.
    Entry nothing{};
    nothing.cells[index(State::kFree)] = layout.quanta * quantum_;
    if (has_kinds_) nothing.kinds.resize(2 * kinds);
    entries_.push_back(std::move(nothing));
  }

  /// From `begin` on; in step k of `series` each state has growth more than in the step before.
  struct Entry {
    SimTime begin;
    core::StepSeries series;
    StateCounts cells, growth;
    std::int64_t running;
    std::int64_t duplicates, unreachable, sharers;
    core::Refusal refusal;
    std::vector<StateCounts> kinds;  ///< held, then growth; empty where layers lie in no groups
  };

  void on_pool(SimTime /*time*/, const core::PoolCounts& pool, core::Refusal refusal) override {
    pool_ = pool;
    refusal_ = refusal;
  }
  void on_kinds(std::span<const StateCounts> held, std::span<const StateCounts> growth) override {
    kinds_.assign(held.begin(), held.end());
    kinds_.insert(kinds_.end(), growth.begin(), growth.end());
  }
  void on_span(const LedgerSpan& span) override {
    if (idle_since_ != span.begin || span.running != 0) put(span);
  }
  /// The others' sums are looked at before the idle span ends, and is told.
  void on_nothing_held(SimTime time, const StateCounts& cells) override {
    idle_since_ = time;
    put({time, time, {}, cells, {}, 0, 0});
  }

  [[nodiscard]] bool wants_nothing_held() const override { return true; }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  [[nodiscard]] const Entry& at(std::int64_t i) const { return entries_[static_cast<std::size_t>(i)]; }
  /// Entries before `latest` are merged and over; it is what counts until the next one begins.
  void forget_before(std::int64_t latest) {
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(latest));
    hole_entry = std::max<std::int64_t>(hole_entry - latest, 0);
  }
  /// The latest entry that begins by then.
  [[nodiscard]] std::int64_t entry_at(SimTime moment) const {
    const auto behind = std::upper_bound(entries_.begin(), entries_.end(), moment,
                                         [](SimTime time, const Entry& e) { return time < e.begin; });
    return behind - entries_.begin() - 1;
  }

  struct AtPeak {
    StateCounts cells{};
    OverlayCounts overlays{};
    std::vector<StateCounts> kinds;
  };
  void remember(SimTime moment) {
    const Entry& e = at(entry_at(moment));
    const std::int64_t step = core::step_at(e.series, (moment - e.begin).count);
    for (std::size_t s = 0; s < kStates; ++s) at_peak.cells[s] = e.cells[s] + step * e.growth[s];
    const std::size_t kinds = e.kinds.size() / 2;
    for (std::size_t k = 0; k < kinds; ++k)
      for (std::size_t s = 0; s < kStates; ++s)
        at_peak.kinds[k][s] = e.kinds[k][s] + step * e.kinds[kinds + k][s];
    const core::PoolCounts pool{
        .duplicates = e.duplicates, .unreachable = e.unreachable, .sharers = e.sharers};
    at_peak.overlays = overlays_of(e.cells, pool, e.refusal, quantum_);
  }

  AtPeak at_peak;
  bool any_holes{false};              // so far
  std::int64_t taken{0}, running{0};  // as of what is merged
  std::int64_t hole_entry{0}, hole_step{0}, holes{0};
  bool waits_for_holes{false};  // it is in the queue of holes

 private:
  void put(const LedgerSpan& span) {
    any_holes = any_holes || span.cells[index(State::kHole)] != 0 || span.growth[index(State::kHole)] != 0;
    entries_.push_back({span.begin, span.series, span.cells, span.growth, span.running, pool_.duplicates,
                        pool_.unreachable, pool_.sharers, refusal_, kinds_});
    ++waiting_;
  }

  std::int64_t& waiting_;
  std::int64_t quantum_;
  bool has_kinds_;
  core::PoolCounts pool_{};
  core::Refusal refusal_{core::Refusal::kNone};
  std::vector<StateCounts> kinds_;
  std::optional<SimTime> idle_since_;  // nothing was held then; told already
  std::deque<Entry> entries_;          // the first is what counts, the others wait
};

JointStates::JointStates(std::int64_t replicas, const core::MemoryLayout& layout)
    : whole_(layout.quanta * layout.quantum_counts()) {
  for (std::int64_t i = 0; i < replicas; ++i) tracks_.push_back(std::make_unique<Track>(waiting_, layout));
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

void JointStates::merge(SimTime until) {
  if (std::any_of(tracks_.begin(), tracks_.end(), [](const auto& track) { return track->any_holes; }))
    merge_holes(until.since_start.count);
  merge_available(until.since_start.count);
}

void JointStates::merge_available(std::int64_t until) {
  /// An entry that begins.
  struct Begin {
    std::int64_t ticks;
    std::int32_t track;
    std::int64_t entry;
    bool operator<(const Begin& other) const {
      if (ticks != other.ticks) return ticks < other.ticks;
      return track != other.track ? track < other.track : entry < other.entry;
    }
  };
  std::vector<Begin> begins;
  for (std::size_t t = 0; t < tracks_.size(); ++t)
    for (std::int64_t e = 1; e < tracks_[t]->size() && tracks_[t]->at(e).begin.since_start.count < until; ++e)
      begins.push_back({tracks_[t]->at(e).begin.since_start.count, static_cast<std::int32_t>(t), e});
  std::sort(begins.begin(), begins.end());
  bool peaked = false;
  for (std::size_t i = 0; i < begins.size();) {
    const std::int64_t now = begins[i].ticks;
    bool passes = false;  // memory is taken in passes only; before the first there is no peak
    for (; i < begins.size() && begins[i].ticks == now; ++i) {
      Track& track = *tracks_[static_cast<std::size_t>(begins[i].track)];
      const auto& entry = track.at(begins[i].entry);
      const std::int64_t taken = whole_ - available(entry.cells);
      taken_ += taken - track.taken;
      track.taken = taken;
      running_ += entry.running - track.running;
      track.running = entry.running;
      passes = passes || entry.running > 0;
    }
    max_running_ = std::max(max_running_, running_);
    if (passes && taken_ > most_taken_) {
      most_taken_ = taken_;
      peak_time_ = SimTime{Ticks{now}};
      peaked = true;
    }
  }
  if (peaked)
    for (const auto& track : tracks_) track->remember(peak_time_);
  waiting_ -= static_cast<std::int64_t>(begins.size());
  // Each replica's latest entry goes on counting; holes are merged as far.
  std::vector<std::int64_t> latest(tracks_.size(), 0);
  for (const Begin& begin : begins) latest[static_cast<std::size_t>(begin.track)] = begin.entry;
  for (std::size_t t = 0; t < tracks_.size(); ++t) tracks_[t]->forget_before(latest[t]);
}

void JointStates::merge_holes(std::int64_t until) {
  const auto hole = index(State::kHole);
  const auto queue = [&](std::size_t t) {  // the moment at which its holes change next
    Track& track = *tracks_[t];
    const auto& entry = track.at(track.hole_entry);
    if (entry.growth[hole] != 0 && track.hole_step + 1 < entry.series.steps) {
      const Wide ticks = Wide{entry.begin.since_start.count} + entry.series.span(track.hole_step + 1);
      holes_next_.push({static_cast<std::int64_t>(ticks), static_cast<std::int32_t>(t)});
      track.waits_for_holes = true;
    } else if (track.hole_entry + 1 < track.size()) {
      holes_next_.push(
          {track.at(track.hole_entry + 1).begin.since_start.count, static_cast<std::int32_t>(t)});
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
      const auto& before = track.at(track.hole_entry);
      if (before.growth[hole] != 0 && track.hole_step + 1 < before.series.steps) {
        ++track.hole_step;
      } else {
        ++track.hole_entry;
        track.hole_step = 0;
      }
      const auto& entry = track.at(track.hole_entry);
      const std::int64_t holes = entry.cells[hole] + track.hole_step * entry.growth[hole];
      holes_ += holes - track.holes;
      track.holes = holes;
      queue(t);
    }
    most_holes_ = std::max(most_holes_, holes_);
  }
}

}  // namespace kvplan::observe
