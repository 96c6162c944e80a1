// The ledger's ten states, counted by walking over every cell of every block, with its own tables made from the
// events. Slow on purpose: no counter, no aggregate, no shortcut. Only for naive stepping (one step per
// on_steps).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/observe/ledger.h"

namespace kvplan::test {

class CellWalker final : public core::Observer {
 public:
  CellWalker(const core::Workload& workload, const core::MemoryLayout& layout, const core::KeepRule& keep)
      : workload_(workload),
        layout_(layout),
        keep_(keep),
        sequences_(static_cast<std::size_t>(workload.size())) {}

  void on_admit(const core::Admission& a) override {
    Sequence& s = sequences_[at(a.request)];
    s.blocks.assign(a.hits.begin(), a.hits.end());
    s.kept.assign(at(a.hit_tokens), true);
    s.running = true;
    s.whole = false;
    if (s.num_tokens == 0) s.num_tokens = workload_.input[at(a.request)];
  }
  void on_grant(const core::Grant& g) override {
    Sequence& s = sequences_[at(g.request)];
    if (layout_.returns_alloc_units()) {
      for (const BlockId b : g.blocks) fresh(s, b);
    } else {  // one block of the range's length
      s.blocks = {own_block(g.request)};
      if (g.first_block == 0) written_[own_block(g.request)].clear();
      written_[own_block(g.request)].resize(at(g.first_block + g.alloc_units), false);
    }
  }
  /// The source of a copy is kept separately until the copy ends; the target is not written before that.
  void on_move(const core::Move& m) override {
    if (m.range.slides) return;
    read_[m.range.request] = written_[own_block(m.range.request)];
    copied_[m.range.request] = m.copied;
    written_[own_block(m.range.request)].assign(at(m.range.slots), false);
  }
  void on_copies_end(SimTime /*time*/, std::span<const core::Move> copies,
                     const core::PoolCounts& pool) override {
    for (const core::Move& m : copies)
      for (std::int64_t cell = 0; cell < m.copied; ++cell)
        written_[own_block(m.range.request)][at(cell)] = true;
    read_.clear();
    pool_ = pool;
  }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override {
    for (const auto& g : grants) fresh(sequences_[at(g.request)], g.block);
  }
  void on_pass_begin(SimTime /*time*/) override { held_back_.clear(); }
  void on_hold_back(RequestId r) override { held_back_.insert(r); }
  void on_preempt(const core::Release& r) override { leave(sequences_[at(r.request)]); }
  void on_chunk(const core::Chunk& c) override { sequences_[at(c.request)].tokens_in_step = c.tokens; }
  void on_pass_end(const core::Pass& pass) override {
    refused_ = pass.refused;
    pool_ = pass.pool;
  }
  void on_step_end(SimTime /*time*/, std::span<const RequestId> /*finishing*/) override {
    for (std::size_t r = 0; r < sequences_.size(); ++r) {
      Sequence& s = sequences_[r];
      if (!s.running) continue;
      std::int64_t tokens = s.tokens_in_step;
      if (s.whole) tokens = held_back_.contains(id_at<RequestId>(r)) ? 0 : 1;
      s.tokens_in_step = 0;
      for (; tokens > 0; --tokens) {
        const auto position = static_cast<std::int64_t>(s.kept.size());
        written_[block_of(s, position)][at(cell_of(position))] = true;
        s.kept.push_back(true);
        if (static_cast<std::int64_t>(s.kept.size()) == s.num_tokens) produced(id_at<RequestId>(r), s);
      }
    }
  }
  void on_finish(SimTime /*time*/, const core::Release& r) override { leave(sequences_[at(r.request)]); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override { pool_ = pool; }

  /// The states in cells, without padding.
  [[nodiscard]] observe::StateCounts count() const {
    using observe::State;
    observe::StateCounts counts{};
    std::map<BlockId, std::vector<std::pair<const Sequence*, RequestId>>> holders;
    for (std::size_t r = 0; r < sequences_.size(); ++r)
      for (const BlockId b : sequences_[r].blocks)
        if (b != kNoBlock) holders[b].emplace_back(&sequences_[r], id_at<RequestId>(r));
    for (const auto& [block, sharers] : holders) {
      const std::vector<bool>& written = written_.at(block);
      std::int64_t never = 0;
      std::int64_t used = 0;
      for (std::size_t cell = 0; cell < written.size(); ++cell) {
        bool kept = false;
        bool will_write = false;
        for (const auto& [sequence, r] : sharers) {
          const std::int64_t position = place_of(*sequence, block) + static_cast<std::int64_t>(cell);
          if (position < static_cast<std::int64_t>(sequence->kept.size()))
            kept = kept || sequence->kept[at(position)];
          will_write = will_write || position < workload_.final_tokens(r);
        }
        if (written[cell]) {
          ++counts[index(kept ? State::kLive : State::kHole)];
          ++used;
        } else if (will_write) {
          ++counts[index(State::kReserved)];
          ++used;
        } else {
          ++never;
        }
      }
      const bool shares_alloc_unit = layout_.returns_alloc_units() && used > 0;
      counts[index(shares_alloc_unit ? State::kTail : State::kInternal)] += never;
    }
    for (const auto& [r, written] : read_) {
      for (std::size_t cell = 0; cell < written.size(); ++cell) {
        const bool source = static_cast<std::int64_t>(cell) < copied_.at(r);
        EXPECT_EQ(source, written[cell]);
        ++counts[index(source ? State::kLive : State::kInternal)];
      }
    }
    counts[index(State::kCached)] = pool_.cached * layout_.alloc_unit_tokens;
    counts[index(refused_ ? State::kStranded : State::kFree)] = pool_.free * layout_.alloc_unit_tokens;
    return counts;
  }

 private:
  struct Sequence {
    std::vector<BlockId> blocks;
    std::vector<bool> kept;  ///< by written position
    std::int64_t num_tokens{0};
    std::int64_t tokens_in_step{0};
    bool running{false}, whole{false};
  };
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  static std::size_t at(RequestId r) { return index(r); }

  [[nodiscard]] std::int64_t block_cells() const {
    return layout_.returns_alloc_units() ? layout_.alloc_unit_tokens : INT64_MAX / 4;
  }
  [[nodiscard]] BlockId block_of(const Sequence& s, std::int64_t position) const {
    return s.blocks[at(position / block_cells())];
  }
  [[nodiscard]] std::int64_t cell_of(std::int64_t position) const { return position % block_cells(); }
  /// Position of a held block's first cell.
  [[nodiscard]] std::int64_t place_of(const Sequence& s, BlockId block) const {
    std::int64_t b = 0;
    while (s.blocks[at(b)] != block) ++b;
    return b * (layout_.returns_alloc_units() ? layout_.alloc_unit_tokens : 0);
  }
  /// With contiguous memory, a request's range counts as one block wherever it is; its number is that of the request.
  static BlockId own_block(RequestId r) { return id_at<BlockId>(number(r)); }
  void fresh(Sequence& s, BlockId b) {
    s.blocks.push_back(b);
    written_[b].assign(at(layout_.alloc_unit_tokens), false);
  }
  void leave(Sequence& s) {
    s.blocks.clear();
    s.kept.clear();
    s.running = s.whole = false;
    s.tokens_in_step = 0;
  }
  /// A token was sampled; unless it was the last, applies the keep rule by its definition.
  void produced(RequestId r, Sequence& s) {
    s.whole = true;
    ++s.num_tokens;
    const auto written = static_cast<std::int64_t>(s.kept.size());
    if (written == workload_.final_tokens(r) || !keep_.evicts()) return;
    for (std::int64_t p = 0; p < written; ++p) s.kept[at(p)] = p < keep_.sink || p >= written - keep_.recent;
    if (written <= keep_.sink + keep_.recent) s.kept.assign(at(written), true);
    if (!layout_.returns_alloc_units()) return;
    for (std::size_t b = 0; b < s.blocks.size(); ++b) {
      bool needed = false;
      for (std::int64_t cell = 0; cell < layout_.alloc_unit_tokens; ++cell) {
        const std::int64_t p = static_cast<std::int64_t>(b) * layout_.alloc_unit_tokens + cell;
        needed = needed || p >= written || s.kept[at(p)];
      }
      if (!needed) s.blocks[b] = kNoBlock;
    }
  }

  const core::Workload& workload_;
  core::MemoryLayout layout_;
  core::KeepRule keep_;
  std::vector<Sequence> sequences_;
  std::map<BlockId, std::vector<bool>> written_;
  std::map<RequestId, std::vector<bool>> read_;  ///< old ranges of copies, by request
  std::map<RequestId, std::int64_t> copied_;
  std::set<RequestId> held_back_;  ///< in the current step
  core::PoolCounts pool_{};
  bool refused_{false};
};

}  // namespace kvplan::test
