#include "simulator/scheduling/sglang/naive_scheduler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::scheduling::sglang {
namespace {

/// The value of a limit that is off: more than any batch has.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;
/// lpm: a queue longer than this is not sorted.
constexpr std::size_t kMostSorted = 128;
/// lpm: a request with at most this many cached tokens waits if another request of the queue begins with as many equal
/// tokens.
constexpr std::int64_t kEnoughCached = 32;

}  // namespace

NaiveScheduler::NaiveScheduler(const Params& params, NaiveMemory& memory) : params_(params), memory_(memory) {
  // Doubles in SGLang's order of operations: the last bit may decide.
  first_ratio_ = std::min(0.7 * params.conservativeness, 1.0);
  least_ratio_ = std::min(first_ratio_ * 0.14, 1.0);
  decay_ = (first_ratio_ - least_ratio_) / static_cast<double>(params.decay_steps);
  ratio_ = first_ratio_;
}

void NaiveScheduler::join(const NaiveRequest& request) {
  requests_.push_back(request);
  waiting_.push_back(&requests_.back());
}

const NaiveStep& NaiveScheduler::begin_step() {
  step_ = {};
  take_over_prefill();
  if (!form_prefill_batch()) decode();
  return step_;
}

// 1. Take over the latest prefill batch.

void NaiveScheduler::take_over_prefill() {
  if (chunked_ != nullptr) memory_.settle(chunked_->id, chunked_->held, chunked_->fill);
  std::vector<NaiveRequest*> go_on;
  for (NaiveRequest* const request : prefilled_)
    if (!request->ended() && request != chunked_) go_on.push_back(request);
  if (go_on.size() < prefilled_.size()) full_ = false;
  prefilled_.clear();
  if (go_on.empty()) return;
  // If no request runs, the prefill batch becomes the running batch with its own flag, which is not set.
  if (running_.empty()) full_ = false;
  running_.insert(running_.end(), go_on.begin(), go_on.end());
}

// 2. Prefill.

bool NaiveScheduler::form_prefill_batch() {
  if ((full_ || waiting_.empty()) && chunked_ == nullptr) return false;
  const std::int64_t places = params_.max_running - std::ssize(running_);
  if (places <= 0 && chunked_ == nullptr) {
    full_ = true;
    return false;
  }
  if (params_.order == QueueOrder::kLongestPrefix && memory_.prefix_cache()) order_queue();

  Attempt attempt{.batch = {},
                  .input_left = params_.max_prefill_tokens,
                  .chunk_left = params_.chunk_tokens.value_or(kNoLimit)};
  for (const NaiveRequest* request : running_)
    attempt.kept_total += static_cast<double>(clipped(request->max_new - request->generated)) * ratio_;
  if (chunked_ != nullptr) go_on(attempt);
  const std::size_t from_before = attempt.batch.size();
  for (NaiveRequest* const request : waiting_) {
    if (std::ssize(attempt.batch) >= places) full_ = true;
    if (full_) break;
    const Answer answer = ask(attempt, *request);
    if (answer == Answer::kNoToken) full_ = true;
    if (answer != Answer::kContinue) break;
  }
  if (attempt.batch.empty()) return false;
  if (attempt.cut != nullptr) {
    KVPLAN_CHECK(chunked_ == nullptr, attempt.cut->id);
    chunked_ = attempt.cut;
  }
  prefill(attempt, from_before);
  return true;
}

void NaiveScheduler::order_queue() {
  if (waiting_.size() > kMostSorted) return;
  std::vector<std::pair<double, NaiveRequest*>> keyed;
  std::vector<NaiveTokens> noted;
  for (NaiveRequest* const request : waiting_) {
    const std::int64_t cached = memory_.find(request->id, request->known()).settled;
    bool waits_for_another = false;
    if (cached <= kEnoughCached) {
      NaiveTokens beginning;
      for (std::int64_t p = 0; p < std::min(request->known(), kEnoughCached); ++p)
        beginning.push_back(memory_.token(request->id, p));
      waits_for_another = std::ssize(beginning) == kEnoughCached &&
                          std::find(noted.begin(), noted.end(), beginning) != noted.end();
      if (!waits_for_another) noted.push_back(beginning);
    }
    keyed.emplace_back(waits_for_another ? INFINITY : -static_cast<double>(cached), request);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  waiting_.clear();
  for (const auto& [key, request] : keyed) waiting_.push_back(request);
}

/// The request in the middle of its prefill joins first, with as many tokens as there is room for.
void NaiveScheduler::go_on(Attempt& attempt) {
  NaiveRequest& request = *chunked_;
  const std::int64_t rest = request.known() - request.held.settled;
  // Chunks that end within a page take memory ahead of their count, so the remaining number may be negative.
  const auto room = std::max<std::int64_t>(0, static_cast<std::int64_t>(remaining_total(attempt)));
  const std::int64_t now = std::min({rest, attempt.chunk_left, room});
  request.fill = request.held.settled + now;
  attempt.batch.push_back(&request);
  charge(attempt, now, now < rest ? 0 : clipped(request.max_new));
  if (now == rest) chunked_ = nullptr;
}

NaiveScheduler::Answer NaiveScheduler::ask(Attempt& attempt, NaiveRequest& request) {
  const std::size_t before = attempt.batch.size();
  const Answer answer = !memory_.prefix_cache() && params_.ignore_eos ? ask_by_ends(attempt, request)
                                                                      : ask_by_share(attempt, request);
  if (answer == Answer::kNoToken && attempt.batch.size() == before) step_.refused = true;
  return answer;
}

NaiveScheduler::Answer NaiveScheduler::ask_by_share(Attempt& attempt, NaiveRequest& request) {
  const NaiveHolding found = memory_.find(request.id, request.known() - 1);
  const std::int64_t tokens = request.known() - found.settled;
  const std::int64_t left = std::max<std::int64_t>(request.max_new - request.generated, 0);
  const auto needed = static_cast<double>(tokens + clipped(left));
  if (needed >= remaining_total(attempt)) return Answer::kNoToken;
  if (in_pages(tokens) >= attempt.input_left && !attempt.batch.empty()) return Answer::kOther;
  // The hit pages can no longer be evicted, so less memory remains.
  memory_.lock(found);
  if (needed >= remaining_total(attempt)) {
    memory_.unlock(found);
    return Answer::kNoToken;
  }
  std::int64_t now = tokens;
  if (in_pages(tokens) > attempt.chunk_left) {
    now = std::max<std::int64_t>(attempt.chunk_left, 0) / memory_.page_tokens() * memory_.page_tokens();
    if (now == 0) {
      memory_.unlock(found);
      return Answer::kOther;
    }
    attempt.cut = &request;
  }
  request.held = found;
  request.fill = found.settled + now;
  attempt.batch.push_back(&request);
  charge(attempt, now, attempt.cut == &request ? 0 : clipped(request.max_new));
  return answer_now(attempt);
}

/// Used without a prefix cache if no request ends early (add_one_req_ignore_eos): can all requests run to their ends,
/// in the order in which they end, each taking one token per step and freeing all its memory at its end?
NaiveScheduler::Answer NaiveScheduler::ask_by_ends(Attempt& attempt, NaiveRequest& request) {
  const std::int64_t tokens = request.known(), paged = in_pages(tokens);
  if (static_cast<double>(paged) >
      std::min(static_cast<double>(remaining_current(attempt)), remaining_total(attempt)))
    return Answer::kNoToken;

  const auto end_of = [](const NaiveRequest& r) { return End{r.max_new - r.generated, r.known()}; };
  std::vector<End>& ends = attempt.ends;
  if (!std::exchange(attempt.ends_begun, true)) {
    std::vector<const NaiveRequest*> all{&request};
    all.insert(all.end(), running_.begin(), running_.end());
    all.insert(all.end(), attempt.batch.begin(), attempt.batch.end());
    for (const NaiveRequest* r : all)
      if (r->generated < r->max_new) ends.push_back(end_of(*r));
    std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.left < b.left; });
  } else if (request.generated < request.max_new) {
    const End end = end_of(request);
    auto place = std::find_if(ends.begin(), ends.end(), [&](const End& e) { return end.left <= e.left; });
    if (place == ends.end() && !ends.empty()) --place;  // as in SGLang: before the request that ends last
    ends.insert(place, end);
  }
  std::int64_t room = remaining_current(attempt) - paged;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t requests = std::ssize(ends) - static_cast<std::int64_t>(i);
    if (room - ends[i].left * requests <= requests) return Answer::kNoToken;
    room += ends[i].occupied;
  }

  std::int64_t now = tokens;
  if (tokens > attempt.chunk_left) {
    if (attempt.chunk_left <= 0) return Answer::kOther;
    now = attempt.chunk_left;
    attempt.cut = &request;
  }
  request.fill = now;
  attempt.batch.push_back(&request);
  charge(attempt, now, now < tokens ? 0 : clipped(request.max_new));
  return answer_now(attempt);
}

double NaiveScheduler::remaining_total(const Attempt& attempt) const {
  return static_cast<double>(memory_.available() + memory_.evictable()) - attempt.kept_total;
}

std::int64_t NaiveScheduler::remaining_current(const Attempt& attempt) const {
  return memory_.available() + memory_.evictable() - attempt.kept_current;
}

void NaiveScheduler::charge(Attempt& attempt, std::int64_t tokens, std::int64_t new_tokens) const {
  attempt.kept_total += static_cast<double>(in_pages(tokens) + new_tokens);
  attempt.kept_current += in_pages(tokens);
  attempt.input_left -= in_pages(tokens);
  attempt.chunk_left -= in_pages(tokens);
}

NaiveScheduler::Answer NaiveScheduler::answer_now(const Attempt& attempt) const {
  if (remaining_total(attempt) <= 0 || remaining_current(attempt) <= 0) return Answer::kNoToken;
  if (attempt.input_left <= 0 || attempt.chunk_left <= 0) return Answer::kOther;
  return Answer::kContinue;
}

/// The batch leaves the queue and takes its memory; its first `from_before` requests were not in the queue.
void NaiveScheduler::prefill(const Attempt& attempt, std::size_t from_before) {
  step_.kind = NaiveStep::Kind::kPrefill;
  prefilled_ = attempt.batch;
  std::int64_t tokens = 0;
  for (const NaiveRequest* request : prefilled_) tokens += request->fill - request->held.settled;
  // If a page has several tokens, one page more is needed for each request.
  if (memory_.page_tokens() > 1) tokens += std::ssize(prefilled_) * memory_.page_tokens();
  memory_.make_room(tokens);
  for (std::size_t i = 0; i < prefilled_.size(); ++i) {
    NaiveRequest& request = *prefilled_[i];
    const bool admitted = i >= from_before;
    if (admitted) std::erase(waiting_, &request);
    take_pages(request, request.held.settled, request.fill, admitted);
  }
}

// 3. Decode, or 4. idle.

void NaiveScheduler::decode() {
  const std::size_t before = running_.size();
  std::erase_if(running_, [](const NaiveRequest* request) { return request->ended(); });
  if (running_.empty()) {
    if (before > 0) full_ = false;
    ratio_ = first_ratio_;
    return;
  }
  step_.kind = NaiveStep::Kind::kDecode;
  if (room_for_all(running_)) {
    ratio_ = std::max(ratio_ - decay_, least_ratio_);
  } else {
    step_.refused = true;
    retract();
  }
  if (running_.size() < before) full_ = false;
  // Makes room for a page for each request, even for those that need none.
  memory_.make_room(std::ssize(running_) * memory_.page_tokens());
  for (NaiveRequest* const request : running_)
    take_pages(*request, request->written(), request->written() + 1, false);
}

/// Evicts if too little seems to be free; returns true if there is room for all.
bool NaiveScheduler::room_for_all(const std::vector<NaiveRequest*>& requests) {
  std::int64_t needed = 0;
  for (const NaiveRequest* request : requests)
    if (request->written() % memory_.page_tokens() == 0) needed += memory_.page_tokens();
  memory_.make_room(needed);
  return memory_.available() >= needed;
}

/// Retracts the request with the fewest generated tokens, of these the one with the longest prompt, until the others
/// have room or one is left. The remaining requests keep the order of this sort.
void NaiveScheduler::retract() {
  std::stable_sort(running_.begin(), running_.end(), [](const NaiveRequest* a, const NaiveRequest* b) {
    return std::pair(-a->generated, a->prompt) < std::pair(-b->generated, b->prompt);
  });
  do {
    if (running_.size() == 1) break;
    NaiveRequest* const request = running_.back();
    running_.pop_back();
    step_.retracted.push_back(
        {request, request->written(), std::ssize(request->held.table), memory_.tree_tokens(request->held)});
    memory_.drop(request->held, request->written());
    waiting_.push_back(request);
    memory_.make_room(params_.retract_decode_steps * std::ssize(running_));
  } while (!room_for_all(running_));
  std::int64_t generated = 0, max_new = 0;
  for (const NaiveRequest* request : running_) {
    generated += request->generated;
    max_new += request->max_new;
  }
  const std::int64_t more = params_.retract_decode_steps * std::ssize(running_);
  ratio_ = std::min(1.0, static_cast<double>(generated + more) / static_cast<double>(max_new + 1));
}

// Parts that all kinds of steps share.

void NaiveScheduler::take_pages(NaiveRequest& request, std::int64_t from, std::int64_t to, bool admitted) {
  const std::int64_t before = std::ssize(request.held.table);
  memory_.extend(request.held, to);
  step_.batch.push_back(
      {&request, from, to - from, before, std::ssize(request.held.table) - before, admitted});
}

std::vector<NaiveRequest*> NaiveScheduler::due() const {
  std::vector<NaiveRequest*> due;
  for (const NaiveStep::Piece& piece : step_.batch)
    if (piece.request != chunked_) due.push_back(piece.request);
  return due;
}

void NaiveScheduler::give_token(NaiveRequest& request) {
  ++request.generated;
  if (request.ended()) {
    memory_.finish(request.id, request.held, request.written());
  } else if (step_.kind == NaiveStep::Kind::kPrefill) {
    memory_.settle(request.id, request.held, request.fill);
  }
}

std::vector<NaiveRequest*> NaiveScheduler::served() const {
  std::vector<NaiveRequest*> served;
  for (const auto* list : {&running_, &prefilled_})
    for (NaiveRequest* const request : *list)
      if (!request->ended()) served.push_back(request);
  return served;
}

std::int64_t NaiveScheduler::in_pages(std::int64_t tokens) const {
  const std::int64_t page = memory_.page_tokens();
  return (tokens + page - 1) / page * page;
}

std::int64_t NaiveScheduler::clipped(std::int64_t tokens) const {
  return std::min(tokens, params_.clip_tokens);
}

}  // namespace kvplan::scheduling::sglang
