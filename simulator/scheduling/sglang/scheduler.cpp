#include "simulator/scheduling/sglang/scheduler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/scheduling/sglang/decode_room.h"
#include "simulator/scheduling/sglang/prefill_batch.h"
#include "simulator/scheduling/sglang/queue_order.h"

namespace kvplan::scheduling::sglang {
namespace {

void settle(prefix::RadixPool& pool, Request& request) {
  pool.settle(request.held, request.tokens, request.fill_tokens);
}

}  // namespace

void Scheduler::join(Request request) {
  requests_.push_back(std::move(request));
  waiting_.push_back(&requests_.back());
}

const Decision& Scheduler::begin_step() {
  decision_.kind = StepKind::kIdle;
  decision_.batch.clear();
  decision_.retracted.clear();
  decision_.refused = false;
  outcomes_.clear();
  take_over_prefill();
  if (!form_prefill()) decode();
  return decision_;
}

void Scheduler::take_over_prefill() {
  if (chunked_ != nullptr) settle(pool_, *chunked_);
  const std::size_t prefilled = batch_.size();
  std::erase_if(batch_, [&](const Request* request) { return request == chunked_ || request->ended(); });
  if (batch_.size() < prefilled) full_ = false;
  // If no request runs, the batch becomes the running batch with its own flag, which is not set.
  if (running_.empty() && !batch_.empty()) full_ = false;
  running_.insert(running_.end(), batch_.begin(), batch_.end());
  batch_.clear();
}

bool Scheduler::form_prefill() {
  if ((full_ || waiting_.empty()) && chunked_ == nullptr) return false;
  const std::int64_t places = params_.max_running - running();
  if (places <= 0 && chunked_ == nullptr) {
    full_ = true;
    return false;
  }
  if (params_.order == QueueOrder::kLongestPrefix && pool_.prefix_cache()) {
    order_by_longest_prefix(waiting_, pool_);
    ++queue_changes_;
  }
  PrefillBatch batch(params_, pool_, running_, ratio_.value());
  if (chunked_ != nullptr && !batch.go_on(*chunked_)) chunked_ = nullptr;
  const std::size_t from_before = batch.members().size();
  for (Request* const request : waiting_) {
    if (static_cast<std::int64_t>(batch.members().size()) >= places) full_ = true;
    if (full_) break;
    const std::size_t members = batch.members().size();
    const PrefillBatch::Answer answer = batch.ask(*request);
    if (answer == PrefillBatch::Answer::kNoToken) {
      full_ = true;
      decision_.refused = batch.members().size() == members;
    }
    if (answer != PrefillBatch::Answer::kContinue) break;
  }
  if (batch.members().empty()) return false;
  batch_ = batch.members();
  decision_.kind = StepKind::kPrefill;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const Request& request = *batch_[i];
    Share share{.request = request.id, .tokens = request.fill_tokens - request.held.settled_tokens};
    share.admitted = i >= from_before;
    if (share.admitted) {
      share.hit_tokens = request.held.settled_tokens;
      waiting_.pop_front();  // the joining request is always the first of the remaining ones
      ++queue_changes_;
    }
    decision_.batch.push_back(share);
  }
  if (batch.cut() != nullptr) {
    KVPLAN_CHECK(chunked_ == nullptr, chunked_->id);
    chunked_ = batch.cut();
  }
  batch.allocate();
  return true;
}

void Scheduler::decode() {
  const std::size_t before = running_.size();
  std::erase_if(running_, [](const Request* request) { return request->ended(); });
  if (running_.empty()) {
    if (before > 0) full_ = false;
    ratio_.nothing_ran();
    return;
  }
  if (make_decode_room(pool_, running_)) {
    ratio_.room_was_enough();
  } else {
    decision_.refused = true;
    retract_some();
  }
  if (running_.size() < before) full_ = false;
  take_decode_slots(pool_, running_);
  decision_.kind = StepKind::kDecode;
  for (const Request* request : running_) decision_.batch.push_back({.request = request->id, .tokens = 1});
}

void Scheduler::retract_some() {
  for (Request* const request : retract(pool_, running_, params_.retract_decode_steps)) {
    decision_.retracted.push_back(request->id);
    waiting_.push_back(request);
  }
  std::int64_t generated = 0, max_new = 0;
  for (const Request* request : running_) {
    generated += request->generated;
    max_new += request->max_new;
  }
  ratio_.retracted(generated, max_new, running(), params_.retract_decode_steps);
}

std::int64_t Scheduler::alike_steps(std::int64_t most_pages) const {
  const bool asks_none = chunked_ == nullptr && (waiting_.empty() || full_);
  if (decision_.kind != StepKind::kDecode || !asks_none) return 1;
  const std::int64_t page = pool_.page_tokens();
  std::int64_t steps = INT64_MAX;
  std::vector<std::int64_t> beginning(static_cast<std::size_t>(page),
                                      0);  // by tokens written, modulo the page size
  for (const Request* request : running_) {
    steps = std::min(steps, request->last_token() - request->generated);
    ++beginning[static_cast<std::size_t>(request->written_tokens() % page)];
  }
  // Before each step there must be a page for every request, needed or not; otherwise SGLang evicts.
  std::int64_t available = pool_.available_tokens(), pages = 0;
  for (std::int64_t step = 1; step < steps; ++step) {
    if (available < running() * page || pages > most_pages) return step;
    const std::int64_t taken = beginning[static_cast<std::size_t>((page - step % page) % page)];
    available -= taken * page;
    pages += taken;
  }
  return steps;
}

void Scheduler::decode_on(std::int64_t steps) {
  for (Request* const request : running_) {
    // A step has a slot for the token that it writes, which is the last token generated before the step.
    const std::int64_t written = request->written_tokens() + 1;
    pool_.extend(written, written + steps - 1);
    request->generated += steps - 1;
  }
  ratio_.room_was_enough(steps - 1);
}

std::span<const Outcome> Scheduler::end_step() {
  const bool prefill = decision_.kind == StepKind::kPrefill;
  const auto give_token = [&](Request& request) {
    ++request.generated;
    outcomes_.push_back({request.id, request.ended(), request.generated == 1, prefill});
    if (request.ended()) {
      pool_.finish(request.held, request.tokens, request.written_tokens());
      request.tokens = {};
    } else if (prefill) {
      settle(pool_, request);
    }
  };
  if (prefill) {
    for (Request* const request : batch_)
      if (request != chunked_) give_token(*request);
  } else if (decision_.kind == StepKind::kDecode) {
    for (Request* const request : running_) give_token(*request);
  }
  return outcomes_;
}

}  // namespace kvplan::scheduling::sglang
