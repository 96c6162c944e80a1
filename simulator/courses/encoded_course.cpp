#include "simulator/courses/encoded_course.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::core {
namespace {

class EncodedCourse final : public Course {
 public:
  EncodedCourse(const CourseShape& shape, EncodedTokens tokens)
      : Course(shape, tokens.token_bytes, tokens.metadata_bytes),
        block_bytes_(shape.alloc_unit_tokens * tokens.token_bytes),
        stored_(std::move(tokens.stored)) {
    find_most();
    find_alike();
  }

  [[nodiscard]] std::int64_t table_slots(std::int64_t n) const override {
    return n <= shape_.prompt ? n : held_in_step(n - 1) * shape_.alloc_unit_tokens;
  }
  [[nodiscard]] HeldCells granted(std::int64_t first, std::int64_t alloc_units) const override {
    HeldCells held;
    const std::int64_t cells = alloc_units * block_bytes_;
    held.reserved = std::min(cells, shape_.final_tokens * units_ - first * block_bytes_);
    held.tail = cells - held.reserved;
    return held;
  }
  [[nodiscard]] HeldCells settled(std::int64_t n) const override { return in(n, alloc_units(n)); }
  [[nodiscard]] HeldCells grant(std::int64_t n) const override {
    const std::int64_t during = held_in_step(n);
    return during == alloc_units(n) ? HeldCells{} : in(n, during) - settled(n);
  }
  [[nodiscard]] std::optional<Compaction> compaction(std::int64_t n) const override {
    const std::int64_t before = alloc_units_before(n);
    if (before == alloc_units(n)) return {};
    const std::int64_t dropped = dropped_cells(n);
    const std::int64_t moved = n == shape_.prompt && dropped > 0 ? n * units_ - dropped : 0;
    return Compaction{moved, before, alloc_units(n)};
  }
  [[nodiscard]] HeldCells returned_cells(std::int64_t n) const override {
    const std::int64_t before = alloc_units_before(n);
    return before == alloc_units(n) ? HeldCells{} : in(n, before) - settled(n);
  }
  [[nodiscard]] std::int64_t dropped_cells(std::int64_t n) const override { return stored(n).dropped_cells; }
  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const override { return alike_[at(n)]; }

 private:
  [[nodiscard]] std::size_t at(std::int64_t n) const { return static_cast<std::size_t>(n - shape_.prompt); }
  [[nodiscard]] const StoredBytes& stored(std::int64_t n) const { return stored_[at(n)]; }
  [[nodiscard]] std::int64_t blocks(std::int64_t bytes) const { return ceil_div(bytes, block_bytes_); }

  /// Allocation units that n tokens take, with room for the next token.
  [[nodiscard]] std::int64_t wanted(std::int64_t n) const {
    const StoredBytes& bytes = stored(n);
    return blocks(bytes.coded + bytes.metadata) + blocks(bytes.exact + units_);
  }
  /// Allocation units held after n tokens; for a prompt at most those that it had before.
  [[nodiscard]] std::int64_t alloc_units(std::int64_t n) const {
    return n == shape_.prompt ? std::min(wanted(n), blocks(n * units_)) : wanted(n);
  }
  /// Allocation units held while token n is written.
  [[nodiscard]] std::int64_t held_in_step(std::int64_t n) const {
    return n + 1 < shape_.final_tokens ? std::max(wanted(n), wanted(n + 1)) : wanted(n);
  }
  /// Allocation units held at the end of the step that wrote token n - 1, before anything is freed.
  [[nodiscard]] std::int64_t alloc_units_before(std::int64_t n) const {
    return n == shape_.prompt ? blocks(n * units_) : held_in_step(n - 1);
  }
  /// All cells of `alloc_units` blocks after n tokens.
  [[nodiscard]] HeldCells in(std::int64_t n, std::int64_t alloc_units) const {
    const StoredBytes& bytes = stored(n);
    HeldCells held;
    held.live = bytes.coded + bytes.exact;
    held.metadata = bytes.metadata;
    const std::int64_t idle = alloc_units * block_bytes_ - bytes.total();
    held.reserved = std::min(idle, most_[at(n)] - bytes.total());
    held.tail = (idle - held.reserved) % block_bytes_;
    held.internal = idle - held.reserved - held.tail;
    return held;
  }

  /// Finds the largest number of bytes ever stored from each step on, including a token that is not encoded yet.
  void find_most() {
    most_.resize(stored_.size());
    std::int64_t most = 0;
    for (std::size_t i = stored_.size(); i-- > 0;) {
      const StoredBytes& bytes = stored_[i];
      KVPLAN_CHECK(bytes.coded >= 0 && bytes.metadata >= 0 && bytes.exact >= 0, bytes.total());
      const std::int64_t all = (shape_.prompt + static_cast<std::int64_t>(i)) * units_;
      KVPLAN_CHECK(0 <= bytes.dropped_cells && bytes.total() <= all - bytes.dropped_cells, bytes.total(), all,
                   bytes.dropped_cells);
      most = std::max(most, bytes.total() + units_);
      most_[i] = most;
    }
  }

  /// Goes from the last step to the first: a step is alike to those after it as long as they make the same changes.
  void find_alike() {
    alike_.assign(stored_.size(), 1);
    const auto during = [&](std::int64_t n) { return in(n, held_in_step(n)); };
    for (std::int64_t n = shape_.final_tokens - 2; n >= shape_.prompt; --n) {
      const bool held = held_in_step(n + 1) == held_in_step(n) && alloc_units(n + 1) == held_in_step(n);
      const std::int64_t more_read = read_tokens(n + 1) - read_tokens(n);
      if (!held || more_read < 0 || more_read > 1) continue;
      const std::int64_t behind = alike_[at(n + 1)];
      const bool goes_on = behind > 1 && read_tokens(n + 2) - read_tokens(n + 1) == more_read &&
                           during(n + 2) - during(n + 1) == during(n + 1) - during(n);
      alike_[at(n)] = goes_on ? static_cast<std::int32_t>(behind + 1) : 2;
    }
  }

  std::int64_t block_bytes_;
  std::vector<StoredBytes> stored_;  ///< from here on: by tokens beyond the prompt
  std::vector<std::int64_t> most_;
  std::vector<std::int32_t> alike_;
};

}  // namespace

std::unique_ptr<const Course> make_encoded_course(const CourseShape& shape, EncodedTokens tokens) {
  KVPLAN_CHECK(1 <= shape.prompt && shape.prompt <= shape.final_tokens, shape.prompt, shape.final_tokens);
  KVPLAN_CHECK(shape.returns_alloc_units && tokens.token_bytes >= 1, tokens.token_bytes);
  KVPLAN_CHECK(0 <= tokens.metadata_bytes && tokens.metadata_bytes <= tokens.token_bytes,
               tokens.metadata_bytes);
  KVPLAN_CHECK(std::ssize(tokens.stored) == shape.final_tokens - shape.prompt, std::ssize(tokens.stored),
               shape.final_tokens - shape.prompt);
  return std::make_unique<EncodedCourse>(shape, std::move(tokens));
}

}  // namespace kvplan::core
