#include "simulator/scheduling/sglang/queue_order.h"

#include <algorithm>
#include <set>
#include <vector>

namespace kvplan::scheduling::sglang {

void order_by_longest_prefix(std::deque<Request*>& waiting, prefix::RadixPool& pool) {
  if (waiting.size() > kMostOrdered) return;
  struct Place {
    Request* request;
    std::int64_t key;  // lowest first
  };
  std::vector<Place> places;
  places.reserve(waiting.size());
  // SGLang keeps these in a second tree. If two have kSharedInQueue leading tokens in common, one of them waits.
  std::set<prefix::TokenSequence> beginnings;
  for (Request* const request : waiting) {
    const std::int64_t tokens = request->all_tokens();
    const std::int64_t cached = pool.match(request->tokens, tokens).settled_tokens;
    bool waits_for_another = false;
    if (cached <= kSharedInQueue && tokens >= kSharedInQueue) {
      prefix::TokenReader reader(request->tokens, tokens);
      waits_for_another = !beginnings.insert(reader.take(kSharedInQueue)).second;
    }
    places.push_back({request, waits_for_another ? INT64_MAX : -cached});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.key < b.key; });
  std::transform(places.begin(), places.end(), waiting.begin(),
                 [](const Place& place) { return place.request; });
}

}  // namespace kvplan::scheduling::sglang
