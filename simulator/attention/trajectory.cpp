#include "simulator/attention/trajectory.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "simulator/attention/replay.h"

namespace kvplan::attention {
namespace {

constexpr std::int64_t kPieceTokens = 256;  // tokens between two checks whether to stop

template <class T>
std::int64_t bytes_of_vector(const std::vector<T>& v) {
  return static_cast<std::int64_t>(v.capacity() * sizeof(T));
}

/// Name and parameters of the policy, except its placement.
std::string key_of(const PolicyChoice& policy) {
  std::string key(policy.choice.name());
  for (const Param& param : policy.choice.descriptor().params)
    if (param.name != kPlacementParam.name)
      key.append(",").append(param.name).append("=").append(policy.choice.text(param.name));
  return key;
}

}  // namespace

Status check_all_layers(const Recording& recording, std::int32_t sequence, bool for_rows) {
  const RecordingInfo& info = recording.info();
  for (std::int32_t number = 0; number < info.layers; ++number) {
    KVPLAN_TRY_DO(check_recorded_layer(recording, sequence, number));
    const LayerInfo layer = info.layer(number);
    const LayerInfo first = info.layer(0);
    const std::string what = "layer " + std::to_string(number);
    if (const std::string missing = missing_heads(layer); !missing.empty())
      return bad_input(missing + ": expected all heads of every layer").at_field(what);
    if (layer.query_heads != first.query_heads || layer.kv_heads != first.kv_heads)
      return bad_input("expected as many heads as in layer 0 (" + std::to_string(first.query_heads) + " on " +
                       std::to_string(first.kv_heads) + " KV heads), found " +
                       std::to_string(layer.query_heads) + " on " + std::to_string(layer.kv_heads))
          .at_field(what);
    if (for_rows && !layer.has_rows())
      return bad_input("has neither attention rows nor queries and keys").at_field(what);
  }
  return Done{};
}

Result<std::unique_ptr<Trajectory>> Trajectory::make(std::shared_ptr<const Recording> recording,
                                                     std::int32_t sequence, std::int64_t prompt,
                                                     const PolicyChoice& policy, const Grants& grants,
                                                     std::int64_t most_tokens) {
  const RecordingInfo& info = recording->info();
  const auto sequences = static_cast<std::int32_t>(info.sequences.size());
  if (sequence < 0 || sequence >= sequences)
    return bad_input("expected 0 to " + std::to_string(sequences - 1) + ", found " + std::to_string(sequence))
        .at_field("sequence");
  KVPLAN_TRY_DO(check_all_layers(*recording, sequence, policy.kind->traits(policy.choice).needs_recording()));
  const std::int64_t tokens = tokens_of_all_layers(*recording, sequence);
  if (prompt < 1 || prompt > tokens)
    return bad_input("expected a prompt of 1 to " + std::to_string(tokens) +
                     " tokens, the recorded length, found " + std::to_string(prompt))
        .at_field("prompt");
  KVPLAN_TRY(const std::int32_t group, group_of(policy, info));
  for (std::int32_t l = 0; l < info.layers; ++l) KVPLAN_TRY_DO(check_tensors(policy, info.layer(l), group));
  LayerPlace place = place_of(info, 0, group, prompt);
  KVPLAN_TRY_DO(check_tables(policy, info));
  KVPLAN_TRY_DO(check_recorded_for(policy, place, tokens));
  for (; place.layer < (grants.tokens.empty() ? 1 : info.layers); ++place.layer)
    KVPLAN_TRY_DO(policy_of_layer(policy, grants, place));
  place.layer = 0;
  return std::unique_ptr<Trajectory>(new Trajectory(std::move(recording), sequence, place, policy, grants,
                                                    std::min(tokens, std::max(prompt, most_tokens))));
}

Trajectory::Trajectory(std::shared_ptr<const Recording> recording, std::int32_t sequence,
                       const LayerPlace& place, PolicyChoice policy, Grants grants, std::int64_t tokens)
    : recording_(std::move(recording)),
      sequence_(sequence),
      place_(place),
      policy_(std::move(policy)),
      grants_(std::move(grants)),
      prompt_(place.prompt),
      tokens_(tokens),
      layers_(place.layers),
      kv_heads_(place.kv_heads()) {
  const PolicyTraits traits = policy_.kind->traits(policy_.choice);
  alike_ = traits.all_alike() && grants_.tokens.empty();
  if (alike_) {
    infos_.push_back({0, 0, layers_ * kv_heads_});
  } else {
    const std::int32_t sets = traits.scope == Scope::kLayer ? 1 : kv_heads_;
    const std::int32_t pairs = kv_heads_ / sets;
    for (std::int32_t layer = 0; layer < layers_; ++layer)
      for (std::int32_t set = 0; set < sets; ++set) infos_.push_back({layer, set * pairs, pairs});
  }
  tracks_.resize(infos_.size());
}

std::int32_t Trajectory::track_of(std::int32_t layer, std::int32_t kv_head) const {
  if (alike_) return 0;
  const auto per_layer = static_cast<std::int32_t>(tracks_.size()) / layers_;
  return layer * per_layer + kv_head / (kv_heads_ / per_layer);
}

Status Trajectory::advance(std::int64_t t, const StopAsked& stop_asked) {
  KVPLAN_CHECK(t >= 0 && t < tokens_, t, tokens_);
  if (t < computed_) return Done{};
  std::vector<Track> tracks(infos_.size());
  const std::size_t of_layer = alike_ ? 1 : tracks.size() / static_cast<std::size_t>(layers_);
  for (std::size_t first = 0; first < tracks.size(); first += of_layer)
    KVPLAN_TRY_DO(compute_layer(static_cast<std::int32_t>(first / of_layer), t + 1, stop_asked,
                                std::span(tracks).subspan(first, of_layer)));
  tracks_ = std::move(tracks);
  computed_ = t + 1;
  return Done{};
}

Status Trajectory::compute_layer(std::int32_t layer, std::int64_t end, const StopAsked& stop_asked,
                                 std::span<Track> tracks) const {
  LayerPlace place = place_;
  place.layer = layer;
  KVPLAN_TRY(const PolicyChoice policy, policy_of_layer(policy_, grants_, place));
  LayerReplay replay(policy, place, false, stop_asked);
  KVPLAN_TRY_DO(replay.foresee(*recording_, sequence_, tokens_));
  for (Track& track : tracks) track.drop_begin.push_back(0);
  std::unique_ptr<LayerRows> rows;
  for (std::int64_t t = 0; t < end; ++t) {
    // A policy that looks ahead may have worked long on one step, or have stopped in the middle of it.
    const bool may_stop = t % kPieceTokens == 0 || replay.traits().foresight;
    if (may_stop && stop_asked && stop_asked()) return interrupted_error();
    const bool reads = replay.needs_rows(t);
    if (reads && rows == nullptr) {
      KVPLAN_TRY(rows, recording_->open(sequence_, layer));
    }
    if (reads) KVPLAN_TRY_DO(rows->seek(t));
    replay.step(reads ? rows.get() : nullptr);
    for (std::size_t set = 0; set < tracks.size(); ++set)
      record(tracks[set], replay.dropped(static_cast<std::int32_t>(set)), t);
  }
  if (replay.traits().foresight && stop_asked && stop_asked()) return interrupted_error();
  for (Track& track : tracks) {
    track.drops.shrink_to_fit();
    track.drop_begin.shrink_to_fit();
  }
  return Done{};
}

void Trajectory::record(Track& track, std::span<const std::int32_t> dropped, std::int64_t t) const {
  track.drops.insert(track.drops.end(), dropped.begin(), dropped.end());
  // The prompt is one step: tokens dropped while it is fed count as dropped at its end.
  if (t == prompt_ - 1) std::sort(track.drops.begin(), track.drops.end());
  if (t >= prompt_ - 1) track.drop_begin.push_back(static_cast<std::int64_t>(track.drops.size()));
}

std::span<const std::int32_t> Trajectory::dropped(std::int32_t track, std::int64_t t) const {
  KVPLAN_CHECK(t < computed_, t, computed_);
  if (t < prompt_ - 1) return {};
  const Track& it = tracks_[static_cast<std::size_t>(track)];
  const auto step = static_cast<std::size_t>(t - (prompt_ - 1));
  const auto begin = static_cast<std::size_t>(it.drop_begin[step]);
  const auto end = static_cast<std::size_t>(it.drop_begin[step + 1]);
  return std::span<const std::int32_t>(it.drops).subspan(begin, end - begin);
}

std::int64_t Trajectory::kept_count(std::int32_t track, std::int64_t t) const {
  KVPLAN_CHECK(t < computed_, t, computed_);
  if (t < prompt_ - 1) return t + 1;
  return t + 1 -
         tracks_[static_cast<std::size_t>(track)].drop_begin[static_cast<std::size_t>(t - (prompt_ - 1)) + 1];
}

std::vector<std::int32_t> Trajectory::kept(std::int32_t track, std::int64_t t) const {
  const auto& drops = tracks_[static_cast<std::size_t>(track)].drops;
  std::vector<bool> gone(static_cast<std::size_t>(t + 1));
  for (std::int64_t i = 0; i < t + 1 - kept_count(track, t); ++i)
    gone[static_cast<std::size_t>(drops[static_cast<std::size_t>(i)])] = true;
  std::vector<std::int32_t> out;
  for (std::int64_t p = 0; p <= t; ++p)
    if (!gone[static_cast<std::size_t>(p)]) out.push_back(static_cast<std::int32_t>(p));
  return out;
}

std::int64_t Trajectory::bytes() const {
  auto sum = static_cast<std::int64_t>(sizeof(*this)) + bytes_of_vector(infos_) + bytes_of_vector(tracks_) +
             bytes_of_vector(grants_.tokens);
  for (const Track& track : tracks_) sum += bytes_of_vector(track.drops) + bytes_of_vector(track.drop_begin);
  for (const auto& layer : grants_.tokens) sum += bytes_of_vector(layer);
  return sum;
}

// ---- the store ----

namespace {

/// Time between two checks of a waiting run whether to stop.
constexpr std::chrono::milliseconds kPatience{20};

}  // namespace

/// An entry that one thread computes; other threads that want it wait until this object is gone.
class TrajectoryStore::Work {
 public:
  /// REQUIRES: the store is locked.
  Work(TrajectoryStore& store, Entries::iterator entry) : store_(store), entry_(entry) {
    entry->in_work = true;
    ++store.computations_;
  }
  ~Work() {
    {
      const std::lock_guard lock(store_.mutex_);
      entry_->in_work = false;
      if (entry_->trajectory == nullptr) store_.entries_.erase(entry_);
    }
    store_.work_ended_.notify_all();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// From now on the store returns this trajectory.
  void done(const std::shared_ptr<const Trajectory>& made) {
    const std::lock_guard lock(store_.mutex_);
    if (entry_->trajectory != nullptr) store_.bytes_ -= entry_->trajectory->bytes();
    entry_->trajectory = made;
    store_.bytes_ += made->bytes();
    store_.forget_old();
  }

 private:
  TrajectoryStore& store_;
  const Entries::iterator entry_;
};

Result<std::shared_ptr<const Trajectory>> TrajectoryStore::get(
    const std::shared_ptr<const Recording>& recording, std::int32_t sequence, std::int64_t prompt,
    std::int64_t last, const PolicyChoice& policy, const Grants& grants, const StopAsked& stop_asked) {
  const bool looks_ahead = policy.kind->traits(policy.choice).foresight;
  const std::int64_t tokens = looks_ahead ? last + 2 : INT64_MAX;
  const Key key{recording, sequence, prompt, tokens, key_of(policy), policy.recorded, policy.tables, grants};
  std::unique_lock lock(mutex_);
  auto entry = find(key);
  while (!known(entry, last) && entry != entries_.end() && entry->in_work) {
    work_ended_.wait_for(lock, kPatience);
    if (stop_asked && stop_asked()) return interrupted_error();
    entry = find(key);
  }
  if (entry == entries_.end()) entry = entries_.insert(entry, {key, nullptr, 0, false});
  entry->used = ++clock_;
  if (known(entry, last)) return entry->trajectory;
  Work work(*this, entry);
  lock.unlock();
  KVPLAN_TRY(std::shared_ptr<Trajectory> made,
             Trajectory::make(recording, sequence, prompt, policy, grants, tokens));
  KVPLAN_TRY_DO(made->advance(last, stop_asked));
  work.done(made);
  return std::shared_ptr<const Trajectory>(std::move(made));
}

TrajectoryStore::Entries::iterator TrajectoryStore::find(const Key& key) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
}

void TrajectoryStore::forget(Entries::iterator entry) {
  bytes_ -= entry->trajectory->bytes();
  entries_.erase(entry);
}

void TrajectoryStore::forget_old() {
  while (bytes_ > max_bytes_) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (!entry->in_work && entry->trajectory.use_count() == 1 &&
          (oldest == entries_.end() || entry->used < oldest->used))
        oldest = entry;
    if (oldest == entries_.end()) return;
    forget(oldest);
  }
}

void TrajectoryStore::forget_left_recordings() {
  const std::lock_guard lock(mutex_);
  // by recording: number of references that entries hold, from keys and trajectories
  std::map<const Recording*, long> own;
  for (const Entry& entry : entries_) own[entry.key.recording.get()] += entry.trajectory != nullptr ? 2 : 1;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!entry->in_work && own[entry->key.recording.get()] == entry->key.recording.use_count()) {
      own[entry->key.recording.get()] -= 2;
      forget(entry);
    }
    entry = next;
  }
}

std::int64_t TrajectoryStore::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(entries_.size());
}

std::int64_t TrajectoryStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::int64_t TrajectoryStore::computations() const {
  const std::lock_guard lock(mutex_);
  return computations_;
}

}  // namespace kvplan::attention
