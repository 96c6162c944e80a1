#include "simulator/scheduling/sglang/prefill_batch.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/base/units.h"

namespace kvplan::scheduling::sglang {

PrefillBatch::PrefillBatch(const Params& params, prefix::RadixPool& pool, std::span<Request* const> running,
                           double ratio)
    : params_(params),
      pool_(pool),
      running_(running),
      input_left_(params.max_prefill_tokens),
      chunk_left_(params.chunk_tokens) {
  for (const Request* request : running)
    kept_total_ += static_cast<double>(clipped(request->left_tokens())) * ratio;
}

double PrefillBatch::remaining_total() const {
  return static_cast<double>(pool_.available_tokens() + pool_.evictable_tokens()) - kept_total_;
}

std::int64_t PrefillBatch::remaining_current() const {
  return pool_.available_tokens() + pool_.evictable_tokens() - kept_current_;
}

std::int64_t PrefillBatch::in_pages(std::int64_t tokens) const {
  return ceil_div(tokens, pool_.page_tokens()) * pool_.page_tokens();
}

std::int64_t PrefillBatch::clipped(std::int64_t tokens) const {
  return std::min(tokens, params_.clip_tokens);
}

PrefillBatch::Answer PrefillBatch::answer() const {
  if (remaining_total() <= 0 || remaining_current() <= 0) return Answer::kNoToken;
  if (input_left_ <= 0 || (chunk_left_ && *chunk_left_ <= 0)) return Answer::kOther;
  return Answer::kContinue;
}

void PrefillBatch::charge(std::int64_t tokens, std::int64_t new_tokens) {
  const std::int64_t paged = in_pages(tokens);
  kept_total_ += static_cast<double>(paged + new_tokens);
  kept_current_ += paged;
  input_left_ -= paged;
  if (chunk_left_) *chunk_left_ -= paged;
}

void PrefillBatch::join(Request& request, std::int64_t fill_tokens, std::int64_t charged_tokens, bool whole) {
  request.fill_tokens = fill_tokens;
  members_.push_back(&request);
  charge(charged_tokens, whole ? clipped(request.max_new) : 0);
}

void PrefillBatch::join_cut(Request& request, std::int64_t fill_tokens, std::int64_t tokens) {
  KVPLAN_CHECK(cut_ == nullptr, request.id);
  join(request, fill_tokens, tokens, false);
  cut_ = &request;
}

bool PrefillBatch::go_on(Request& request) {
  const std::int64_t rest = request.all_tokens() - request.held.settled_tokens;
  // Chunks that end within a page take memory ahead of their count, so the remaining number may be negative.
  const std::int64_t room = std::max<std::int64_t>(0, static_cast<std::int64_t>(remaining_total()));
  const std::int64_t now = std::min({rest, chunk_left_.value_or(rest), room});
  join(request, request.held.settled_tokens + now, now, now == rest);
  return now < rest;
}

PrefillBatch::Answer PrefillBatch::ask(Request& request) {
  request.held = pool_.match(request.tokens, request.all_tokens() - 1);
  const std::size_t members = members_.size();
  const Answer answer =
      !pool_.prefix_cache() && params_.ignore_eos ? ask_by_ends(request) : ask_by_share(request);
  if (members_.size() == members) request.held = {};
  return answer;
}

PrefillBatch::Answer PrefillBatch::ask_by_share(Request& request) {
  const std::int64_t page = pool_.page_tokens();
  const std::int64_t found = request.held.settled_tokens;
  const std::int64_t tokens = request.all_tokens() - found, paged = in_pages(tokens);
  const auto needed = static_cast<double>(tokens + clipped(std::max<std::int64_t>(request.left_tokens(), 0)));
  if (needed >= remaining_total()) return Answer::kNoToken;
  if (paged >= input_left_ && !members_.empty()) return Answer::kOther;
  pool_.lock(request.held);
  if (needed >= remaining_total()) {
    pool_.unlock(request.held);
    return Answer::kNoToken;
  }
  if (!chunk_left_ || paged <= *chunk_left_) {
    join(request, request.all_tokens(), paged, true);
    return answer();
  }
  const std::int64_t piece = *chunk_left_ < page ? 0 : *chunk_left_ / page * page;
  if (piece == 0) {
    pool_.unlock(request.held);
    return Answer::kOther;
  }
  join_cut(request, found + piece, piece);
  return answer();
}

PrefillBatch::Answer PrefillBatch::ask_by_ends(Request& request) {
  const std::int64_t tokens = request.all_tokens(), paged = in_pages(tokens);
  const std::int64_t current = remaining_current();
  if (static_cast<double>(paged) > std::min(static_cast<double>(current), remaining_total()))
    return Answer::kNoToken;
  ends_.add(request, running_, members_);
  if (!ends_.enough(current - paged)) return Answer::kNoToken;
  if (!chunk_left_ || tokens <= *chunk_left_) {
    join(request, tokens, tokens, true);
    return answer();
  }
  if (*chunk_left_ <= 0) return Answer::kOther;  // below 0 only with chunk sizes that SGLang's server refuses
  join_cut(request, *chunk_left_, *chunk_left_);
  return answer();
}

void PrefillBatch::allocate() {
  std::int64_t tokens = 0;
  for (const Request* request : members_) tokens += request->fill_tokens - request->held.settled_tokens;
  const std::int64_t page = pool_.page_tokens();
  if (page > 1) tokens += static_cast<std::int64_t>(members_.size()) * page;
  pool_.make_room(tokens);
  for (const Request* request : members_) pool_.extend(request->held.settled_tokens, request->fill_tokens);
}

}  // namespace kvplan::scheduling::sglang
