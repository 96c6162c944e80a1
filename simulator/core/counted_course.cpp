#include "simulator/core/counted_course.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::core {
namespace {

class CountedCourse final : public Course {
 public:
  CountedCourse(const CourseShape& shape, const KeptCount& kept)
      : Course(shape, 1), kept_(kept), block_(shape.quantum_tokens) {
    const std::int64_t dropped = shape.prompt - kept.of(shape.prompt, shape.prompt);
    compacts_prompt_ = dropped >= block_;
    round_from_ = compacts_prompt_ ? shape.prompt : kept.budget;
  }

  [[nodiscard]] const Drops& drops() const override {
    check_failed("a counted course does not know which tokens go", __FILE__, __LINE__);
  }
  [[nodiscard]] std::int64_t table_slots(std::int64_t n) const override {
    return n <= shape_.prompt ? n : table(n - 1) + 1;
  }
  [[nodiscard]] HeldCells granted(std::int64_t first, std::int64_t quanta) const override {
    return unwritten(quanta * block_, shape_.final_tokens - first * block_);
  }
  [[nodiscard]] HeldCells settled(std::int64_t n) const override {
    const std::int64_t cells = table(n);
    HeldCells held = unwritten(quanta(cells) * block_ - cells, shape_.final_tokens - n);
    held.live = kept_.of(n, shape_.prompt);
    held.hole = cells - held.live;
    return held;
  }
  [[nodiscard]] HeldCells grant(std::int64_t n) const override {
    if (table(n) % block_ != 0) return {};
    return unwritten(block_, shape_.final_tokens - n);
  }
  [[nodiscard]] std::optional<Compaction> compaction(std::int64_t n) const override {
    const std::int64_t written = table_slots(n);
    if (table(n) == written) return {};
    return Compaction{table(n), quanta(written), quanta(table(n))};
  }
  [[nodiscard]] HeldCells returned_cells(std::int64_t n) const override {
    HeldCells cells;
    if (const auto moved = compaction(n)) cells.hole = (moved->quanta_before - moved->quanta) * block_;
    return cells;
  }
  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const override {
    // Until the table is at the end of its last block, is compacted, or begins to hold dropped cells.
    std::int64_t steps = std::min(block_ - table(n) % block_, shape_.final_tokens - n);
    if (kept_.once) return steps;
    if (n < kept_.budget) return std::min(steps, kept_.budget + 1 - n);
    return std::min(steps, block_ - (n - round_from_) % block_);
  }

 private:
  [[nodiscard]] std::int64_t quanta(std::int64_t cells) const { return ceil_div(cells, block_); }
  /// `cells` cells behind what is written, for a request that will write `awaited` tokens.
  static HeldCells unwritten(std::int64_t cells, std::int64_t awaited) {
    HeldCells held;
    held.reserved = std::min(cells, awaited);
    held.tail = cells - held.reserved;
    return held;
  }
  /// Cells of the table after n tokens, compacted if that is due. REQUIRES: n >= prompt.
  [[nodiscard]] std::int64_t table(std::int64_t n) const {
    if (kept_.once) return compacts_prompt_ ? kept_.of(n, shape_.prompt) : n;
    return n < round_from_ ? n : kept_.budget + (n - round_from_) % block_;
  }

  KeptCount kept_;
  std::int64_t block_;
  bool compacts_prompt_;
  std::int64_t round_from_;  ///< tokens after which the table is the budget long, for the first time or again
};

}  // namespace

std::unique_ptr<const Course> make_counted_course(const CourseShape& shape, const KeptCount& kept) {
  KVPLAN_CHECK(1 <= shape.prompt && shape.prompt <= shape.final_tokens, shape.prompt, shape.final_tokens);
  KVPLAN_CHECK(shape.placement == Placement::kCompact && shape.returns_quanta && kept.budget >= 1,
               kept.budget);
  return std::make_unique<CountedCourse>(shape, kept);
}

}  // namespace kvplan::core
