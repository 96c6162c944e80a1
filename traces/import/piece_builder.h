// Shared by all importers: turns rows into columns, numbers prefix ids and names, and counts oddities.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/import/interner.h"
#include "traces/import/source_traits.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

/// One request as in its source. `names` may be views into the importer's buffer.
struct Row {
  std::int64_t arrival_ns{0};
  std::int32_t input_tokens{0};
  std::int32_t output_tokens{0};
  std::int32_t max_tokens{-1};  ///< -1 = not stated, as in the members below
  std::int32_t priority{-1};
  std::int64_t ttft_ns{-1};
  std::int64_t e2e_ns{-1};
  std::string_view session;  ///< empty = none
  std::string_view tenant;
  std::int64_t think_ns{-1};             ///< pause before it, if it waits for others
  std::vector<std::int64_t> after;       ///< rows that it waits for, by position; none later than itself
  std::vector<std::int64_t> awaited_by;  ///< earlier rows that wait for it
  bool states_after{false};  ///< the source says which requests it waits for, or that it waits for none
  std::string id;            ///< its name in the source, for RequestIds
  std::vector<std::string> after_ids;  ///< names of the rows that it waits for
  bool has_hashes{false};
  std::vector<std::uint64_t> hashes;

  void clear() {
    max_tokens = priority = -1;
    ttft_ns = e2e_ns = think_ns = -1;
    states_after = false;
    after.clear();
    awaited_by.clear();
    id.clear();
    after_ids.clear();
    session = {};
    tenant = {};  // separate statements: g++ 12 would read back in one access what it has just written in two
    has_hashes = false;
    hashes.clear();
  }
};

/// Life cycle: `begin` a piece, `add` rows until `full`, begin the next one, ..., `finish` once.
class PieceBuilder {
 public:
  /// `block_tokens` 0: the source has no prefix hashes. `most_with_waits`: smaller in tests.
  explicit PieceBuilder(std::int64_t block_tokens, SourceTraits traits = {},
                        std::int64_t most_with_waits = kMostRequestsWithWaits)
      : block_tokens_(block_tokens), traits_(traits), most_with_waits_(most_with_waits) {}

  void begin(Trace& piece);
  [[nodiscard]] bool full() const {
    return piece_->size() >= kPieceRequests ||
           static_cast<std::int64_t>(piece_->prefix.ids.size()) >= kPieceReferences ||
           static_cast<std::int64_t>(piece_->waits.size()) >= kPieceWaits || name_bytes_ >= kPieceNameBytes;
  }
  /// Appends a row. False if that is impossible: `problem` then has the field and the message.
  bool add(const Row& row);
  struct Problem {
    std::string_view field;  ///< "hashes", "session", "tenant", "after"
    std::string message;
  };
  [[nodiscard]] const Problem& problem() const { return problem_; }

  /// Rows added until now, over all pieces.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Fills the counts and adds whole-sentence warnings to the provenance.
  void finish(StreamSummary& summary) const;

 private:
  static constexpr std::int64_t kPieceNameBytes = std::int64_t{1} << 22;
  bool add_hashes(const Row& row);
  /// Reports what is wrong with the number of prefix ids.
  bool refuse_hashes(const Row& row);
  bool add_name(std::string_view name, std::string_view field, NameInterner& numbers,
                std::vector<std::int32_t>& column, std::vector<std::string>& fresh);
  bool add_waits(const Row& row, std::int32_t session);
  void count_oddities(const Row& row);

  Trace* piece_{nullptr};
  std::int64_t block_tokens_;
  SourceTraits traits_;
  std::int64_t most_with_waits_;
  std::int64_t name_bytes_{0};
  bool optional_{false};  ///< the piece has an optional number column
  IdInterner contents_;   ///< contents of the source, if its ids are not chained
  IdInterner ids_;
  NameInterner sessions_;
  NameInterner tenants_;
  std::vector<std::int32_t> last_input_;  ///< by session
  std::vector<std::int64_t> last_row_;    ///< by session, if turns wait; -1 = none
  std::vector<std::int64_t> waits_;       ///< waits of the row that is being added
  Problem problem_;

  std::int64_t rows_{0};
  std::int64_t last_arrival_ns_{INT64_MIN};
  std::int32_t last_session_{-1};
  std::int64_t out_of_order_{0};
  std::int64_t zero_input_{0};
  std::int64_t zero_output_{0};
  std::int64_t without_hashes_{0};
  std::int64_t covered_by_ceiling_{0};  ///< rows with a part-filled last block that has an id
  std::int64_t covered_by_floor_{0};    ///< rows with a part-filled last block that has no id
  std::int64_t covered_less_{0};
  std::int64_t shrinking_sessions_{0};
};

}  // namespace kvplan::traces
