#include "validator/replay/told_drops.h"

#include <climits>

namespace kvplan::validator {
namespace {

constexpr std::int32_t kNever = INT32_MAX;

}  // namespace

ToldDrops::ToldDrops(std::int64_t prompt, std::int64_t final_tokens, std::int64_t tracks)
    : prompt_(prompt),
      final_tokens_(final_tokens),
      count_(tracks),
      complete_(prompt == final_tokens),
      n_(prompt) {}

std::string ToldDrops::add(std::span<const std::int32_t> numbers) {
  if (tracks_.empty()) {
    tracks_.resize(at(count_));
    for (Track& track : tracks_) track.gone_at.assign(at(final_tokens_), kNever);
  }
  for (const std::int32_t number : numbers) {
    if (complete_) return "evicts after its last token";
    Track& track = tracks_[at(track_)];
    if (left_ < 0) {
      left_ = number;
      latest_ = -1;
      if (left_ > n_) return "drops " + std::to_string(number) + " of " + std::to_string(n_) + " tokens";
    } else {
      if (number <= latest_ || number >= n_)
        return "drops token " + std::to_string(number) + " out of order when " + std::to_string(n_) +
               " are written";
      if (track.gone_at[at(number)] != kNever) return "drops token " + std::to_string(number) + " twice";
      track.gone_at[at(number)] = static_cast<std::int32_t>(n_);
      track.tokens.push_back(number);
      latest_ = number;
      --left_;
    }
    if (left_ > 0) continue;
    left_ = -1;
    track.end.push_back(static_cast<std::int32_t>(track.tokens.size()));
    if (++track_ < count_) continue;
    track_ = 0;
    complete_ = ++n_ == final_tokens_;
  }
  return {};
}

std::string ToldDrops::add_counts(std::int64_t tracks, std::span<const std::int32_t> runs) {
  if (complete_ || tracks > count_ - track_) return "has counts for more token groups than there are";
  Track track;
  std::int64_t gone = 0;
  std::int64_t n = prompt_;
  for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
    if (runs[i + 1] > final_tokens_ - n) return "evicts after its last token";
    for (const std::int64_t end = n + runs[i + 1]; n < end; ++n) {
      gone += runs[i];
      if (gone > n) return "drops " + std::to_string(gone) + " of " + std::to_string(n) + " tokens";
      track.end.push_back(static_cast<std::int32_t>(gone));
    }
  }
  if (n < final_tokens_) return "has counts up to " + std::to_string(n) + " tokens only";
  tracks_.push_back(std::move(track));
  alike_.insert(alike_.end(), at(tracks), static_cast<std::int32_t>(tracks_.size() - 1));
  track_ += tracks;
  complete_ = track_ == count_;
  return {};
}

}  // namespace kvplan::validator
