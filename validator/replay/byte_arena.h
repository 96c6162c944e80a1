// The memory of a replay if allocation units do not hold whole tokens, and the holders of it. Written from
// simulator/io/log/FORMAT.md, "Memory in bytes".
//
// Pages: a frame represents an allocation unit, which is one page of each of several equal tensors. Its cells are the
// largest pieces that divide both rows and pages. Frames come from a stack, the last freed first.
//
// Tensors: a cell represents a token in all tensors together. Places are taken from the low end of free memory, in as
// many pieces as needed, because the simulator's addresses are checked as claims, not replayed. The facts state by how
// much blocks are longer than their tensors.
//
// Nothing is stored: the memory has one cell, which no request may have. Tokens need no room.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"
#include "validator/replay/arena.h"
#include "validator/replay/backend.h"

namespace kvplan::validator {

class ByteArena {
 public:
  ByteArena(const event_log::Header& header, Backend& backend, const Requests& requests);

  /// Number of cells of this memory; INT64_MAX if there would be more than 2^62.
  [[nodiscard]] static std::int64_t cells_of(const event_log::Header& header);
  [[nodiscard]] std::int64_t cells() const { return cells_of(header_); }

  Status reserve();
  /// Cells by state, kept up to date by the changes below.
  [[nodiscard]] const CellCounts& counts() const { return counts_; }
  Result<CellCounts> scan_all();
  /// Bytes in each state.
  [[nodiscard]] event_log::Totals totals(const CellCounts& counts, bool refused) const;

  /// Extends a request's table. Returns an empty text, or the error.
  Result<std::string> grant(const Request& request, const event_log::Grant& grant);
  Status give_back(const Request& request);
  /// Tokens that fit completely into the memory of the request.
  [[nodiscard]] std::int64_t tokens_held(RequestId request) const;
  /// As Arena::progress.
  Status progress(const std::vector<Arena::Progress>& all, const std::function<void()>& change);

 private:
  /// An extent of cells that a request holds, or that is free (request -1).
  struct Piece {
    std::int64_t first_cell, cells;
    RequestId request;
    std::size_t row;            // kPages
    std::int64_t first_offset;  // in cells of the row's tensor; kTensors: in tokens
    std::uint64_t content;
  };
  using Pieces = std::vector<Piece>;
  struct Frame {
    std::int64_t place;
    std::uint64_t content;
  };
  struct Run {
    std::int64_t first_cell, cells, first_token;
  };
  struct Table {
    std::int64_t alloc_units{0};
    // kPages: frames of each row, page by page, copies of a page one after the other
    std::vector<std::vector<Frame>> frames;
    // used for kTensors
    std::vector<Run> runs;
    std::int64_t tensor_tokens{0};
    std::uint64_t content{0};
  };

  [[nodiscard]] bool pages() const { return header_.table_form == event_log::TableForm::kPages; }
  [[nodiscard]] bool nothing() const { return header_.table_form == event_log::TableForm::kNothing; }
  [[nodiscard]] std::int64_t copies(std::size_t row) const { return header_.rows[row].alloc_units; }
  [[nodiscard]] std::int64_t cells_per_token(std::size_t row) const {
    return header_.rows[row].bytes / cell_;
  }
  Result<std::string> grant_pages(const Request& request, Table& table, std::int64_t alloc_units);
  Result<std::string> grant_tensors(const Request& request, Table& table, const event_log::Grant& grant);
  [[nodiscard]] std::size_t next_row(const Table& table) const;
  void add(const Request& request, std::int64_t from, std::int64_t to, Pieces& pieces) const;
  void add_all(const Request& request, Pieces& pieces) const;
  void write(const Request& request, std::int64_t from, std::int64_t to);
  void poison(const Pieces& pieces);
  Result<CellCounts> recount(const Pieces& pieces);
  Status change(const Pieces& before, const std::function<void()>& f, const Pieces& after);
  void free_run(std::int64_t first, std::int64_t cells);

  const event_log::Header& header_;
  Backend& backend_;
  const Requests& requests_;
  std::int64_t cell_{1};         // kPages: bytes of a cell in one tensor
  std::int64_t frame_cells_{0};  // kPages: cells of a frame
  CellCounts counts_;
  std::map<RequestId, Table> tables_;
  std::int64_t held_alloc_units_{0};
  std::int64_t held_padding_{0};               // kTensors: bytes of padding in held blocks
  std::vector<std::int64_t> free_frames_;      // kPages
  std::map<std::int64_t, std::int64_t> free_;  // kTensors: first cell -> cells; never adjacent
  std::uint64_t generations_{0};
  std::vector<Write> writes_;
  std::vector<View> views_;
  std::vector<Holding> holdings_;
};

}  // namespace kvplan::validator
