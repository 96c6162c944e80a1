#include "simulator/io/event_recorder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/io/event_log_header.h"
#include "simulator/io/event_recorder_steps.h"

namespace kvplan::io {

namespace log = event_log;

namespace {

std::vector<std::int32_t> places_of(std::span<const BlockId> blocks) {
  std::vector<std::int32_t> out(blocks.size());
  std::transform(blocks.begin(), blocks.end(), out.begin(), [](BlockId block) { return number(block); });
  return out;
}

}  // namespace

EventRecorder::EventRecorder(const EventLogOptions& options, TotalsNow totals)
    : workload_(*options.workload),
      numbered_(has_block_ids(options.layout)),
      tree_(finds_in_tree(options)),
      by_alloc_units_(options.layout.table_by_alloc_units()),
      returns_alloc_units_(options.layout.returns_alloc_units()),
      track_units_(options.track_units),
      counted_(options.counted),
      rules_(options.rules),
      alloc_unit_tokens_(options.layout.alloc_unit_tokens),
      tables_(options.layout.tables),
      in_groups_(!options.layout.groups.empty()),
      entries_per_block_(std::max<std::int64_t>(std::ssize(options.layout.groups), 1)),
      cells_of_cell_(std::accumulate(track_units_.begin(), track_units_.end(), std::int64_t{0}) /
                     options.layout.cells_per_token),
      keep_(options.keep),
      totals_(std::move(totals)),
      steps_(std::make_unique<Steps>(*this)) {
  if (publishes(options)) names_.emplace(workload_, options.layout.alloc_unit_tokens);
}

EventRecorder::~EventRecorder() = default;

std::int64_t EventRecorder::open_since() const {
  return steps_->open_since();
}

void EventRecorder::write(log::Fact fact, log::Claims claims) {
  steps_->release();
  put({std::move(fact), std::move(claims)});
}

log::Claims EventRecorder::totals_now() const {
  log::Claims claims;
  claims.has_totals = true;
  claims.totals = totals_();
  return claims;
}

log::ContentKey EventRecorder::key(RequestId r, std::int64_t entry) const {
  const std::int64_t block = entry / entries_per_block_;
  return block < names_->shared_blocks(r)
             ? log::shared_key(names_->shared_name(r, block) * entries_per_block_ +
                               entry % entries_per_block_)
             : log::own_key(r, entry);
}

// ---- the scheduler ----

void EventRecorder::on_arrival(SimTime time, RequestId r, bool accepted) {
  const std::size_t i = index(r);
  const std::span<const std::uint32_t> ids =
      tree_ && accepted ? prefix_ids(r) : std::span<const std::uint32_t>();
  const auto named = static_cast<std::int32_t>(workload_.named_tokens(r));
  write(log::Arrival{time.since_start.count, r, workload_.input[i], workload_.output[i], accepted,
                     static_cast<std::int32_t>(ids.size()), rules_.priority_told(workload_.priority_of(r)),
                     !ids.empty() && named > workload_.input[i] ? named : 0});
  for (auto left = ids; !left.empty();) {
    const auto part = left.first(std::min(left.size(), static_cast<std::size_t>(log::kMostListed)));
    write(log::PrefixIds{r, {part.begin(), part.end()}});
    left = left.subspan(part.size());
  }
}

/// The token ids by which a prefix tree looks up a prompt.
std::span<const std::uint32_t> EventRecorder::prefix_ids(RequestId r) const {
  if (workload_.prefix == nullptr || !workload_.prefix->present()) return {};
  const std::size_t i = index(r);
  const auto begin = static_cast<std::size_t>(workload_.prefix->offsets[i]);
  const auto end = static_cast<std::size_t>(workload_.prefix->offsets[i + 1]);
  return std::span(workload_.prefix->ids).subspan(begin, end - begin);
}

void EventRecorder::on_pass_begin(SimTime time) {
  mixed_batch_ = false;
  steps_->hold({log::PassBegin{time.since_start.count}, {}});
}

void EventRecorder::on_preempt(const core::Release& release) {
  write(log::Preempt{release.request, release.written},
        kept_at_the_end(release.request, release.written, false));
}

void EventRecorder::on_admit(const core::Admission& admission) {
  const std::int64_t blocks = admission.hit_tokens / alloc_unit_tokens_;
  const log::Admit empty{admission.request, {}, {}, tree_ ? blocks : 0, in_groups_ ? blocks : 0};
  log::Admit fact = empty;
  log::Claims claims;
  const auto flush = [&] { write(std::exchange(fact, empty), std::exchange(claims, {})); };
  for (std::size_t entry = 0; entry < admission.hits.size(); ++entry) {
    const BlockId block = admission.hits[entry];
    if (block == kNoBlock) continue;  // the layers' window shows no token of this block
    if (fact.hit_keys.size() == static_cast<std::size_t>(log::kMostListed)) flush();
    fact.hit_publications.push_back(publication_of_[index(block)]);
    fact.hit_keys.push_back(key(admission.request, static_cast<std::int64_t>(entry)));
    claims.places.push_back(number(block));
  }
  flush();
}

void EventRecorder::write_grant(RequestId r, std::int64_t first_block, std::int64_t alloc_units,
                                std::span<const BlockId> blocks, std::int64_t tensor_tokens) {
  if (!by_alloc_units_ || !numbered_) {
    log::Claims claims;
    claims.places = places_of(blocks);
    write(log::Grant{r, first_block, alloc_units, {}, tensor_tokens}, std::move(claims));
    return;
  }
  for (std::int64_t done = 0; done < alloc_units;) {
    const std::int64_t count = std::min(alloc_units - done, log::kMostListed);
    log::Grant fact{r, first_block + done, count, {}, 0};
    log::Claims claims;
    const auto part = blocks.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count));
    claims.places = places_of(part);
    if (names_) {
      const std::int64_t shared = names_->shared_blocks(r) * entries_per_block_;
      for (std::int64_t b = fact.first_block; b < std::min(fact.first_block + count, shared); ++b)
        fact.shared_keys.push_back(key(r, b));
    }
    write(std::move(fact), std::move(claims));
    done += count;
  }
}

void EventRecorder::on_move(const core::Move& move) {
  log::Claims claims;
  claims.places = {static_cast<std::int32_t>(move.range.to)};
  // The source of a copy is freed at the end of its step, so the next step is not like this one.
  mixed_batch_ = mixed_batch_ || !move.range.slides;
  write(log::Move{move.range.request, move.copied, move.range.slots, move.range.slides}, std::move(claims));
}

void EventRecorder::on_grant(const core::Grant& grant) {
  if (tables_ > 1)  // equal while the prompt is incomplete
    return write(log::Grant{grant.request,
                            grant.first_block / tables_,
                            grant.alloc_units / tables_,
                            {},
                            0,
                            0,
                            static_cast<std::int32_t>(tables_)});
  write_grant(grant.request, grant.first_block, grant.alloc_units, grant.blocks, grant.tensor_tokens);
}

void EventRecorder::on_decode_grants(std::span<const core::DecodeGrant> grants) {
  for (const core::DecodeGrant& grant : grants)
    if (tables_ > 1) {
      grant_tables(grant.request);
    } else {
      write_grant(grant.request, grant.logical_block, 1, {&grant.block, numbered_ ? 1U : 0U}, 0);
    }
}

void EventRecorder::on_hold_back(RequestId r) {
  mixed_batch_ = true;
  write(log::HoldBack{r});
}

void EventRecorder::on_chunk(const core::Chunk& chunk) {
  mixed_batch_ = true;
  if (tables_ > 1) written_.at(chunk.request).chunk = chunk.tokens;
  write(log::Chunk{chunk.request, chunk.computed, chunk.tokens});
}

void EventRecorder::on_pass_end(const core::Pass& pass) {
  // The log also gets an event when requests begin or cease to be refused: free memory becomes stranded or usable.
  if (pass.refused != std::exchange(refused_, pass.refused)) steps_->release();
  log::Claims claims = totals_now();
  claims.running = pass.running;
  claims.waiting = pass.waiting;
  steps_->hold({log::PassEnd{pass.refused}, std::move(claims)});
}

void EventRecorder::on_steps(const core::Steps& steps) {
  steps_in_progress_ = steps.series.steps;
  if (!mixed_batch_ && steps_->may_go_on()) {
    steps_->append(steps.series);
  } else {
    steps_->begin(steps.pass.time.since_start.count, steps.series, !mixed_batch_);
  }
}

// ---- the end of a step ----

void EventRecorder::on_step_end(SimTime time, std::span<const RequestId> finishing) {
  for (auto& [r, written] : written_) {
    if (written.chunk == 0 && written.tokens >= courses_.at(r)->shape().prompt)
      written.tokens += steps_in_progress_;
    written.tokens += std::exchange(written.chunk, 0);
  }
  if (!finishing.empty()) steps_->release();
  steps_->hold({log::StepEnd{time.since_start.count, {finishing.begin(), finishing.end()}}, totals_now()});
}

void EventRecorder::on_first_token(SimTime /*time*/, RequestId request) {
  write(log::FirstToken{request});
}

void EventRecorder::on_drop(const core::Drop& drop) {
  sliding_.insert(drop.request);
  emptied_ = keep_.emptied(drop.begin_before, drop.begin, alloc_unit_tokens_);
  const std::int64_t released = returns_alloc_units_ ? emptied_.blocks() : 0;
  write(log::Drop{drop.request, drop.sink, drop.begin, released == 0 ? 0 : emptied_.first, released});
}

void EventRecorder::on_finish(SimTime /*time*/, const core::Release& release) {
  write(log::Finish{release.request, release.written},
        kept_at_the_end(release.request, release.written, true));
}

void EventRecorder::on_settled(SimTime time, const core::PoolCounts& /*pool*/) {
  steps_->hold({log::Settled{time.since_start.count}, totals_now()});
}

void EventRecorder::on_end(SimTime time) {
  write(log::End{time.since_start.count});
}

// ---- contents ----

void EventRecorder::on_insert(RequestId request, std::int64_t logical_block, BlockId block) {
  const std::size_t at = index(block);
  if (at >= publication_of_.size()) publication_of_.resize(at + 1, -1);
  publication_of_[at] = publications_++;
  write(log::Publish{request, logical_block, key(request, logical_block)});
}

void EventRecorder::on_evict_block(BlockId block) {
  write(log::Reclaim{std::exchange(publication_of_[index(block)], -1), 0});
}

void EventRecorder::on_settle(const core::Settled& settled) {
  write(log::Settle{settled.request, settled.to});
}

void EventRecorder::on_evict_pages(std::int64_t first_page, std::int64_t pages) {
  write(log::Reclaim{first_page, pages});
}

}  // namespace kvplan::io
