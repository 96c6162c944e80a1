#include "simulator/attention/trajectory.h"

#include <algorithm>
#include <utility>

namespace kvplan::attention {
namespace {

constexpr std::int32_t kNever = INT32_MAX;
/// Tokens computed at a time: few enough to stay lazy, enough to open each layer rarely.
constexpr std::int64_t kPieceTokens = 256;

template <class T>
std::int64_t bytes_of_vector(const std::vector<T>& v) {
  return static_cast<std::int64_t>(v.capacity() * sizeof(T));
}

/// Name and parameters, but for where tokens are placed.
std::string key_of(const PolicyChoice& policy) {
  std::string key(policy.choice.name());
  for (const Param& param : policy.choice.descriptor().params)
    if (param.name != kPlacementParam.name)
      key.append(",").append(param.name).append("=").append(policy.choice.text(param.name));
  return key;
}

/// A serving run needs every layer, all of the same heads.
Status check_all_layers(const Recording& recording, std::int32_t sequence) {
  const RecordingInfo& info = recording.info();
  for (std::int32_t number = 0; number < info.layers; ++number) {
    KVPLAN_TRY_DO(check_recorded_layer(recording, sequence, number));
    const LayerInfo layer = info.layer(number);
    const std::string what = "layer " + std::to_string(number);
    if (layer.query_heads != info.layer(0).query_heads || layer.kv_heads != info.layer(0).kv_heads ||
        layer.query_heads != layer.model_query_heads)
      return bad_input("expected all heads, and as many in every layer").at_field(what);
    if (!layer.has_rows())
      return bad_input("has neither attention rows nor queries with keys").at_field(what);
  }
  return Done{};
}

}  // namespace

Result<std::unique_ptr<Trajectory>> Trajectory::make(std::shared_ptr<const Recording> recording,
                                                     std::int32_t sequence, std::int64_t prompt,
                                                     const PolicyChoice& policy, const Grants& grants) {
  const RecordingInfo& info = recording->info();
  const auto sequences = static_cast<std::int32_t>(info.sequences.size());
  if (sequence < 0 || sequence >= sequences)
    return bad_input("expected 0 to " + std::to_string(sequences - 1) + ", found " + std::to_string(sequence))
        .at_field("sequence");
  KVPLAN_TRY_DO(check_all_layers(*recording, sequence));
  const LayerInfo layer = info.layer(0);
  const std::int64_t tokens = tokens_of_all_layers(*recording, sequence);
  if (prompt < 1 || prompt > tokens)
    return bad_input("expected a prompt of 1 to " + std::to_string(tokens) +
                     " tokens, the recorded length, found " + std::to_string(prompt))
        .at_field("prompt");
  KVPLAN_TRY(const std::int32_t group, group_of(policy, info));
  for (std::int32_t l = 0; l < info.layers; ++l) KVPLAN_TRY_DO(check_tensors(policy, info.layer(l), group));
  LayerPlace place{.layers = info.layers, .query_heads = layer.query_heads, .group = group, .prompt = prompt};
  KVPLAN_TRY_DO(check_recorded_for(policy, place, tokens));
  std::vector<PolicyChoice> policies;
  for (; place.layer < (grants.tokens.empty() ? 1 : info.layers); ++place.layer) {
    KVPLAN_TRY(PolicyChoice of_layer, policy_of_layer(policy, grants, place));
    policies.push_back(std::move(of_layer));
  }
  return std::unique_ptr<Trajectory>(
      new Trajectory(std::move(recording), sequence, prompt, std::move(policies), group));
}

Trajectory::Trajectory(std::shared_ptr<const Recording> recording, std::int32_t sequence, std::int64_t prompt,
                       std::vector<PolicyChoice> policies, std::int32_t group)
    : recording_(std::move(recording)),
      sequence_(sequence),
      prompt_(prompt),
      policies_(std::move(policies)),
      tokens_(tokens_of_all_layers(*recording_, sequence)),
      layers_(recording_->info().layers),
      stored_heads_(recording_->info().layer(0).query_heads / group) {
  const std::int32_t query_heads = recording_->info().layer(0).query_heads;
  const PolicyTraits traits = policies_.front().kind->traits(policies_.front().choice);
  positional_ = traits.interval.has_value() && policies_.size() == 1;
  for (std::int32_t layer = 0; layer < (positional_ ? 1 : layers_); ++layer) {
    replays_.emplace_back(
        policies_[policies_.size() == 1 ? 0 : static_cast<std::size_t>(layer)],
        LayerPlace{
            .layer = layer, .layers = layers_, .query_heads = query_heads, .group = group, .prompt = prompt_},
        false);
    const std::int32_t sets = positional_ ? 1 : replays_.back().sets();
    const std::int32_t pairs = positional_ ? layers_ * stored_heads_ : stored_heads_ / sets;
    for (std::int32_t set = 0; set < sets; ++set) infos_.push_back({layer, set * pairs, pairs});
  }
  tracks_.resize(infos_.size());
  for (Track& track : tracks_) track.drop_begin.push_back(0);
}

std::int32_t Trajectory::track_of(std::int32_t layer, std::int32_t stored_head) const {
  if (positional_) return 0;
  const auto per_layer = static_cast<std::int32_t>(tracks_.size()) / layers_;
  return layer * per_layer + stored_head / (stored_heads_ / per_layer);
}

Status Trajectory::advance(std::int64_t t) {
  KVPLAN_CHECK(t >= 0 && t < tokens_, t, tokens_);
  if (t < computed_) return Done{};
  const std::int64_t end = std::min(tokens_, (t / kPieceTokens + 1) * kPieceTokens);
  for (std::int32_t layer = 0; layer < static_cast<std::int32_t>(replays_.size()); ++layer)
    KVPLAN_TRY_DO(advance_layer(layer, end));
  computed_ = end;
  return Done{};
}

Status Trajectory::advance_layer(std::int32_t layer, std::int64_t end) {
  LayerReplay& replay = replays_[static_cast<std::size_t>(layer)];
  std::unique_ptr<LayerRows> rows;
  if (replay.tokens() == 0) KVPLAN_TRY_DO(replay.foresee(*recording_, sequence_));
  // A failed advance may have left this layer ahead of the others.
  for (std::int64_t t = replay.tokens(); t < end; ++t) {
    const bool reads = replay.needs_rows(t);
    if (reads) {
      if (rows == nullptr) {
        KVPLAN_TRY(rows, recording_->open(sequence_, layer));
      }
      KVPLAN_TRY_DO(rows->seek(t));
    }
    replay.step(reads ? rows.get() : nullptr);
    const std::int32_t sets = positional_ ? 1 : replay.sets();
    for (std::int32_t set = 0; set < sets; ++set)
      record(tracks_[static_cast<std::size_t>(layer) * static_cast<std::size_t>(sets) +
                     static_cast<std::size_t>(set)],
             replay.dropped(set), t);
  }
  return Done{};
}

void Trajectory::record(Track& track, std::span<const std::int32_t> dropped, std::int64_t t) const {
  track.gone_after.push_back(kNever);
  for (const std::int32_t position : dropped) {
    const auto p = static_cast<std::size_t>(position);
    KVPLAN_CHECK(track.gone_after[p] == kNever, position);
    // The prompt is one step: what makes room while it is fed goes at its end.
    track.gone_after[p] = static_cast<std::int32_t>(std::max(t, prompt_ - 1));
    track.drops.push_back(position);
  }
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

bool Trajectory::keeps(std::int32_t track, std::int64_t position, std::int64_t t) const {
  KVPLAN_CHECK(t < computed_, t, computed_);
  return position <= t &&
         tracks_[static_cast<std::size_t>(track)].gone_after[static_cast<std::size_t>(position)] > t;
}

std::vector<std::int32_t> Trajectory::kept(std::int32_t track, std::int64_t t) const {
  std::vector<std::int32_t> out;
  for (std::int64_t p = 0; p <= t; ++p)
    if (keeps(track, p, t)) out.push_back(static_cast<std::int32_t>(p));
  return out;
}

std::int64_t Trajectory::bytes() const {
  std::int64_t sum = 0;
  for (const Track& track : tracks_)
    sum +=
        bytes_of_vector(track.gone_after) + bytes_of_vector(track.drops) + bytes_of_vector(track.drop_begin);
  return sum;
}

Result<std::shared_ptr<Trajectory>> TrajectoryStore::get(const std::shared_ptr<const Recording>& recording,
                                                         std::int32_t sequence, std::int64_t prompt,
                                                         const PolicyChoice& policy, const Grants& grants) {
  const std::string text = key_of(policy);
  ++clock_;
  for (Entry& entry : entries_) {
    if (entry.recording == recording.get() && entry.sequence == sequence && entry.prompt == prompt &&
        entry.policy == text && entry.grants == grants) {
      entry.used = clock_;
      return entry.trajectory;
    }
  }
  KVPLAN_TRY(std::shared_ptr<Trajectory> made, Trajectory::make(recording, sequence, prompt, policy, grants));
  entries_.push_back({recording.get(), sequence, prompt, text, grants, made, clock_});
  forget_old();
  return made;
}

void TrajectoryStore::forget_old() {
  std::int64_t total = 0;
  for (const Entry& entry : entries_) total += entry.trajectory->bytes();
  while (total > max_bytes_) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->trajectory.use_count() == 1 && (oldest == entries_.end() || entry->used < oldest->used))
        oldest = entry;
    if (oldest == entries_.end()) return;
    total -= oldest->trajectory->bytes();
    entries_.erase(oldest);
  }
}

}  // namespace kvplan::attention
