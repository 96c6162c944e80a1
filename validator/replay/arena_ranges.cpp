// Memory in which each request has one range: ranges are taken, grow, slide, are copied and freed.
#include <algorithm>
#include <utility>

#include "simulator/base/check.h"
#include "validator/replay/arena.h"

namespace kvplan::validator {

Arena::Pieces Arena::range_pieces(const Request& r) const {
  Pieces pieces;
  for (const RangePart& part : r.range_parts)
    pieces.push_back({part.first_cell, part.cells, r.id, part.first_token});
  return pieces;
}

void Arena::add_source(const Source& source, Pieces& pieces) {
  for (const RangePart& part : source.parts)
    pieces.push_back({part.first_cell, part.cells, source.request, part.first_token, source.copied});
}

bool Arena::in_copy(RequestId request) const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [request](const Source& s) { return s.request == request; });
}

Result<bool> Arena::take_range(Request& r, std::int64_t cells) {
  const std::int64_t first = range_places_->take(cells);
  if (first < 0) return false;
  const Pieces before{{first, cells, kNoRequest}};
  const Pieces after{{first, cells, r.id}};
  const auto grant = [&] {
    r.range_first = first;
    r.range_cells = cells;
    r.range_parts = {{0, first, cells}};
    r.range_generation = ++generations_;
    ranges_.emplace(first, r.id);
  };
  KVPLAN_TRY_DO(change(before, grant, after));
  return true;
}

Status Arena::give_range_back(Request& r) {
  if (r.range_cells == 0) return Done{};
  const std::int64_t first = r.range_first;
  const std::int64_t cells = r.range_cells;
  const Pieces before = range_pieces(r);
  const Pieces after{{first, cells, kNoRequest}};
  const auto give_back = [&] {
    poison(first, cells);
    ranges_.erase(first);
    range_places_->give_back(first, cells);
    r.range_first = -1;
    r.range_cells = 0;
    r.range_parts.clear();
  };
  return change(before, give_back, after);
}

Result<bool> Arena::grow_range(Request& r, std::int64_t cells) {
  const std::int64_t first = r.range_first - cells;
  if (!range_places_->take_at(first, cells)) return false;
  const Pieces before{{first, cells, kNoRequest}};
  const Pieces after{{first, cells, r.id, r.range_cells}};
  const auto grant = [&] {
    ranges_.erase(r.range_first);
    ranges_.emplace(first, r.id);
    r.range_parts.push_back({r.range_cells, first, cells});
    r.range_first = first;
    r.range_cells += cells;
  };
  KVPLAN_TRY_DO(change(before, grant, after));
  return true;
}

Result<std::int64_t> Arena::slide_range(Request& r) {
  const std::int64_t first = r.range_first;
  const std::int64_t cells = r.range_cells;
  const std::int64_t distance = range_places_->free_at(first + cells);
  if (distance == 0) return distance;
  Pieces before = range_pieces(r);
  before.push_back({first + cells, distance, kNoRequest});
  for (RangePart& part : r.range_parts) part.first_cell += distance;
  r.range_first += distance;
  Pieces after = range_pieces(r);
  after.push_back({first, distance, kNoRequest});
  for (RangePart& part : r.range_parts) part.first_cell -= distance;
  r.range_first = first;
  const auto slide = [&] {
    for (std::int64_t track = 0; track < tracks_; ++track)
      shifts_.push_back({cell_of(first, track), cell_of(first + distance, track), cells});
    poison(first, std::min(distance, cells));
    ranges_.erase(first);
    range_places_->give_back(first, cells);
    KVPLAN_CHECK(range_places_->take_at(first + distance, cells), first, distance);
    for (RangePart& part : r.range_parts) part.first_cell += distance;
    r.range_first += distance;
    ranges_.emplace(r.range_first, r.id);
  };
  KVPLAN_TRY_DO(change(before, slide, after));
  return distance;
}

Result<bool> Arena::copy_range(Request& r, std::int64_t cells, std::int64_t copied) {
  const std::int64_t first = range_places_->take(cells);
  if (first < 0) return false;
  const Source source{r.id, r.range_first, r.range_cells, r.range_parts, copied};
  Pieces before = range_pieces(r);
  before.push_back({first, cells, kNoRequest});
  Pieces after{{first, cells, r.id}};
  add_source(source, after);
  const auto grant = [&] {
    sources_.push_back(source);
    ranges_.erase(r.range_first);
    ranges_.emplace(first, r.id);
    r.range_first = first;
    r.range_cells = cells;
    r.range_parts = {{0, first, cells}};
  };
  KVPLAN_TRY_DO(change(before, grant, after));
  return true;
}

Status Arena::end_copies() {
  for (const Source& source : std::exchange(sources_, {})) {
    const Request& r = requests_.at(source.request);
    Pieces before = range_pieces(r);
    add_source(source, before);
    Pieces after = range_pieces(r);
    after.push_back({source.first, source.cells, kNoRequest});
    const auto end = [&] {
      for (const RangePart& part : source.parts) {
        const std::int64_t cells = std::min(part.cells, source.copied - part.first_token);
        if (cells > 0) shifts_.push_back({part.first_cell, r.range_first + part.first_token, cells});
      }
      poison(source.first, source.cells);
      range_places_->give_back(source.first, source.cells);
    };
    KVPLAN_TRY_DO(change(before, end, after));
  }
  return Done{};
}

}  // namespace kvplan::validator
