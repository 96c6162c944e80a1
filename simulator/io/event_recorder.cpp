#include "simulator/io/event_recorder.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::io {

namespace log = event_log;

namespace {

log::RangePlacement placement_of(core::RangePlacement ranges) {
  switch (ranges) {
    case core::RangePlacement::kFirstFit:
      return log::RangePlacement::kFirstFit;
    case core::RangePlacement::kBestFit:
      return log::RangePlacement::kBestFit;
    case core::RangePlacement::kNextFit:
      return log::RangePlacement::kNextFit;
    case core::RangePlacement::kBuddy:
      break;
  }
  return log::RangePlacement::kBuddy;
}

std::vector<std::int32_t> places_of(std::span<const BlockId> blocks) {
  std::vector<std::int32_t> out(blocks.size());
  std::transform(blocks.begin(), blocks.end(), out.begin(), [](BlockId block) { return number(block); });
  return out;
}

log::TableForm form_of(core::TableForm form) {
  switch (form) {
    case core::TableForm::kBlocks:
    case core::TableForm::kRange:
      return log::TableForm::kTokens;
    case core::TableForm::kPages:
      return log::TableForm::kPages;
    case core::TableForm::kTensors:
      return log::TableForm::kTensors;
    case core::TableForm::kNothing:
      break;
  }
  return log::TableForm::kNothing;
}

/// Cells that a request keeps when it has written `written` tokens; after its last token nothing is dropped.
std::int64_t cells_kept(const core::Course& course, std::int64_t written) {
  const core::CourseShape& shape = course.shape();
  const std::int64_t last = std::min(written, shape.final_tokens - 1);
  if (last < shape.prompt) return course.units() * written;
  return course.settled(last).live + course.units() * (written - last);
}

/// A track of dropped tokens, and the drops object that it belongs to.
struct TrackOf {
  const core::Drops* drops;
  std::int32_t track;
};

/// For all tables of a request, in order: for each track of the log, with the given units, the course's track that
/// contains it.
std::vector<TrackOf> tracks_of(const core::Course& course, std::span<const std::int32_t> units_of_log) {
  std::vector<TrackOf> out;
  const auto add = [&](const core::Drops& drops, std::int32_t track) {
    std::int32_t units = drops.track_units()[static_cast<std::size_t>(track)];
    do {
      KVPLAN_CHECK(out.size() < units_of_log.size() && units >= units_of_log[out.size()], track, units);
      units -= units_of_log[out.size()];
      out.push_back({&drops, track});
    } while (units > 0);
  };
  for (const core::TableRun& run : course.tables())
    for (std::int64_t t = 0; t < run.tables; ++t)
      for (std::int32_t track = 0; track < std::ssize(run.course->drops()->track_units()); ++track)
        add(*run.course->drops(), track);
  KVPLAN_CHECK(out.size() == units_of_log.size(), course.units());
  return out;
}

bool finds_in_tree(const EventLogOptions& options) {
  return options.layout.tree() && options.prefix_cache;
}
bool publishes(const EventLogOptions& options) {
  return options.prefix_cache && options.layout.returns_alloc_units() && !options.layout.tree();
}
bool has_block_ids(const core::MemoryLayout& layout) {
  return layout.tables == 1 && !layout.tree();
}

/// Calls `put(figures, first table, tables)` for tables that have figures, neighbours with equal ones together.
template <class FiguresOf, class Put>
void by_table(const core::Course& course, FiguresOf figures_of, Put put) {
  using Figures = std::array<std::int64_t, 3>;
  std::optional<Figures> open;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  const auto close = [&] {
    if (open) put(*open, begin, end - begin);
  };
  for (const core::TableRun& run : course.tables()) {
    const std::optional<Figures> figures = figures_of(*run.course);
    if (figures != open) {
      close();
      open = figures;
      begin = end;
    }
    end += static_cast<std::int32_t>(run.tables);
  }
  close();
}

}  // namespace

/// A run of equal steps that may still go on, and the records after it that are dropped if it does.
///
/// A run continues through a pass that decides nothing and refuses the same as the pass before it. So a run ends where
/// something is reported, and it is the same run whether its steps are reported one by one, all at once or in portions.
/// Durations are divided into the longest arithmetic series, from the first step on.
class EventRecorder::Steps {
 public:
  explicit Steps(EventRecorder& recorder) : recorder_(recorder) {}

  /// `alike`: the steps after this one may join it.
  void begin(std::int64_t time, const core::StepSeries& series, bool alike) {
    release();
    run_ = {time, series.first.count, series.steps > 1 ? series.growth.count : 0, series.steps};
    open_ = alike;
    if (!open_) recorder_.put({run_, {}});
  }
  [[nodiscard]] bool may_go_on() const { return open_; }
  /// Begin of what is held back; INT64_MAX where nothing is.
  [[nodiscard]] std::int64_t open_since() const { return open_ ? run_.time : INT64_MAX; }
  /// Dropped if the run goes on.
  void hold(log::Record record) {
    open_ ? held_.push_back(std::move(record)) : recorder_.put(std::move(record));
  }

  /// The run continues with these steps; records held back since are dropped.
  void append(const core::StepSeries& series) {
    held_.clear();
    std::int64_t first = series.first.count;
    std::int64_t steps = series.steps;
    while (steps > 0) {
      const std::int64_t next = run_.first + run_.growth * run_.steps;
      std::int64_t taken = 1;
      if (run_.steps == 1) {
        run_.growth = first - run_.first;
      } else if (first != next) {
        start_series(first, steps > 1 ? series.growth.count : 0, steps);
        return;
      }
      if (series.growth.count == run_.growth) taken = steps;
      run_.steps += taken;
      first += series.growth.count * taken;
      steps -= taken;
    }
  }

  /// Gives out all that was held back.
  void release() {
    if (open_) recorder_.put({run_, {}});
    open_ = false;
    for (log::Record& record : held_) recorder_.put(std::move(record));
    held_.clear();
  }

 private:
  void start_series(std::int64_t first, std::int64_t growth, std::int64_t steps) {
    recorder_.put({run_, {}});
    run_ = {run_.time + static_cast<std::int64_t>(run_.span()), first, growth, steps};
  }

  EventRecorder& recorder_;
  bool open_{false};
  log::StepRun run_{};
  std::vector<log::Record> held_;
};

event_log::Header header_of(const EventLogOptions& options) {
  const core::MemoryLayout& layout = options.layout;
  const traces::PrefixHashes* const ids = options.workload->prefix;
  const bool tree = finds_in_tree(options);
  std::vector<log::TokenRow> rows;
  for (const core::TokenRow& row : layout.tensors.rows) rows.push_back({row.bytes, row.alloc_units});
  std::vector<log::LayerGroup> groups;
  for (const model::LayerGroup& group : layout.groups) groups.push_back({group.layers, group.window});
  return {.writer = options.writer,
          .alloc_unit_tokens = layout.alloc_unit_tokens,
          .token_bytes = layout.token_bytes,
          .capacity_bytes = layout.capacity_bytes,
          .alloc_units = layout.alloc_units,
          .null_block = options.null_block && layout.returns_alloc_units(),
          .returns_alloc_units = layout.returns_alloc_units(),
          .prefix_cache = publishes(options),
          .track_units = options.track_units,
          .metadata_bytes = layout.metadata_bytes,
          .reuse = options.reuse,
          .range_placement = placement_of(layout.ranges),
          .table_form = form_of(layout.form),
          .odd_alloc_unit_bytes = layout.of_tokens() ? 0 : layout.alloc_unit_bytes(),
          .page_bytes = layout.tensors.page_bytes,
          .rows = rows,
          .groups = groups,
          .compacts = options.compacts,
          .counted = options.counted,
          .tables = layout.tables,
          .entry_bytes = layout.entry_bytes,
          .unnumbered = !has_block_ids(layout),
          .rules = options.rules,
          .tree = tree,
          .id_tokens = tree && ids != nullptr && ids->present() ? ids->block_tokens : 0,
          .replicas = options.replicas,
          .prompt_rows = options.prompt_rows,
          .allocator = options.allocator,
          .scenario = options.scenario,
          .trace_digest = options.trace_digest};
}

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
  write(log::Arrival{time.since_start.count, r, workload_.input[i], workload_.output[i], accepted,
                     static_cast<std::int32_t>(ids.size()), rules_.priority_told(workload_.priority_of(r))});
  for (auto left = ids; !left.empty();) {
    const auto part = left.first(std::min(left.size(), static_cast<std::size_t>(log::kMostListed)));
    write(log::PrefixIds{r, {part.begin(), part.end()}});
    left = left.subspan(part.size());
  }
}

/// What a tree finds a prompt by.
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
    if (block == kNoBlock) continue;  // its window shows nothing of it
    if (fact.hit_keys.size() == static_cast<std::size_t>(log::kMostListed)) flush();
    fact.hit_publications.push_back(publication_of_[index(block)]);
    fact.hit_keys.push_back(key(admission.request, static_cast<std::int64_t>(entry)));
    claims.places.push_back(number(block));
  }
  flush();
}

log::Claims EventRecorder::kept_at_the_end(RequestId r, std::int64_t written, bool finished) {
  log::Claims claims;
  if (sliding_.erase(r) > 0) {
    claims.has_kept = true;
    // Its last token is written by the step that ends it; nothing is dropped after that.
    const std::int64_t begin = written - (finished ? 1 : 0) - keep_.recent;
    for (std::int64_t token = 0; token < written; ++token)
      if (token < keep_.sink || token >= begin) claims.kept_digest += log::kept_term(token, 0, 1);
  }
  const auto found = courses_.find(r);
  if (found == courses_.end()) return claims;
  const core::Course& course = *found->second;
  written_.erase(r);
  if (counted_) {
    claims.has_kept_cells = true;
    claims.kept_cells = cells_kept(course, written);
    courses_.erase(found);
    return claims;
  }
  const std::vector<TrackOf> all = tracks_of(course, track_units_);
  const auto tracks = static_cast<std::int64_t>(all.size());
  std::vector<std::int32_t> positions;
  claims.has_kept = true;
  for (std::int64_t track = 0; track < tracks; ++track) {
    const TrackOf& of = all[static_cast<std::size_t>(track)];
    for (std::int64_t token = 0; token < written; ++token)
      claims.kept_digest += log::kept_term(token, track, tracks);
    positions.clear();
    const std::int64_t last = std::min(written, course.shape().final_tokens - 1);
    for (std::int64_t n = course.shape().prompt; n <= last; ++n) of.drops->dropped(of.track, n, positions);
    for (const std::int32_t token : positions) claims.kept_digest -= log::kept_term(token, track, tracks);
  }
  courses_.erase(found);
  return claims;
}

/// Writes runs of equal drop counts, from the end of the prompt on.
void EventRecorder::write_counts(RequestId r, const core::Course& course) {
  const core::CourseShape& shape = course.shape();
  log::Counts fact{r, {}};
  std::int64_t numbers = 0;
  const auto flush = [&] {
    if (!fact.alike.empty()) write(std::exchange(fact, {r, {}}));
    numbers = 0;
  };
  const auto add = [&](std::int64_t tracks, auto kept_of) {
    log::AlikeTracks alike{static_cast<std::int32_t>(tracks), {}};
    std::int64_t gone = 0;
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
      const std::int64_t more = n - kept_of(n) - gone;
      gone += more;
      if (alike.runs.empty() || alike.runs[alike.runs.size() - 2] != more) {
        alike.runs.push_back(static_cast<std::int32_t>(more));
        alike.runs.push_back(0);
      }
      ++alike.runs.back();
    }
    if (alike.runs.empty()) return;  // it ends with its first token
    const auto length = static_cast<std::int64_t>(1 + alike.runs.size());
    if (numbers + length > log::kMostListed) flush();
    numbers += length;
    fact.alike.push_back(std::move(alike));
  };
  // What other ranks keep is one track in each table: of the rank that keeps most, at any length.
  const std::int64_t others = std::ranges::count(track_units_, 0) > 0 ? 1 : 0;
  for (const core::TableRun& run : course.tables()) {
    const auto counts = run.course->counts();
    const auto by_length = run.course->kept_by_length();
    const auto entries = static_cast<std::int64_t>(counts.size() + by_length.size());
    KVPLAN_CHECK(run.tables == 1 || entries <= 1, run.tables);
    const auto kept_of = [&](std::int64_t i, std::int64_t n) {
      const auto entry = static_cast<std::size_t>(i);
      return counts.empty() ? by_length[entry].kept[static_cast<std::size_t>(n - shape.prompt)]
                            : counts[entry].kept.of(n, shape.prompt);
    };
    for (std::int64_t i = 0; i < entries; ++i) {
      const auto entry = static_cast<std::size_t>(i);
      const std::int64_t units = counts.empty() ? by_length[entry].units : counts[entry].units;
      const std::int64_t tracks = (units + (entries == 1 ? others : 0)) * run.tables;
      if (tracks > 0) add(tracks, [&](std::int64_t n) { return kept_of(i, n); });
    }
    if (others == 0 || entries == 1) continue;
    add(1, [&](std::int64_t n) {
      std::int64_t most = 0;
      for (std::int64_t i = 0; i < entries; ++i) most = std::max(most, kept_of(i, n));
      return most;
    });
  }
  flush();
}

void EventRecorder::on_course(RequestId r, const core::Course& course) {
  courses_[r] = &course;
  if (tables_ > 1) written_[r] = {};
  if (counted_) return write_counts(r, course);
  const std::vector<TrackOf> tracks = tracks_of(course, track_units_);
  std::vector<std::int32_t> numbers, positions;
  // writes as many full facts as there are; with least = 1 also the remainder
  const auto flush = [&](std::size_t least) {
    std::size_t begin = 0;
    while (numbers.size() - begin >= least) {
      const std::size_t end = std::min(numbers.size(), begin + static_cast<std::size_t>(log::kMostListed));
      const auto first = numbers.begin();
      write(log::Course{
          r, {first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)}});
      begin = end;
    }
    numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(begin));
  };
  for (std::int64_t n = course.shape().prompt; n < course.shape().final_tokens; ++n) {
    for (const TrackOf& of : tracks) {
      positions.clear();
      of.drops->dropped(of.track, n, positions);
      numbers.push_back(static_cast<std::int32_t>(positions.size()));
      numbers.insert(numbers.end(), positions.begin(), positions.end());
    }
    flush(static_cast<std::size_t>(log::kMostListed));
  }
  flush(1);
}

void EventRecorder::on_free_blocks(const core::FreedBlocks& gone) {
  if (sliding_.contains(gone.request)) {  // the drop before it says so
    KVPLAN_CHECK(std::ssize(gone.entries) == emptied_.blocks() && gone.entries.back() == emptied_.first,
                 gone.request, emptied_.first);
    return;
  }
  std::vector<std::int32_t> entries(gone.entries.begin(), gone.entries.end());
  if (tables_ > 1)
    std::sort(entries.begin(), entries.end(), [&](std::int32_t a, std::int32_t b) {
      return a % tables_ != b % tables_ ? a % tables_ < b % tables_ : a > b;
    });
  for (std::span<const std::int32_t> blocks = entries; !blocks.empty();) {
    const auto part = blocks.first(std::min(blocks.size(), static_cast<std::size_t>(log::kMostListed)));
    write(log::LetGo{gone.request, {part.begin(), part.end()}});
    blocks = blocks.subspan(part.size());
  }
}

void EventRecorder::on_compact(const core::Compacted& compacted) {
  const std::int64_t n = compacted.written;
  by_table(
      *courses_.at(compacted.request),
      [&](const core::Course& course) -> std::optional<std::array<std::int64_t, 3>> {
        const auto moved = course.compaction(n);
        if (!moved) return {};
        // The next token goes after the last survivor.
        return {{course.table_slots(n + 1) - 1, moved->kept_cells * cells_of_cell_,
                 moved->alloc_units_before - moved->alloc_units}};
      },
      [&](const std::array<std::int64_t, 3>& moved, std::int32_t first, std::int32_t tables) {
        log::Compact fact{compacted.request, moved[0], moved[1], moved[2], first, tables};
        if (tables_ == 1) fact.tables = 0;
        write(fact);
      });
}

/// A block for each table that needs one for the next token.
void EventRecorder::grant_tables(RequestId r) {
  const std::int64_t n = written_.at(r).tokens;
  by_table(
      *courses_.at(r),
      [&](const core::Course& course) -> std::optional<std::array<std::int64_t, 3>> {
        if (course.grant(n).sum() == 0) return {};
        return {{ceil_div(course.table_slots(n + 1), alloc_unit_tokens_) - 1, 0, 0}};
      },
      [&](const std::array<std::int64_t, 3>& block, std::int32_t first, std::int32_t tables) {
        write(log::Grant{r, block[0], 1, {}, 0, first, tables});
      });
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
  // The source of a copy is freed at the end of its step: the next step is not alike.
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
  // A change of whether requests are refused is an event too: free memory becomes stranded, or is no longer.
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
