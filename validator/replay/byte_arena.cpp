#include "validator/replay/byte_arena.h"

#include <algorithm>
#include <numeric>

#include "simulator/base/check.h"

namespace kvplan::validator {
namespace {

namespace log = event_log;

/// The largest piece of which the page and all rows are whole multiples.
std::int64_t cell_bytes_of(const log::Header& header) {
  std::int64_t cell = header.page_bytes;
  for (const log::TokenRow& row : header.rows) cell = std::gcd(cell, row.bytes);
  return cell;
}

}  // namespace

ByteArena::ByteArena(const log::Header& header, Backend& backend, const Requests& requests)
    : header_(header), backend_(backend), requests_(requests) {
  if (!pages()) return;
  cell_ = cell_bytes_of(header);
  frame_cells_ = header.page_bytes / cell_;
}

std::int64_t ByteArena::cells_of(const log::Header& header) {
  if (header.table_form == log::TableForm::kNothing) return 1;
  if (header.table_form == log::TableForm::kTensors)
    return std::max<std::int64_t>(header.alloc_units * header.odd_alloc_unit_bytes / header.token_bytes, 1);
  const Wide cells = Wide{header.alloc_units} * (header.page_bytes / cell_bytes_of(header));
  return cells > (Wide{1} << 62) ? INT64_MAX : static_cast<std::int64_t>(cells);
}

Status ByteArena::reserve() {
  KVPLAN_TRY_DO(backend_.reserve(cells()));
  counts_.free = cells();
  if (pages()) {
    for (std::int64_t frame = 0; frame < header_.alloc_units; ++frame) free_frames_.push_back(frame);
  } else {
    free_.emplace(0, cells());
  }
  return Done{};
}

log::Totals ByteArena::totals(const CellCounts& cells, bool refused) const {
  const std::int64_t bytes =
      pages() ? cell_ * (header_.odd_alloc_unit_bytes / header_.page_bytes) : header_.token_bytes;
  // The facts state those bytes that no cell represents.
  const std::int64_t idle =
      pages() ? cells.free * bytes : (header_.alloc_units - held_alloc_units_) * header_.odd_alloc_unit_bytes;
  const std::int64_t padding = header_.capacity_bytes - header_.alloc_units * header_.odd_alloc_unit_bytes +
                               held_padding_ + cells.padding * bytes;
  // Scales are in the rows. Cells of a frame are smaller than a token, but a token is live as a whole.
  const std::int64_t live = cells.live * bytes;
  const std::int64_t scales = live / header_.token_bytes * header_.metadata_bytes;
  return {scales,  live - scales,          cells.reserved * bytes, cells.hole * bytes, cells.tail * bytes,
          padding, cells.internal * bytes, cells.cached * bytes,   refused ? idle : 0, refused ? 0 : idle};
}

// ---- looking at memory ----

void ByteArena::add(const Request& r, std::int64_t from, std::int64_t to, Pieces& pieces) const {
  if (from >= to) return;
  const Table& table = tables_.at(r.id);
  if (!pages()) {
    for (const Run& run : table.runs) {
      const std::int64_t begin = std::max(from, run.first_token);
      const std::int64_t end = std::min(to, run.first_token + run.cells);
      if (begin < end)
        pieces.push_back(
            {run.first_cell + begin - run.first_token, end - begin, r.id, 0, begin, table.content});
    }
    return;
  }
  for (std::size_t row = 0; row < header_.rows.size(); ++row) {
    const std::int64_t first = from * cells_per_token(row) / frame_cells_;
    const std::int64_t end = ceil_div(to * cells_per_token(row), frame_cells_);
    const auto has = static_cast<std::int64_t>(table.frames[row].size());
    for (std::int64_t i = first * copies(row); i < std::min(end * copies(row), has); ++i) {
      const Frame& frame = table.frames[row][static_cast<std::size_t>(i)];
      pieces.push_back({frame.place * frame_cells_, frame_cells_, r.id, row, i / copies(row) * frame_cells_,
                        frame.content});
    }
  }
}

void ByteArena::add_all(const Request& r, Pieces& pieces) const {
  const Table& table = tables_.at(r.id);
  if (!pages()) return add(r, 0, table.tensor_tokens, pieces);
  for (std::size_t row = 0; row < header_.rows.size(); ++row)
    for (std::size_t i = 0; i < table.frames[row].size(); ++i)
      pieces.push_back({table.frames[row][i].place * frame_cells_, frame_cells_, r.id, row,
                        static_cast<std::int64_t>(i) / copies(row) * frame_cells_,
                        table.frames[row][i].content});
}

/// Each extent is counted once, even if it is listed twice.
Result<CellCounts> ByteArena::recount(const Pieces& all) {
  Pieces pieces = all;
  const auto before = [](const Piece& a, const Piece& b) { return a.first_cell < b.first_cell; };
  const auto same = [](const Piece& a, const Piece& b) { return a.first_cell == b.first_cell; };
  std::sort(pieces.begin(), pieces.end(), before);
  pieces.erase(std::unique(pieces.begin(), pieces.end(), same), pieces.end());
  views_.clear();
  holdings_.clear();
  for (const Piece& piece : pieces) {
    // Stamps distinguish the cells of a page, and the tokens of tensors.
    View view{piece.first_cell, piece.cells,    piece.content, pages() ? 0 : piece.first_offset, 0, 0,
              Use::kFree,       pages() ? 1 : 0};
    if (piece.request != kNoRequest) {
      const Request& r = requests_.at(piece.request);
      const std::int64_t k = pages() ? cells_per_token(piece.row) : 1;
      view.use = Use::kHeld;
      view.first_holding = static_cast<std::int32_t>(holdings_.size());
      view.holdings = 1;
      holdings_.push_back({pages() ? piece.first_offset : 0, r.sliding ? r.sink * k : 0,
                           r.sliding ? r.begin * k : 0, r.final_tokens() * k});
    }
    views_.push_back(view);
  }
  if (views_.empty()) return CellCounts{};
  return backend_.recount(views_, holdings_, {});
}

Status ByteArena::change(const Pieces& before, const std::function<void()>& f, const Pieces& after) {
  KVPLAN_TRY(const CellCounts were, recount(before));
  counts_ -= were;
  writes_.clear();
  f();
  if (!writes_.empty()) KVPLAN_TRY_DO(backend_.write(writes_));
  KVPLAN_TRY(const CellCounts are, recount(after));
  counts_ += are;
  return Done{};
}

Result<CellCounts> ByteArena::scan_all() {
  Pieces pieces;
  for (const auto& [request, table] : tables_) add_all(requests_.at(request), pieces);
  for (const std::int64_t frame : free_frames_)
    pieces.push_back({frame * frame_cells_, frame_cells_, kNoRequest, 0, 0, 0});
  for (const auto& [first, cells] : free_) pieces.push_back({first, cells, kNoRequest, 0, 0, 0});
  return recount(pieces);
}

// ---- tables ----

/// The tensors that get the next allocation unit: those that need their next page first. A page that has only some of
/// its units gets the others before that.
std::size_t ByteArena::next_row(const Table& table) const {
  std::size_t next = 0;
  std::int64_t first_token = INT64_MAX;
  for (std::size_t row = 0; row < header_.rows.size(); ++row) {
    const auto has = static_cast<std::int64_t>(table.frames[row].size());
    if (has % copies(row) != 0) return row;
    const std::int64_t token = has / copies(row) * frame_cells_ / cells_per_token(row);
    if (token >= first_token) continue;
    first_token = token;
    next = row;
  }
  return next;
}

Result<std::string> ByteArena::grant(const Request& r, const log::Grant& g) {
  if (nothing()) return std::string("gets memory, but the run has no KV cache");
  Table& table = tables_[r.id];
  if (g.first_block != table.alloc_units)
    return "gets allocation unit " + std::to_string(g.first_block) + " of its table, but has " +
           std::to_string(table.alloc_units);
  if (g.alloc_units > header_.alloc_units - held_alloc_units_)
    return "is granted " + std::to_string(g.alloc_units) + " quanta; " +
           std::to_string(header_.alloc_units - held_alloc_units_) + " are free";
  if (!g.shared_keys.empty()) return std::string("gets contents that other requests share");
  if (pages() != (g.tensor_tokens == 0)) return std::string("gets tensors of the wrong length");
  KVPLAN_TRY(std::string wrong, pages() ? grant_pages(r, table, g.alloc_units) : grant_tensors(r, table, g));
  if (!wrong.empty()) return wrong;
  table.alloc_units += g.alloc_units;
  held_alloc_units_ += g.alloc_units;
  return wrong;
}

Result<std::string> ByteArena::grant_pages(const Request& r, Table& table, std::int64_t alloc_units) {
  table.frames.resize(header_.rows.size());
  Pieces before, after;
  for (std::int64_t i = 0; i < alloc_units; ++i) {
    const std::size_t row = next_row(table);
    const auto has = static_cast<std::int64_t>(table.frames[row].size());
    // The request must not get more pages than its last token needs.
    if (Wide{has / copies(row)} * frame_cells_ >= Wide{r.final_tokens()} * cells_per_token(row))
      return std::string("gets pages that none of its tokens will need");
    const std::int64_t place = free_frames_.back();
    free_frames_.pop_back();
    const std::uint64_t content = content_of(log::own_key(r.id, table.alloc_units + i), ++generations_);
    table.frames[row].push_back({place, content});
    before.push_back({place * frame_cells_, frame_cells_, kNoRequest, 0, 0, 0});
    after.push_back(
        {place * frame_cells_, frame_cells_, r.id, row, has / copies(row) * frame_cells_, content});
  }
  KVPLAN_TRY_DO(change(
      before, [] {}, after));
  return std::string();
}

Result<std::string> ByteArena::grant_tensors(const Request& r, Table& table, const log::Grant& g) {
  if (g.first_block != 0) return std::string("gets its tensors twice");
  if (g.tensor_tokens < r.final_tokens())
    return std::string("gets tensors that are shorter than its final length");
  const Wide padding =
      Wide{g.alloc_units} * header_.odd_alloc_unit_bytes - Wide{g.tensor_tokens} * header_.token_bytes;
  if (padding < 0) return std::string("gets blocks that are shorter than its tensors");
  Pieces before;
  std::int64_t token = 0;
  while (token < g.tensor_tokens) {
    KVPLAN_CHECK(!free_.empty(),
                 token);  // other requests hold no more in cells than they hold in allocation units
    const auto [first, cells] = *free_.begin();
    const std::int64_t taken = std::min(cells, g.tensor_tokens - token);
    free_.erase(free_.begin());
    if (taken < cells) free_.emplace(first + taken, cells - taken);
    table.runs.push_back({first, taken, token});
    before.push_back({first, taken, kNoRequest, 0, 0, 0});
    token += taken;
  }
  table.tensor_tokens = g.tensor_tokens;
  table.content = content_of(log::own_key(r.id, 0), ++generations_);
  held_padding_ += static_cast<std::int64_t>(padding);
  Pieces after;
  add_all(r, after);
  KVPLAN_TRY_DO(change(
      before, [] {}, after));
  return std::string();
}

void ByteArena::free_run(std::int64_t first, std::int64_t cells) {
  const auto behind = free_.lower_bound(first);
  if (behind != free_.end() && behind->first == first + cells) {
    cells += behind->second;
    free_.erase(behind);
  }
  const auto at = free_.lower_bound(first);
  if (at != free_.begin() && std::prev(at)->first + std::prev(at)->second == first) {
    std::prev(at)->second += cells;
  } else {
    free_.emplace(first, cells);
  }
}

Status ByteArena::give_back(const Request& r) {
  const auto found = tables_.find(r.id);
  if (found == tables_.end()) return Done{};
  Pieces before;
  add_all(r, before);
  Pieces after = before;
  for (Piece& piece : after) piece.request = kNoRequest;
  const auto give_back = [&] {
    poison(before);
    for (const Run& run : found->second.runs) free_run(run.first_cell, run.cells);
    for (const auto& frames : found->second.frames)
      for (const Frame& frame : frames) free_frames_.push_back(frame.place);
    held_alloc_units_ -= found->second.alloc_units;
    if (!pages())
      held_padding_ -= found->second.alloc_units * header_.odd_alloc_unit_bytes -
                       found->second.tensor_tokens * header_.token_bytes;
    tables_.erase(found);
  };
  return change(before, give_back, after);
}

void ByteArena::poison(const Pieces& pieces) {
  for (const Piece& piece : pieces) writes_.push_back({piece.first_cell, piece.cells, 0, 0, 1});
}

std::int64_t ByteArena::tokens_held(RequestId request) const {
  if (nothing()) return INT64_MAX;
  const auto found = tables_.find(request);
  if (found == tables_.end()) return 0;
  if (!pages()) return found->second.tensor_tokens;
  std::int64_t tokens = INT64_MAX;
  for (std::size_t row = 0; row < header_.rows.size(); ++row) {
    const auto whole = static_cast<std::int64_t>(found->second.frames[row].size()) / copies(row);
    tokens = std::min(tokens, whole * frame_cells_ / cells_per_token(row));
  }
  return tokens;
}

// ---- steps ----

/// Stamps the request's tokens [from, to).
void ByteArena::write(const Request& r, std::int64_t from, std::int64_t to) {
  Pieces pieces;
  add(r, from, to, pieces);
  for (const Piece& piece : pieces) {
    const std::int64_t k = pages() ? cells_per_token(piece.row) : 1;
    const std::int64_t begin = std::max(from * k, piece.first_offset);
    const std::int64_t end = std::min(to * k, piece.first_offset + piece.cells);
    const std::int64_t skipped = begin - piece.first_offset;
    writes_.push_back({piece.first_cell + skipped, end - begin, piece.content, pages() ? skipped : begin, 0});
  }
}

Status ByteArena::progress(const std::vector<Arena::Progress>& all, const std::function<void()>& f) {
  if (nothing()) {
    f();
    return Done{};
  }
  Pieces pieces;
  for (const Arena::Progress& p : all) {
    const bool apart = pages() || p.drop_to <= p.from || p.drop_from >= p.to || p.drop_from >= p.drop_to;
    if (apart) {
      add(*p.request, p.from, p.to, pieces);
      add(*p.request, p.drop_from, p.drop_to, pieces);
    } else {
      add(*p.request, std::min(p.from, p.drop_from), std::max(p.to, p.drop_to), pieces);
    }
  }
  const auto step = [&] {
    for (const Arena::Progress& p : all) write(*p.request, p.from, p.to);
    f();
  };
  return change(pieces, step, pieces);
}

}  // namespace kvplan::validator
