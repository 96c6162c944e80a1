// The paged pool for runs in which the identity of blocks does not matter: no request can hit another's content, and no
// observer needs ids. The rules are those of allocator_paged.cpp; the bookkeeping is by runs of blocks.
//
// A request's blocks fill and are freed in the order of its tokens. So the queue of blocks that no request holds is a
// sequence of runs: logical blocks [low, high) of one request, handed out from `high` down, or a number of blocks
// without a name. Costs are per run: an admission, a grant and a release are a few runs, however long the request is.
//
// One content may have several copies: a preempted request hits its leading blocks, computes the rest again, and so
// makes a second copy of contents that are still in the queue. A run stores the admission of its request in which its
// contents were inserted. In one admission each content is made once, so the run with the lowest admission has the
// oldest copy, which a lookup finds.
#include <algorithm>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/paged_pool.h"
#include "simulator/memory/run_queue.h"

namespace kvplan::memory {
namespace {

using core::MemoryLayout;
using core::PoolCounts;
using core::PrefixHit;

using paged_runs::kNone;
using paged_runs::kNothingGone;
using paged_runs::Life;
using paged_runs::LifeId;
using paged_runs::Run;
using paged_runs::RunId;

class PagedRuns final : public core::Allocator, public core::Contents, public core::BlockReturns {
 public:
  PagedRuns(const MemoryLayout& layout, const AllocatorRequest& request)
      : layout_(layout),
        workload_(*request.workload),
        prefix_cache_(request.prefix_cache),
        life_of_(request.places()) {
    push_nameless(layout.alloc_units);
  }

  const MemoryLayout& layout() const override { return layout_; }
  PoolCounts counts() const override {
    return {.free = free_,
            .cached = cached_,
            .held = layout_.alloc_units - free_ - cached_,
            .distinct_names = distinct_,
            .duplicates = duplicates_,
            .unreachable = unreachable_};
  }
  core::Contents* contents() override { return this; }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return layout_.alloc_unit_tokens; }
  bool fits_empty(RequestId r) const override {
    return ceil_div(workload_.final_tokens(r), layout_.alloc_unit_tokens) <= layout_.alloc_units;
  }
  std::uint64_t lookup_epoch() const override { return epoch_; }

  PrefixHit lookup(RequestId r, std::int64_t num_tokens) override {
    found_.clear();
    looked_up_ = r;
    const LifeId id = life_of_[r];
    if (id == kNone || life(id).runs == kNone) return {};
    const std::int64_t blocks = find_oldest(life(id), (num_tokens - 1) / layout_.alloc_unit_tokens);
    return {.tokens = blocks * layout_.alloc_unit_tokens, .idle = blocks};
  }

  bool admit(RequestId r, const PrefixHit& found, std::int64_t tokens, std::int64_t goal) override {
    const std::int64_t fresh = ceil_div(tokens, layout_.alloc_unit_tokens) - found.idle;
    if (fresh + found.idle > free_ + cached_) return false;
    const LifeId id = life_for(r);
    Life& l = life(id);
    KVPLAN_CHECK(!l.held, r);
    ++l.admission;
    l.held = true;
    l.goal = static_cast<std::int32_t>(goal);
    l.closed = false;
    l.hits.clear();
    for (const Hit& hit : found_) {
      l.hits.push_back({hit.low, hit.high, run(hit.run).admission});
      take_out(hit);
    }
    cached_ -= found.idle;
    l.found = l.published = l.end = found.idle;
    l.gap_begin = l.gap_end = l.scattered = 0;
    count_copies(l);
    recount(l);
    take(fresh);
    l.end += fresh;
    ++epoch_;
    return true;
  }

  bool grow(RequestId r, std::int64_t tokens) override {
    Life& l = existing(r);
    const std::int64_t room = l.end * layout_.alloc_unit_tokens;
    const std::int64_t fresh = tokens > room ? ceil_div(tokens - room, layout_.alloc_unit_tokens) : 0;
    if (fresh > free_ + cached_) return false;
    // A decoding request asks for a block when its table is full: blocks that filled in earlier steps have been
    // findable since then. Blocks of a prompt are inserted already, and those that this step fills may still be undone.
    if (tokens == room + 1 && tokens > l.goal) make_findable(l, room);
    take(fresh);
    l.end += fresh;
    return true;
  }

  void grow_full(std::span<const RequestId> requests) override {
    for (const RequestId r : requests) {
      Life& l = existing(r);
      make_findable(l, l.end * layout_.alloc_unit_tokens);
      ++l.end;
    }
    const auto fresh = static_cast<std::int64_t>(requests.size());
    KVPLAN_CHECK(fresh <= free_ + cached_, fresh, free_, cached_);
    take(fresh);
  }

  void insert(RequestId r, std::int64_t tokens) override { make_findable(existing(r), tokens); }

  void close(RequestId r, std::int64_t written) override {
    Life& l = existing(r);
    make_findable(l, written);  // blocks that filled before
    l.closed = true;
    l.dropped = true;
  }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    if (entries.empty()) return;
    Life& l = existing(r);
    const auto count = static_cast<std::int64_t>(entries.size());
    if (!prefix_cache_) {
      l.scattered += count;
      push_nameless(count);
      return;
    }
    const std::int64_t begin = entries.back();
    const std::int64_t end = std::int64_t{entries.front()} + 1;
    KVPLAN_CHECK(l.closed && end - begin == count && (l.gap_end == 0 || l.gap_end == begin), r, begin, end);
    free_range(l, begin, end);
    if (l.gap_end == 0) l.gap_begin = begin;
    l.gap_end = end;
    recount(l);
  }

  void cut_table(RequestId r, std::int64_t alloc_units) override {
    Life& l = existing(r);
    KVPLAN_CHECK(!prefix_cache_ && l.scattered == 0 && alloc_units < l.end, r, alloc_units, l.end);
    push_nameless(l.end - alloc_units);
    l.end = alloc_units;
  }

  void release(RequestId r, std::int64_t written) override {
    Life& l = existing(r);
    make_findable(l, written);
    if (l.scattered > 0) {
      KVPLAN_CHECK(l.scattered <= l.end && l.gap_end == 0, l.scattered, l.end);
      push_nameless(l.end - l.scattered);
    } else {
      free_range(l, l.gap_end, l.end);
      free_range(l, 0, l.gap_begin);
    }
    l.held = false;
    l.end = 0;
    recount(l);
  }

  void forget(RequestId r) override {
    const LifeId id = life_of_[r];
    if (id == kNone) return;
    Life& l = life(id);
    KVPLAN_CHECK(!l.held, r);
    life_of_[r] = kNone;
    l.forgotten = true;
    if (l.runs == kNone) idle_lives_.push_back(id);
  }

  core::BlockTable table(RequestId r) const override {
    const LifeId id = life_of_[r];
    if (id == kNone) return {};
    return {{}, lives_[static_cast<std::size_t>(id)].end};
  }

 private:
  /// Logical blocks [low, high) that a lookup hit, all in one run.
  struct Hit {
    RunId run;
    std::int64_t low, high;
  };

  Run& run(RunId id) { return queue_.run(id); }
  Life& life(LifeId id) { return lives_[static_cast<std::size_t>(id)]; }
  Life& existing(RequestId r) {
    const LifeId id = life_of_[r];
    KVPLAN_CHECK(id != kNone && life(id).held, r);
    return life(id);
  }
  LifeId life_for(RequestId r) {
    LifeId& id = life_of_[r];
    if (id != kNone) return id;
    if (idle_lives_.empty()) {
      idle_lives_.push_back(static_cast<LifeId>(lives_.size()));
      lives_.emplace_back();
    }
    id = idle_lives_.back();
    idle_lives_.pop_back();
    Life& l = life(id);
    l.request = r;
    l.forgotten = false;
    l.admission = 0;
    l.copies.clear();
    all_held(l);
    return id;
  }

  // ---- lookups ----

  /// Leading blocks of the request, at most `most`, that are in the queue; each in its oldest copy.
  std::int64_t find_oldest(const Life& l, std::int64_t most) {
    by_low_.clear();
    for (RunId id = l.runs; id != kNone; id = run(id).owner_next)
      if (run(id).low < most) by_low_.push_back(id);
    std::sort(by_low_.begin(), by_low_.end(), [&](RunId a, RunId b) { return run(a).low < run(b).low; });
    const auto younger = [&](RunId a, RunId b) { return run(a).admission > run(b).admission; };
    covering_.clear();  // a heap with the oldest run on top; others in it may have ended already
    std::size_t next = 0;
    std::int64_t block = 0;
    while (block < most) {
      for (; next < by_low_.size() && run(by_low_[next]).low <= block; ++next) {
        covering_.push_back(by_low_[next]);
        std::push_heap(covering_.begin(), covering_.end(), younger);
      }
      while (!covering_.empty() && run(covering_.front()).high <= block) {
        std::pop_heap(covering_.begin(), covering_.end(), younger);
        covering_.pop_back();
      }
      if (covering_.empty()) break;
      const RunId oldest = covering_.front();
      std::int64_t end = std::min(run(oldest).high, most);
      if (next < by_low_.size()) end = std::min(end, run(by_low_[next]).low);
      if (!found_.empty() && found_.back().run == oldest) {
        found_.back().high = end;
      } else {
        found_.push_back({oldest, block, end});
      }
      block = end;
    }
    return block;
  }

  /// Removes a hit from the queue. The run keeps its id for the blocks above it, so hits are removed in ascending
  /// order.
  void take_out(const Hit& hit) {
    Run& above = run(hit.run);
    const Run whole = above;
    if (whole.high > hit.high) {
      above.low = hit.high;
      if (whole.low == hit.low) return;
      const RunId below = queue_.new_run();
      run(below) = whole;
      run(below).high = hit.low;
      join_owner(below);
      queue_.insert_after(below, hit.run);
    } else if (whole.low < hit.low) {
      above.high = hit.low;
    } else {
      remove(hit.run);
    }
  }

  // ---- names ----

  /// Makes the blocks that the first `tokens` tokens fill findable, unless a cell was dropped before they
  /// filled.
  void make_findable(Life& l, std::int64_t tokens) {
    if (!prefix_cache_ || l.closed) return;
    const std::int64_t full = tokens / layout_.alloc_unit_tokens;
    if (l.published >= full) return;
    if (l.copies.empty()) {
      distinct_ += full - l.published;
    } else {
      for (std::int64_t b = l.published; b < full; ++b)
        if (l.copies[static_cast<std::size_t>(b)]++ == 0) ++distinct_;
    }
    l.published = full;
    recount(l);
  }

  /// A copy of the contents [low, high) can no longer be found.
  void give_up(Life& l, std::int64_t low, std::int64_t high) {
    if (l.request == looked_up_) ++epoch_;
    if (l.copies.empty()) {
      distinct_ -= high - low;
      if (l.dropped) widen_gap(l, low, high);
      return;
    }
    for (std::int64_t b = low; b < high; ++b)
      if (--l.copies[static_cast<std::size_t>(b)] == 0) --distinct_;
  }

  /// Called after hits were taken: from now on contents may be inserted that are in the queue already.
  void count_copies(Life& l) {
    if (l.runs == kNone) {
      l.copies.clear();  // each hit is the only copy, and no other is left
      all_held(l);
      return;
    }
    if (!l.copies.empty()) return;
    l.copies.assign(
        static_cast<std::size_t>(ceil_div(workload_.final_tokens(l.request), layout_.alloc_unit_tokens)), 0);
    for (std::int64_t b = 0; b < l.found; ++b) ++l.copies[static_cast<std::size_t>(b)];
    for (RunId id = l.runs; id != kNone; id = run(id).owner_next)
      for (std::int64_t b = run(id).low; b < run(id).high; ++b) ++l.copies[static_cast<std::size_t>(b)];
  }

  // ---- beside the sum ----

  // As long as each content has one copy, no block in the queue is a duplicate, and the blocks behind the first
  // evicted content cannot be reached. Only requests that have dropped something have such blocks: otherwise tables
  // are freed from their end, so the blocks before a block are behind it in the queue.

  static void all_held(Life& l) {
    l.dropped = false;
    l.first_gone = kNothingGone;
  }
  void add_unreachable(Life& l, std::int64_t blocks) {
    l.unreachable += blocks;
    unreachable_ += blocks;
  }
  /// The contents [low, high) have left the queue and are no longer cached.
  void widen_gap(Life& l, std::int64_t low, std::int64_t high) {
    add_unreachable(l, -std::max<std::int64_t>(high - std::max(low, l.first_gone), 0));
    if (low >= l.first_gone) return;
    // Blocks of the queue between `high` and the first gap become unreachable; none if the two meet.
    for (RunId id = high < l.first_gone ? l.runs : kNone; id != kNone; id = run(id).owner_next) {
      const std::int64_t end = std::min(run(id).high, l.first_gone);
      add_unreachable(l, std::max<std::int64_t>(end - std::max(run(id).low, high), 0));
    }
    l.first_gone = low;
  }

  /// If contents may have copies: which of a request's blocks in the queue have an older copy, or a gap before them.
  void recount(
      Life& l) {  // separate from the count itself, so that the count is inlined: it is read for every block
    if (!l.copies.empty() || l.runs == kNone) recount_copies(l);
  }
  void recount_copies(Life& l) {
    std::int64_t duplicates = 0, unreachable = 0;
    if (l.runs != kNone) {
      list_copies(l);
      bool reached = edges_.front() == 0;
      for (std::size_t i = 0; i + 1 < edges_.size(); ++i) {
        std::int64_t idle = 0;
        const Copies* oldest = nullptr;
        for (const Copies& c : row_) {
          if (c.low > edges_[i] || c.high <= edges_[i]) continue;
          idle += c.idle ? 1 : 0;
          if (oldest == nullptr || c.admission < oldest->admission) oldest = &c;
        }
        reached = reached && oldest != nullptr;
        const std::int64_t length = edges_[i + 1] - edges_[i];
        if (oldest != nullptr) duplicates += (idle - (oldest->idle ? 1 : 0)) * length;
        if (!reached) unreachable += idle * length;
      }
    }
    duplicates_ += duplicates - l.duplicates;
    unreachable_ += unreachable - l.unreachable;
    l.duplicates = duplicates;
    l.unreachable = unreachable;
  }

  /// Writes all copies of a request's contents to `row_`, and where they begin and end to `edges_`.
  void list_copies(const Life& l) {
    row_.clear();
    for (RunId id = l.runs; id != kNone; id = run(id).owner_next)
      row_.push_back({run(id).low, run(id).high, run(id).admission, true});
    const auto add_held = [&](std::int64_t low, std::int64_t high, std::int32_t admission) {
      const std::int64_t gap = std::clamp(l.gap_begin, low, high);
      const std::int64_t behind = std::clamp(l.gap_end, gap, high);
      if (low < gap) row_.push_back({low, gap, admission, false});
      if (behind < high) row_.push_back({behind, high, admission, false});
    };
    if (l.held) {
      for (const Life::Piece& hit : l.hits) add_held(hit.low, hit.high, hit.admission);
      add_held(l.found, l.published, l.admission);
    }
    edges_.clear();
    for (const Copies& c : row_) {
      edges_.push_back(c.low);
      edges_.push_back(c.high);
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  // ---- the queue ----

  void join_owner(RunId id) {
    RunId& first = life(run(id).owner).runs;
    run(id).owner_prev = kNone;
    run(id).owner_next = first;
    if (first != kNone) run(first).owner_prev = id;
    first = id;
  }

  void remove(RunId id) {
    const Run gone = queue_.remove(id);
    if (gone.owner == kNone) return;
    Life& l = life(gone.owner);
    (gone.owner_prev == kNone ? l.runs : run(gone.owner_prev).owner_next) = gone.owner_next;
    if (gone.owner_next != kNone) run(gone.owner_next).owner_prev = gone.owner_prev;
    if (l.runs == kNone && l.forgotten) idle_lives_.push_back(gone.owner);
  }

  /// Hands out blocks from the front of the queue. REQUIRES: there are so many.
  void take(std::int64_t count) {
    while (count > 0) {
      Run& first = run(queue_.front());
      const std::int64_t part = std::min(count, first.high - first.low);
      first.high -= part;
      count -= part;
      if (first.owner == kNone) {
        free_ -= part;
      } else {
        cached_ -= part;
        give_up(life(first.owner), first.high, first.high + part);
      }
      const LifeId owner = first.owner;
      if (first.low == first.high) remove(queue_.front());
      if (owner != kNone) recount(life(owner));
    }
  }

  void push_nameless(std::int64_t count) {
    if (count == 0) return;
    free_ += count;
    if (queue_.back() == kNone || run(queue_.back()).owner != kNone) {
      const RunId id = queue_.new_run();
      run(id) = Run{};
      queue_.insert_after(id, queue_.back());
    }
    run(queue_.back()).high += count;
  }

  void push_named(Life& l, std::int64_t low, std::int64_t high, std::int32_t admission) {
    if (low >= high) return;
    if (l.request == looked_up_) ++epoch_;
    cached_ += high - low;
    const RunId id = queue_.new_run();
    run(id) = Run{.low = low, .high = high, .owner = life_of_[l.request], .admission = admission};
    join_owner(id);
    queue_.insert_after(id, queue_.back());
    if (l.dropped && l.copies.empty())
      add_unreachable(l, std::max<std::int64_t>(high - std::max(low, l.first_gone), 0));
  }

  /// Frees held logical blocks, the highest first.
  void free_range(Life& l, std::int64_t low, std::int64_t high) {
    if (low >= high) return;
    const std::int64_t named = std::clamp(l.published, low, high);
    push_nameless(high - named);
    push_named(l, std::max(l.found, low), named, l.admission);
    for (auto hit = l.hits.rbegin(); hit != l.hits.rend() && hit->high > low; ++hit)
      push_named(l, std::max(hit->low, low), std::min(hit->high, named), hit->admission);
  }

  MemoryLayout layout_;
  const core::Workload& workload_;
  bool prefix_cache_;
  paged_runs::RunQueue queue_;
  core::RequestColumn<std::int32_t> life_of_;  // by request; kNone: never admitted, or forgotten
  std::vector<Life> lives_;
  std::vector<LifeId> idle_lives_;
  std::int64_t free_{0};
  std::int64_t cached_{0};
  std::int64_t distinct_{0};
  std::vector<Hit> found_;  // result of the latest lookup, ascending
  std::vector<RunId> by_low_, covering_;
  std::int64_t duplicates_{0};
  std::int64_t unreachable_{0};
  /// Number of copies of logical blocks [low, high) of one request.
  struct Copies {
    std::int64_t low, high;
    std::int32_t admission;  ///< admission in which they were inserted
    bool idle;               ///< no request holds them
  };
  std::vector<Copies> row_;          // of the request that is being recounted
  std::vector<std::int64_t> edges_;  // where these copies begin and end
  RequestId looked_up_{-1};
  std::uint64_t epoch_{0};
};

}  // namespace

std::unique_ptr<core::Allocator> make_paged_runs(MemoryLayout layout, const AllocatorRequest& request) {
  layout.ids = core::AllocUnitIds::kNone;
  return std::make_unique<PagedRuns>(layout, request);
}

}  // namespace kvplan::memory
