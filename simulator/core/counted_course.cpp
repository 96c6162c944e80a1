#include "simulator/core/counted_course.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::core {
namespace {

class CountedCourse final : public Course {
 public:
  CountedCourse(const CourseShape& shape, const std::vector<CountedUnits>& units,
                std::shared_ptr<const Drops> drops)
      : Course(shape, 0), counts_(units), drops_(std::move(drops)), block_(shape.quantum_tokens) {
    for (const auto& [kept, count] : units) {
      kept_ = units_ == 0 || kept.budget > kept_.budget ? kept : kept_;
      units_ += count;
    }
    const std::int64_t dropped = shape.prompt - kept_.of(shape.prompt, shape.prompt);
    compacts_prompt_ = dropped >= block_;
    round_from_ = compacts_prompt_ ? shape.prompt : kept_.budget;
  }

  [[nodiscard]] const Drops* drops() const override { return drops_.get(); }
  [[nodiscard]] std::span<const CountedUnits> counts() const override { return counts_; }
  [[nodiscard]] std::int64_t table_slots(std::int64_t n) const override {
    return n <= shape_.prompt ? n : table(n - 1) + 1;
  }
  [[nodiscard]] HeldCells granted(std::int64_t first, std::int64_t quanta) const override {
    return unwritten(quanta * block_, shape_.final_tokens - first * block_);
  }
  [[nodiscard]] HeldCells settled(std::int64_t n) const override { return with_table(table(n), n); }
  [[nodiscard]] HeldCells grant(std::int64_t n) const override {
    if (table(n) % block_ != 0) return {};
    return unwritten(block_, shape_.final_tokens - n);
  }
  [[nodiscard]] std::optional<Compaction> compaction(std::int64_t n) const override {
    const std::int64_t written = table_slots(n);
    if (table(n) == written) return {};
    return Compaction{kept_cells(n), quanta(written), quanta(table(n))};
  }
  [[nodiscard]] HeldCells returned_cells(std::int64_t n) const override {
    const std::int64_t written = table_slots(n);
    return table(n) == written ? HeldCells{} : with_table(written, n) - settled(n);
  }
  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const override {
    // Until the table is at the end of its last block, is compacted, or holds dropped cells of more units.
    std::int64_t steps = std::min(block_ - table(n) % block_, shape_.final_tokens - n);
    if (kept_.once) return steps;
    for (const auto& [kept, count] : counts_)
      if (n < kept.budget) steps = std::min(steps, kept.budget + 1 - n);
    if (n >= kept_.budget) return std::min(steps, block_ - (n - round_from_) % block_);
    if (counts_.size() == 1 || shape_.reads_holes) return steps;
    // Where some units keep one more at each step and others none, the mean over units grows now and then.
    const auto read = [&](std::int64_t m) { return read_tokens(m + 1) - read_tokens(m); };
    std::int64_t alike = 1;
    while (alike < steps && read(n + alike - 1) == read(n)) ++alike;
    return alike;
  }

 private:
  [[nodiscard]] std::int64_t quanta(std::int64_t cells) const { return ceil_div(cells, block_); }
  /// All held cells after n tokens while so many cells of the table are in use.
  [[nodiscard]] HeldCells with_table(std::int64_t cells, std::int64_t n) const {
    HeldCells held = unwritten(quanta(cells) * block_ - cells, shape_.final_tokens - n);
    held.live = kept_cells(n);
    held.hole = units_ * cells - held.live;
    return held;
  }
  /// `cells` cells behind what is written, for a request that will write `awaited` tokens.
  [[nodiscard]] HeldCells unwritten(std::int64_t cells, std::int64_t awaited) const {
    HeldCells held;
    held.reserved = units_ * std::min(cells, awaited);
    held.tail = units_ * cells - held.reserved;
    return held;
  }
  /// Of all units after n tokens. REQUIRES: n >= prompt.
  [[nodiscard]] std::int64_t kept_cells(std::int64_t n) const {
    std::int64_t cells = 0;
    for (const auto& [kept, count] : counts_) cells += count * kept.of(n, shape_.prompt);
    return cells;
  }
  /// Cells of the table after n tokens, compacted if that is due. REQUIRES: n >= prompt.
  [[nodiscard]] std::int64_t table(std::int64_t n) const {
    if (kept_.once) return compacts_prompt_ ? kept_.of(n, shape_.prompt) : n;
    return n < round_from_ ? n : kept_.budget + (n - round_from_) % block_;
  }

  std::vector<CountedUnits> counts_;
  std::shared_ptr<const Drops> drops_;  ///< may be null
  KeptCount kept_;                      ///< of the units that keep most
  std::int64_t block_;
  bool compacts_prompt_;
  std::int64_t round_from_;  ///< tokens after which the table is the budget long, for the first time or again
};

}  // namespace

std::unique_ptr<const Course> make_counted_course(const CourseShape& shape,
                                                  const std::vector<CountedUnits>& units,
                                                  std::shared_ptr<const Drops> drops) {
  KVPLAN_CHECK(1 <= shape.prompt && shape.prompt <= shape.final_tokens, shape.prompt, shape.final_tokens);
  KVPLAN_CHECK(shape.placement == Placement::kCompact && shape.returns_quanta && !units.empty(),
               shape.prompt);
  for (const auto& [kept, count] : units)
    KVPLAN_CHECK(kept.budget >= 1 && count >= 1 && kept.once == units.front().kept.once, kept.budget, count);
  return std::make_unique<CountedCourse>(shape, units, std::move(drops));
}

}  // namespace kvplan::core
