// What an event recorder writes about requests that drop tokens: courses, block tables, tokens kept at the end.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/io/event_recorder.h"

namespace kvplan::io {

namespace log = event_log;

namespace {

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

log::Claims EventRecorder::kept_at_the_end(RequestId r, std::int64_t written, bool finished) {
  log::Claims claims;
  if (sliding_.erase(r) > 0) {
    claims.has_kept = true;
    // The request's last token is written by the step that ends it; nothing is dropped after that.
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
  // All that other ranks keep is one track in each table: what the rank that keeps most keeps at each length.
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
  // Writes as many full facts as there are; with least = 1 it also writes the remainder.
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
  if (sliding_.contains(gone.request)) {  // the drop event before this one has already reported these blocks
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
        // The next token is written after the last survivor.
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

}  // namespace kvplan::io
