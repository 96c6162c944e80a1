#include "simulator/courses/course.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "simulator/base/check.h"
#include "simulator/courses/alike_steps.h"

namespace kvplan::core {
namespace {

/// A course with holes or with slot reuse. Its answers are stored by token count.
class PlacedCourse final : public Course {
 public:
  PlacedCourse(const CourseShape& shape, std::shared_ptr<const Drops> drops);

  [[nodiscard]] const Drops* drops() const override { return drops_.get(); }
  [[nodiscard]] std::int64_t table_slots(std::int64_t n) const override {
    return n <= shape_.prompt ? n : after_[at(n - 1)].slots_of_next;
  }
  [[nodiscard]] HeldCells granted(std::int64_t first, std::int64_t alloc_units) const override;
  [[nodiscard]] HeldCells settled(std::int64_t n) const override { return after_[at(n)].settled; }
  [[nodiscard]] HeldCells grant(std::int64_t n) const override;
  [[nodiscard]] std::span<const std::int32_t> freed_entries(std::int64_t n) const override;
  [[nodiscard]] HeldCells returned_cells(std::int64_t n) const override;
  [[nodiscard]] bool has_dropped(std::int64_t n) const override { return n >= first_drop_; }
  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const override { return alike_[at(n)]; }

 private:
  class Holes;
  class Reuse;
  struct After {
    HeldCells settled;
    std::int64_t slots_of_next{0};
    std::int32_t freed_begin{0}, freed_end{0};
    /// Cells of the allocation unit that is granted; its other cells are tail. -1 reserved: none is granted.
    std::int64_t grant_reserved{-1}, grant_padding{0};
  };
  [[nodiscard]] std::size_t at(std::int64_t n) const { return static_cast<std::size_t>(n - shape_.prompt); }

  std::shared_ptr<const Drops> drops_;
  std::vector<After> after_;         ///< [n - prompt]
  std::vector<std::int32_t> alike_;  ///< [n - prompt]
  std::vector<std::int32_t> freed_;
  std::int64_t first_drop_{INT64_MAX};  ///< tokens after which a track drops something for the first time
  /// Cells of the prompt's last block after the prompt that will be written
  std::int64_t awaited_behind_prompt_{0};
  HeldCells range_;  ///< contiguous: slots [0, final_tokens) when granted
};

// ---- holes ----

/// Every track writes token n to slot n, so blocks differ only in how many of their cells are dropped.
class PlacedCourse::Holes {
 public:
  explicit Holes(PlacedCourse& course)
      : c_(course), s_(course.shape_), tracks_(course.drops_->track_units()) {}

  void run() {
    const std::int64_t final_tokens = s_.final_tokens;
    if (s_.returns_alloc_units) {
      dropped_in_.resize(static_cast<std::size_t>(ceil_div(final_tokens, s_.alloc_unit_tokens)), 0);
      const std::int64_t end = ceil_div(s_.prompt, s_.alloc_unit_tokens) * s_.alloc_unit_tokens;
      c_.awaited_behind_prompt_ = c_.units_ * (std::min(end, final_tokens) - s_.prompt);
    } else {
      c_.range_.reserved = c_.units_ * final_tokens;
    }
    for (std::int64_t n = s_.prompt; n < final_tokens; ++n) settle(n);
  }

 private:
  void settle(std::int64_t n) {
    touched_.clear();
    for (std::int32_t track = 0; track < static_cast<std::int32_t>(tracks_.size()); ++track) {
      positions_.clear();
      c_.drops_->dropped(track, n, positions_);
      if (positions_.empty()) continue;
      c_.first_drop_ = std::min(c_.first_drop_, n);
      const std::int64_t units = tracks_[static_cast<std::size_t>(track)];
      dropped_ += units * static_cast<std::int64_t>(positions_.size());
      if (!s_.returns_alloc_units) continue;
      for (const std::int32_t position : positions_) {
        const std::int64_t block = position / s_.alloc_unit_tokens;
        const std::int64_t dropped = ++dropped_in_[static_cast<std::size_t>(block)];
        if (dropped == std::ssize(tracks_) * s_.alloc_unit_tokens)
          touched_.push_back(static_cast<std::int32_t>(block));
      }
    }
    // A block with only dropped cells has been written completely.
    std::sort(touched_.begin(), touched_.end(), std::greater<>());
    After after;
    after.freed_begin = static_cast<std::int32_t>(c_.freed_.size());
    c_.freed_.insert(c_.freed_.end(), touched_.begin(), touched_.end());
    after.freed_end = static_cast<std::int32_t>(c_.freed_.size());
    returned_ += static_cast<std::int64_t>(touched_.size()) * s_.alloc_unit_tokens * c_.units_;

    const std::int64_t end =
        s_.returns_alloc_units ? ceil_div(n, s_.alloc_unit_tokens) * s_.alloc_unit_tokens : s_.final_tokens;
    after.settled.live = c_.units_ * n - dropped_;
    after.settled.hole = dropped_ - returned_;
    after.settled.reserved = c_.units_ * (std::min(end, s_.final_tokens) - n);
    after.settled.tail = c_.units_ * std::max<std::int64_t>(end - s_.final_tokens, 0);
    after.slots_of_next = n + 1;
    if (s_.returns_alloc_units && n % s_.alloc_unit_tokens == 0)
      after.grant_reserved = c_.units_ * std::min(s_.alloc_unit_tokens, s_.final_tokens - n);
    c_.after_.push_back(after);
  }

  PlacedCourse& c_;
  const CourseShape& s_;
  std::span<const std::int32_t> tracks_;
  std::int64_t dropped_{0};               ///< dropped cells until now
  std::int64_t returned_{0};              ///< cells of freed blocks
  std::vector<std::int64_t> dropped_in_;  ///< by block, summed over tracks
  std::vector<std::int32_t> positions_, touched_;
};

// ---- reuse ----

/// Computes first the slot of every token, then the state of every cell.
class PlacedCourse::Reuse {
 public:
  explicit Reuse(PlacedCourse& course)
      : c_(course),
        s_(course.shape_),
        units_(course.drops_->track_units()),
        tracks_(units_.size()),
        alloc_unit_(static_cast<std::uint32_t>(s_.alloc_unit_tokens)),
        slots_(tracks_) {}

  void run() {
    place();
    look_ahead();
    follow();
  }

 private:
  static constexpr std::int32_t kNever = INT32_MAX;
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// The slots of one track.
  struct Slots {
    std::vector<std::int32_t> of;  ///< [position]
    /// Heap of free slots, lowest first; may contain slots of freed blocks
    std::vector<std::int32_t> free;
    std::int64_t high{0};               ///< number of slots used until now
    std::vector<std::int32_t> dropped;  ///< positions in the order in which they are dropped
    std::vector<std::int64_t> begin;    ///< [n - prompt] index into dropped; one more at the end
    std::vector<std::int32_t> again;    ///< [position] the token that takes over its slot later, or kNever
    std::vector<std::int32_t> first;    ///< [slot] its first token, or kNever
  };

  [[nodiscard]] std::int64_t block_of(std::int64_t slot) const {
    return static_cast<std::uint32_t>(slot) / alloc_unit_;  // slots are below 2^31: the short division
  }

  // -- the slots of tokens

  void place() {
    kept_in_.assign(at(ceil_div(s_.final_tokens, s_.alloc_unit_tokens)), 0);
    gone_.assign(kept_in_.size(), false);
    for (Slots& track : slots_) {
      track.of.resize(at(s_.final_tokens));
      std::iota(track.of.begin(), track.of.begin() + s_.prompt, 0);
      track.high = s_.prompt;
      track.begin.push_back(0);
    }
    const auto tracks = static_cast<std::int32_t>(tracks_);
    for (std::int64_t b = 0; b * s_.alloc_unit_tokens < s_.prompt; ++b)
      kept_in_[at(b)] = static_cast<std::int32_t>(
          tracks * (std::min((b + 1) * s_.alloc_unit_tokens, s_.prompt) - b * s_.alloc_unit_tokens));
    table_ = s_.returns_alloc_units ? ceil_div(s_.prompt, s_.alloc_unit_tokens) : s_.final_tokens;
    for (std::int64_t n = s_.prompt; n < s_.final_tokens; ++n) {
      After after;
      drop(n, after);
      write(n);
      after.slots_of_next = s_.returns_alloc_units ? table_ * s_.alloc_unit_tokens : written_;
      c_.after_.push_back(after);
    }
  }

  void drop(std::int64_t n, After& after) {
    touched_.clear();
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(tracks_); ++t) {
      Slots& track = slots_[at(t)];
      const std::size_t before = track.dropped.size();
      c_.drops_->dropped(t, n, track.dropped);
      track.begin.push_back(static_cast<std::int64_t>(track.dropped.size()));
      if (track.dropped.size() > before) c_.first_drop_ = std::min(c_.first_drop_, n);
      for (std::size_t i = before; i < track.dropped.size(); ++i) {
        const std::int64_t block = block_of(track.of[at(track.dropped[i])]);
        if (--kept_in_[at(block)] == 0) touched_.push_back(static_cast<std::int32_t>(block));
      }
    }
    after.freed_begin = static_cast<std::int32_t>(c_.freed_.size());
    if (s_.returns_alloc_units) {
      std::sort(touched_.begin(), touched_.end(), std::greater<>());
      for (const std::int32_t block : touched_) {
        const std::int64_t end = (block + std::int64_t{1}) * s_.alloc_unit_tokens;
        const bool full =
            std::all_of(slots_.begin(), slots_.end(), [&](const Slots& x) { return x.high >= end; });
        if (!full) continue;
        gone_[at(block)] = true;
        c_.freed_.push_back(block);
      }
    }
    after.freed_end = static_cast<std::int32_t>(c_.freed_.size());
    for (Slots& track : slots_) free_slots(track, n);
  }

  /// Frees the slots of the tokens that a track drops after n tokens, except in freed blocks.
  void free_slots(Slots& track, std::int64_t n) {
    for (std::int64_t i = track.begin[c_.at(n)]; i < track.begin[c_.at(n) + 1]; ++i) {
      const std::int32_t slot = track.of[at(track.dropped[at(i)])];
      if (gone_[at(block_of(slot))]) continue;
      track.free.push_back(slot);
      std::push_heap(track.free.begin(), track.free.end(), std::greater<>());
    }
  }

  void write(std::int64_t n) {
    for (Slots& track : slots_) {
      while (!track.free.empty() && gone_[at(block_of(track.free.front()))]) pop(track);
      std::int64_t slot = track.high;
      if (!track.free.empty()) {
        slot = track.free.front();
        pop(track);
      } else {
        ++track.high;
        if (slot >= table_ * s_.alloc_unit_tokens) ++table_;
      }
      track.of[at(n)] = static_cast<std::int32_t>(slot);
      ++kept_in_[at(block_of(slot))];
      written_ = std::max(written_, track.high);
    }
  }

  static void pop(Slots& track) {
    std::pop_heap(track.free.begin(), track.free.end(), std::greater<>());
    track.free.pop_back();
  }

  // -- slots that will be written again

  void look_ahead() {
    for (Slots& track : slots_) {
      track.again.assign(at(s_.final_tokens), kNever);
      track.first.assign(at(table_ * s_.alloc_unit_tokens), kNever);
      for (std::int64_t p = s_.final_tokens - 1; p >= 0; --p) {
        std::int32_t& first = track.first[at(track.of[at(p)])];
        track.again[at(p)] = first;
        first = static_cast<std::int32_t>(p);
      }
    }
  }

  // -- states

  /// Cells of one track in one block.
  struct Part {
    std::int32_t live{0}, awaited{0}, idle{0};
    [[nodiscard]] std::int32_t used() const { return live + awaited; }
  };
  Part& part(std::int64_t block, std::int64_t track) { return parts_[at(block) * tracks_ + at(track)]; }
  std::int64_t& idle_state(const Part& p, std::int64_t block) {
    if (p.used() > 0) return now_.tail;
    return used_in_[at(block)] > 0 ? now_.padding : now_.internal;
  }

  /// Changes one part of a block, and counts its idle cells and those of the other parts again.
  void change(std::int64_t block, std::int64_t track, std::int32_t live, std::int32_t awaited,
              std::int32_t idle) {
    Part& p = part(block, track);
    const std::int64_t units = units_[at(track)];
    idle_state(p, block) -= units * p.idle;
    const bool was_used = p.used() > 0;
    p.live += live;
    p.awaited += awaited;
    p.idle += idle;
    now_.live += units * live;
    now_.reserved += units * awaited;
    const bool is_used = p.used() > 0;
    if (was_used != is_used) {
      std::int32_t& users = used_in_[at(block)];
      const bool first_or_last =
          users + static_cast<int>(is_used) - static_cast<int>(was_used) == 0 || users == 0;
      if (first_or_last) move_others(block, track, is_used);
      users += static_cast<int>(is_used) - static_cast<int>(was_used);
    }
    idle_state(p, block) += units * p.idle;
  }
  /// The other parts of the block use no cell: their idle cells are padding if this part uses one, else internal.
  void move_others(std::int64_t block, std::int64_t track, bool used) {
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(tracks_); ++t) {
      if (t == track) continue;
      const std::int64_t cells = std::int64_t{units_[at(t)]} * part(block, t).idle;
      now_.padding += used ? cells : -cells;
      now_.internal -= used ? cells : -cells;
    }
  }

  /// Adds an allocation unit to the table; nothing in it is written yet.
  void grant(std::int64_t block) {
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(tracks_); ++t) {
      std::int32_t awaited = 0;
      for (std::int64_t i = 0; i < s_.alloc_unit_tokens; ++i)
        awaited += slots_[at(t)].first[at(block * s_.alloc_unit_tokens + i)] != kNever ? 1 : 0;
      change(block, t, 0, awaited, static_cast<std::int32_t>(s_.alloc_unit_tokens) - awaited);
    }
  }

  void follow() {
    parts_.resize(at(table_) * tracks_);
    used_in_.assign(at(table_), 0);
    const std::int64_t granted =
        s_.returns_alloc_units ? ceil_div(s_.prompt, s_.alloc_unit_tokens) : s_.final_tokens;
    for (std::int64_t b = 0; b < granted; ++b) grant(b);
    if (s_.returns_alloc_units) {
      c_.awaited_behind_prompt_ = now_.reserved - c_.units_ * s_.prompt;
    } else {
      c_.range_ = now_;
    }
    for (std::int64_t p = 0; p < s_.prompt; p = (block_of(p) + 1) * s_.alloc_unit_tokens) {
      const auto cells =
          static_cast<std::int32_t>(std::min((block_of(p) + 1) * s_.alloc_unit_tokens, s_.prompt) - p);
      for (std::int64_t t = 0; t < static_cast<std::int64_t>(tracks_); ++t)
        change(block_of(p), t, cells, -cells, 0);
    }
    std::int64_t table = granted;
    for (std::int64_t n = s_.prompt; n < s_.final_tokens; ++n) {
      After& after = c_.after_[c_.at(n)];
      settle(n);
      for (std::int32_t i = after.freed_begin; i < after.freed_end; ++i) return_block(c_.freed_[at(i)]);
      after.settled = now_;
      for (; s_.returns_alloc_units && table * s_.alloc_unit_tokens < after.slots_of_next; ++table) {
        grant(table);
        after.grant_reserved = now_.reserved - after.settled.reserved;
        after.grant_padding = now_.padding - after.settled.padding;
      }
      for (std::int64_t t = 0; t < static_cast<std::int64_t>(tracks_); ++t)
        change(block_of(slots_[at(t)].of[at(n)]), t, 1, -1, 0);
    }
  }

  void settle(std::int64_t n) {
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(tracks_); ++t) {
      const Slots& track = slots_[at(t)];
      const std::int64_t end = track.begin[c_.at(n) + 1];
      for (std::int64_t i = track.begin[c_.at(n)]; i < end;) {
        // Neighbouring positions of one block are handled together.
        const std::int64_t block = block_of(track.of[at(track.dropped[at(i)])]);
        std::int32_t dropped = 0;
        std::int32_t awaited = 0;
        for (; i < end && block_of(track.of[at(track.dropped[at(i)])]) == block; ++i) {
          ++dropped;
          awaited += track.again[at(track.dropped[at(i)])] != kNever ? 1 : 0;
        }
        change(block, t, -dropped, awaited, dropped - awaited);
      }
    }
  }

  void return_block(std::int64_t block) {
    KVPLAN_CHECK(used_in_[at(block)] == 0, block);
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(tracks_); ++t)
      change(block, t, 0, 0, -part(block, t).idle);
  }

  PlacedCourse& c_;
  const CourseShape& s_;
  std::span<const std::int32_t> units_;
  std::size_t tracks_;
  std::uint32_t alloc_unit_;
  std::vector<Slots> slots_;
  std::vector<std::int32_t> kept_in_;  ///< kept cells by block, summed over tracks
  std::vector<bool> gone_;             ///< freed blocks
  std::int64_t table_{0};              ///< length of the table in allocation units
  std::int64_t written_{s_.prompt};    ///< slots that have been written, in the track with most
  std::vector<std::int32_t> touched_;
  std::vector<Part> parts_;            ///< [block][track]
  std::vector<std::int32_t> used_in_;  ///< by block: number of tracks that use a cell of it
  HeldCells now_;
};

// ---- both placements ----

std::int64_t units_of(const Drops& drops) {
  const auto tracks = drops.track_units();
  return std::accumulate(tracks.begin(), tracks.end(), std::int64_t{0});
}

PlacedCourse::PlacedCourse(const CourseShape& shape, std::shared_ptr<const Drops> drops)
    : Course(shape, units_of(*drops)), drops_(std::move(drops)) {
  after_.reserve(static_cast<std::size_t>(shape.final_tokens - shape.prompt));
  if (shape.placement == Placement::kReuse) {
    Reuse(*this).run();
  } else {
    Holes(*this).run();
  }
  alike_ = alike_steps_of(*this);
  // The step of the first drop stands alone, even if another rank drops the cell and no cell changes on this rank.
  for (std::int64_t n = shape.prompt; n < std::min(first_drop_, shape.final_tokens) - 1; ++n)
    alike_[at(n)] = static_cast<std::int32_t>(std::min<std::int64_t>(alike_[at(n)], first_drop_ - 1 - n));
}

HeldCells PlacedCourse::granted(std::int64_t first, std::int64_t alloc_units) const {
  HeldCells cells;
  if (!shape_.returns_alloc_units) {
    cells = range_;
    cells.internal += units_ * (alloc_units - shape_.final_tokens);
    return cells;
  }
  const std::int64_t from = first * shape_.alloc_unit_tokens;
  const std::int64_t to = (first + alloc_units) * shape_.alloc_unit_tokens;
  cells.reserved = units_ * (std::min(to, shape_.prompt) - from);
  if (to <= shape_.prompt) return cells;
  cells.reserved += awaited_behind_prompt_;
  cells.tail = units_ * (to - from) - cells.reserved;
  return cells;
}

HeldCells PlacedCourse::grant(std::int64_t n) const {
  const After& after = after_[at(n)];
  HeldCells cells;
  if (after.grant_reserved < 0) return cells;
  cells.reserved = after.grant_reserved;
  cells.padding = after.grant_padding;
  cells.tail = units_ * shape_.alloc_unit_tokens - cells.reserved - cells.padding;
  return cells;
}

std::span<const std::int32_t> PlacedCourse::freed_entries(std::int64_t n) const {
  const After& after = after_[at(n)];
  return std::span<const std::int32_t>(freed_).subspan(
      static_cast<std::size_t>(after.freed_begin),
      static_cast<std::size_t>(after.freed_end - after.freed_begin));
}

HeldCells PlacedCourse::returned_cells(std::int64_t n) const {
  HeldCells cells;
  const std::int64_t all =
      static_cast<std::int64_t>(freed_entries(n).size()) * shape_.alloc_unit_tokens * units_;
  (shape_.placement == Placement::kHoles ? cells.hole : cells.internal) = all;
  return cells;
}

}  // namespace

std::unique_ptr<const Course> Course::make(const CourseShape& shape, std::shared_ptr<const Drops> drops) {
  KVPLAN_CHECK(1 <= shape.prompt && shape.prompt <= shape.final_tokens, shape.prompt, shape.final_tokens);
  KVPLAN_CHECK(shape.placement != Placement::kCompact, shape.prompt);
  return std::make_unique<PlacedCourse>(shape, std::move(drops));
}

}  // namespace kvplan::core
