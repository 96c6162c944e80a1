#include "simulator/scheduling/sglang/run_to_ends.h"

#include <algorithm>

namespace kvplan::scheduling::sglang {

void RunToEnds::append(const Request& request) {
  if (request.left_tokens() > 0) ends_.push_back({request.left_tokens(), request.all_tokens()});
}

void RunToEnds::add(const Request& candidate, std::span<Request* const> running,
                    std::span<Request* const> batch) {
  if (!begun_) {
    begun_ = true;
    append(candidate);
    for (const Request* other : running) append(*other);
    for (const Request* other : batch) append(*other);
    std::stable_sort(ends_.begin(), ends_.end(),
                     [](const End& a, const End& b) { return a.left_tokens < b.left_tokens; });
    return;
  }
  const std::int64_t left = candidate.left_tokens();
  if (left <= 0) return;
  auto place =
      std::find_if(ends_.begin(), ends_.end(), [&](const End& end) { return left <= end.left_tokens; });
  if (place == ends_.end() && !ends_.empty()) --place;
  ends_.insert(place, {left, candidate.all_tokens()});
}

bool RunToEnds::enough(std::int64_t free_tokens) const {
  auto requests = static_cast<std::int64_t>(ends_.size());
  for (const End& end : ends_) {
    // One token for each request is kept in reserve.
    if (free_tokens - end.left_tokens * requests <= requests) return false;
    free_tokens += end.occupied_tokens;
    --requests;
  }
  return true;
}

}  // namespace kvplan::scheduling::sglang
