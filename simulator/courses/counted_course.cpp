#include "simulator/courses/counted_course.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/courses/alike_steps.h"
#include "simulator/courses/gathered_course.h"

namespace kvplan::core {
namespace {

/// Functions of the length of the table and the number of kept cells, which `Told` knows. They are not virtual, since
/// they are called in every step:
///   table(n)       cells of the table after n tokens, compacted if that is due; n >= prompt
///   kept_cells(n)  of all units; n >= prompt
template <class Told>
class CompactCourse : public Course {
 public:
  [[nodiscard]] const Drops* drops() const override { return drops_.get(); }
  [[nodiscard]] std::int64_t table_slots(std::int64_t n) const override { return slots(n); }
  [[nodiscard]] HeldCells granted(std::int64_t first, std::int64_t alloc_units) const override {
    return unwritten(alloc_units * block_, shape_.final_tokens - first * block_);
  }
  [[nodiscard]] HeldCells settled(std::int64_t n) const override { return with_table(told().table(n), n); }
  [[nodiscard]] HeldCells grant(std::int64_t n) const override {
    if (told().table(n) % block_ != 0) return {};
    return unwritten(block_, shape_.final_tokens - n);
  }
  [[nodiscard]] std::optional<Compaction> compaction(std::int64_t n) const override {
    const std::int64_t written = slots(n);
    if (told().table(n) == written) return {};
    return Compaction{told().kept_cells(n), alloc_units(written), alloc_units(told().table(n))};
  }
  [[nodiscard]] HeldCells returned_cells(std::int64_t n) const override {
    const std::int64_t written = slots(n);
    const std::int64_t left = told().table(n);
    return left == written ? HeldCells{} : with_table(written, n) - with_table(left, n);
  }

 protected:
  CompactCourse(const CourseShape& shape, std::int64_t units, std::shared_ptr<const Drops> drops)
      : Course(shape, units), drops_(std::move(drops)), block_(shape.alloc_unit_tokens) {}
  std::shared_ptr<const Drops> drops_;  ///< may be null
  std::int64_t block_;

 private:
  [[nodiscard]] const Told& told() const { return static_cast<const Told&>(*this); }
  [[nodiscard]] std::int64_t slots(std::int64_t n) const {
    return n <= shape_.prompt ? n : told().table(n - 1) + 1;
  }
  [[nodiscard]] std::int64_t alloc_units(std::int64_t cells) const { return ceil_div(cells, block_); }
  /// All held cells after n tokens, if `cells` cells of the table are in use.
  [[nodiscard]] HeldCells with_table(std::int64_t cells, std::int64_t n) const {
    HeldCells held = unwritten(alloc_units(cells) * block_ - cells, shape_.final_tokens - n);
    held.live = told().kept_cells(n);
    held.hole = units_ * cells - held.live;
    return held;
  }
  /// `cells` cells after the written ones, for a request that will write `awaited` tokens in all.
  [[nodiscard]] HeldCells unwritten(std::int64_t cells, std::int64_t awaited) const {
    HeldCells held;
    held.reserved = units_ * std::min(cells, awaited);
    held.tail = units_ * cells - held.reserved;
    return held;
  }
};

std::int64_t sum_of_tracks(const Drops& drops) {
  const auto units = drops.track_units();
  return std::accumulate(units.begin(), units.end(), std::int64_t{0});
}
/// A course for CountedUnits or KeptUnits.
template <class Each>
std::int64_t sum_of_units(const std::vector<Each>& units) {
  return std::accumulate(units.begin(), units.end(), std::int64_t{0},
                         [](std::int64_t sum, const Each& each) { return sum + each.units; });
}

class CountedCourse final : public CompactCourse<CountedCourse> {
 public:
  CountedCourse(const CourseShape& shape, const std::vector<CountedUnits>& units,
                std::shared_ptr<const Drops> drops)
      : CompactCourse(shape, sum_of_units(units), std::move(drops)), counts_(units), kept_(units[0].kept) {
    for (const auto& [kept, count] : units) kept_ = kept.budget > kept_.budget ? kept : kept_;
    const std::int64_t dropped = shape.prompt - kept_.of(shape.prompt, shape.prompt);
    compacts_prompt_ = dropped >= block_;
    round_from_ = compacts_prompt_ ? shape.prompt : kept_.budget;
  }

  [[nodiscard]] std::span<const CountedUnits> counts() const override { return counts_; }
  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const override {
    // Until the table is at the end of its last block, is compacted, or holds dropped cells of more units.
    std::int64_t steps = std::min(block_ - table(n) % block_, shape_.final_tokens - n);
    if (kept_.once) return steps;
    for (const auto& [kept, count] : counts_)
      if (n < kept.budget) steps = std::min(steps, kept.budget + 1 - n);
    if (n >= kept_.budget) return std::min(steps, block_ - (n - round_from_) % block_);
    if (counts_.size() == 1 || shape_.reads_holes) return steps;
    // If some units keep one more token at each step and others none, the mean over units grows only in some steps.
    const auto read = [&](std::int64_t m) { return read_tokens(m + 1) - read_tokens(m); };
    std::int64_t alike = 1;
    while (alike < steps && read(n + alike - 1) == read(n)) ++alike;
    return alike;
  }
  [[nodiscard]] std::int64_t kept_cells(std::int64_t n) const {
    std::int64_t cells = 0;
    for (const auto& [kept, count] : counts_) cells += count * kept.of(n, shape_.prompt);
    return cells;
  }
  [[nodiscard]] std::int64_t table(std::int64_t n) const {
    if (kept_.once) return compacts_prompt_ ? kept_.of(n, shape_.prompt) : n;
    return n < round_from_ ? n : kept_.budget + (n - round_from_) % block_;
  }

 private:
  std::vector<CountedUnits> counts_;
  KeptCount kept_;  ///< of the units that keep most
  bool compacts_prompt_;
  std::int64_t round_from_;  ///< tokens after which the table is the budget long, for the first time or again
};

/// A course made from the drops of each track, or from the number of tokens that all units keep.
class GatheredCourse final : public CompactCourse<GatheredCourse> {
 public:
  GatheredCourse(const CourseShape& shape, const std::shared_ptr<const Drops>& drops)
      : CompactCourse(shape, sum_of_tracks(*drops), drops) {
    const auto track_units = drops_->track_units();
    std::vector<std::int64_t> kept(track_units.size(), shape.prompt);
    std::vector<std::int32_t> gone;
    follow([&](std::int64_t n) {
      std::int64_t live = 0;
      for (std::size_t track = 0; track < kept.size(); ++track) {
        gone.clear();
        drops_->dropped(static_cast<std::int32_t>(track), n, gone);
        kept[track] -= static_cast<std::int64_t>(gone.size());
        live += track_units[track] * kept[track];
      }
      const std::int64_t most = *std::max_element(kept.begin(), kept.end());
      for (std::int64_t& each : kept) ++each;
      return Kept{live, most};
    });
  }
  GatheredCourse(const CourseShape& shape, std::vector<KeptUnits> units)
      : CompactCourse(shape, sum_of_units(units), nullptr), by_length_(std::move(units)) {
    for (const KeptUnits& each : by_length_) {
      KVPLAN_CHECK(std::ssize(each.kept) == shape.final_tokens - shape.prompt, std::ssize(each.kept));
      std::int64_t most = shape.prompt;
      for (const std::int64_t kept : each.kept) {
        KVPLAN_CHECK(0 <= kept && kept <= most, kept, most);
        most = kept + 1;
      }
    }
    follow([&](std::int64_t n) {
      Kept out{0, 0};
      for (const KeptUnits& each : by_length_) {
        out.cells += each.units * each.kept[at(n)];
        out.most = std::max(out.most, each.kept[at(n)]);
      }
      return out;
    });
  }

  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const override { return alike_[at(n)]; }
  [[nodiscard]] std::int64_t kept_cells(std::int64_t n) const { return after_[at(n)].kept_cells; }
  [[nodiscard]] std::int64_t table(std::int64_t n) const { return after_[at(n)].table; }
  [[nodiscard]] std::span<const KeptUnits> kept_by_length() const override { return by_length_; }

 private:
  struct Kept {
    std::int64_t cells;  ///< of all units
    std::int64_t most;   ///< of a unit
  };
  /// `kept_of(n)`: number of kept tokens after n tokens; called with ascending n.
  template <class KeptOf>
  void follow(KeptOf kept_of) {
    std::int64_t cells = shape_.prompt;  // of the table
    for (std::int64_t n = shape_.prompt; n < shape_.final_tokens; ++n, ++cells) {
      const Kept kept = kept_of(n);
      if (cells - kept.most >= block_) cells = kept.most;
      after_.push_back({kept.cells, cells});
    }
    alike_ = alike_steps_of(*this);
  }

  struct After {
    std::int64_t kept_cells, table;
  };
  [[nodiscard]] std::size_t at(std::int64_t n) const { return static_cast<std::size_t>(n - shape_.prompt); }

  std::vector<KeptUnits> by_length_;  ///< empty if the tracks' dropped tokens are known
  std::vector<After> after_;          ///< [n - prompt]
  std::vector<std::int32_t> alike_;   ///< [n - prompt]
};

void check_shape(const CourseShape& shape) {
  KVPLAN_CHECK(1 <= shape.prompt && shape.prompt <= shape.final_tokens, shape.prompt, shape.final_tokens);
  KVPLAN_CHECK(shape.placement == Placement::kCompact && shape.returns_alloc_units, shape.prompt);
}

}  // namespace

std::unique_ptr<const Course> make_counted_course(const CourseShape& shape,
                                                  const std::vector<CountedUnits>& units,
                                                  std::shared_ptr<const Drops> drops) {
  check_shape(shape);
  KVPLAN_CHECK(!units.empty(), shape.prompt);
  KVPLAN_CHECK(sum_of_units(units) >= 1, shape.prompt);
  for (const auto& [kept, count] : units)
    KVPLAN_CHECK(
        kept.budget >= 1 && count >= 0 && kept.once == units.front().kept.once && kept.thinning.leave == 0,
        kept.budget, count, kept.thinning.leave);
  return std::make_unique<CountedCourse>(shape, units, std::move(drops));
}

std::unique_ptr<const Course> make_gathered_course(const CourseShape& shape,
                                                   std::shared_ptr<const Drops> drops) {
  check_shape(shape);
  return std::make_unique<GatheredCourse>(shape, drops);
}

std::unique_ptr<const Course> make_course_of_kept(const CourseShape& shape, std::vector<KeptUnits> units) {
  check_shape(shape);
  for (const KeptUnits& each : units) KVPLAN_CHECK(each.units >= 0, each.units);
  KVPLAN_CHECK(sum_of_units(units) >= 1, shape.prompt);
  return std::make_unique<GatheredCourse>(shape, std::move(units));
}

}  // namespace kvplan::core
