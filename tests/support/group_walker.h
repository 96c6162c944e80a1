// The ledger's states for layer groups: walks over every cell of every layer of every block, with its own tables made
// from the events, and uses the model's layers, not the counts of their groups. Also what a step reads, token by
// token. Slow on purpose. Only for naive stepping (one step per on_steps).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/model/model_shape.h"
#include "simulator/observe/ledger.h"

namespace kvplan::test {

class GroupWalker final : public core::Observer {
 public:
  GroupWalker(const core::Workload& workload, const core::MemoryLayout& layout)
      : workload_(workload), layout_(layout) {}

  void on_admit(const core::Admission& a) override {
    Sequence& s = running_[a.request];
    std::int64_t& tokens = tokens_of_[a.request];
    if (tokens == 0) tokens = workload_.input[index(a.request)];
    s.num_tokens = tokens;
    s.written = a.hit_tokens;
    s.table.assign(a.hits.begin(), a.hits.end());
    s.admitted_now = true;
    EXPECT_EQ(std::ssize(s.table), a.hit_tokens / layout_.alloc_unit_tokens * groups());
    for (std::size_t e = 0; e < s.table.size(); ++e) {
      // All blocks that a window shows were hit in its group.
      EXPECT_TRUE(s.table[e] != kNoBlock || !shown(s, static_cast<std::int64_t>(e))) << "entry " << e;
      if (s.table[e] == kNoBlock) continue;
      if (!held_[s.table[e]].empty()) ++shared_;
      EXPECT_TRUE(held_[s.table[e]].insert(a.request).second);
      EXPECT_EQ(entry_of_.at(s.table[e]), static_cast<std::int64_t>(e));
    }
  }
  void on_grant(const core::Grant& g) override {
    Sequence& s = running_.at(g.request);
    EXPECT_EQ(g.first_block, static_cast<std::int64_t>(s.table.size()));
    EXPECT_EQ(g.alloc_units % groups(), 0);
    for (const BlockId block : g.blocks) {
      EXPECT_TRUE(held_[block].empty()) << "block " << number(block) << " has a holder";
      held_[block].insert(g.request);
      entry_of_[block] = std::ssize(s.table);
      written_[block].assign(static_cast<std::size_t>(layout_.alloc_unit_tokens), false);
      s.table.push_back(block);
    }
  }
  /// No window may show a token of the block, and all blocks that could be freed must be freed.
  void on_free_blocks(const core::FreedBlocks& left) override {
    Sequence& s = running_.at(left.request);
    EXPECT_EQ(left.written, static_cast<std::int64_t>(s.written));
    for (const std::int32_t entry : left.entries) {
      EXPECT_FALSE(shown(s, entry)) << "entry " << entry;
      BlockId& block = s.table.at(static_cast<std::size_t>(entry));
      EXPECT_EQ(held_.at(block).erase(left.request), 1U);
      block = kNoBlock;
    }
    ++leaves_;
  }
  void on_preempt(const core::Release& r) override { leave(r.request); }
  void on_chunk(const core::Chunk& c) override { running_.at(c.request).chunk = c.tokens; }
  void on_pass_end(const core::Pass& pass) override {
    refused_ = pass.refused;
    free_alloc_units_ = pass.pool.free;
    cached_alloc_units_ = pass.pool.cached;
    check_load(pass.load);
    for (auto& [r, s] : running_) {
      if (std::exchange(s.admitted_now, false))
        continue;  // the request may have hit a block that is freed in its next scheduler step
      if (!s.whole && s.chunk == 0) continue;  // the allocator is not asked for this request
      for (std::size_t e = 0; e < s.table.size(); ++e)
        if (s.table[e] != kNoBlock) {
          EXPECT_TRUE(shown(s, static_cast<std::int64_t>(e))) << "request " << number(r) << " entry " << e;
        }
    }
  }
  void on_step_end(SimTime /*time*/, std::span<const RequestId> /*finishing*/) override {
    for (auto& [r, s] : running_) {
      for (std::int64_t tokens = s.whole ? 1 : s.chunk; tokens > 0; --tokens, ++s.written)
        for (std::int64_t g = 0; g < groups(); ++g)
          written_
              .at(s.table.at(static_cast<std::size_t>(s.written / layout_.alloc_unit_tokens * groups() + g)))
              .at(static_cast<std::size_t>(s.written % layout_.alloc_unit_tokens)) = true;
      s.chunk = 0;
      if (s.written < s.num_tokens) continue;
      s.whole = true;
      tokens_of_[r] = s.num_tokens = s.written + 1;
    }
  }
  void on_finish(SimTime /*time*/, const core::Release& r) override { leave(r.request); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override {
    free_alloc_units_ = pool.free;
    cached_alloc_units_ = pool.cached;
  }

  /// The states in counts of the layout, without padding outside the allocation units.
  [[nodiscard]] observe::StateCounts count() const {
    using observe::State;
    observe::StateCounts bytes{};
    const std::int64_t cell = layout_.token_bytes / layout_.cells_per_token;
    for (const auto& [block, holders] : held_) {
      if (holders.empty()) continue;
      const std::int64_t entry = entry_of_.at(block);
      const model::LayerGroup& group = layout_.groups[static_cast<std::size_t>(entry % groups())];
      for (std::int64_t place = 0; place < layout_.alloc_unit_tokens; ++place) {
        for (std::int64_t layer = 0; layer < layout_.cells_per_token; ++layer) {
          const State state =
              state_of(block, group, entry / groups() * layout_.alloc_unit_tokens + place, layer);
          bytes[index(state)] += cell;
          if (state != State::kLive) continue;
          bytes[index(State::kLive)] -= layout_.metadata_bytes;
          bytes[index(State::kMetadata)] += layout_.metadata_bytes;
        }
      }
    }
    for (const auto& [r, s] : running_) count_states(s, bytes);
    bytes[index(State::kCached)] = cached_alloc_units_ * layout_.alloc_unit_bytes();
    bytes[index(refused_ ? State::kStranded : State::kFree)] = free_alloc_units_ * layout_.alloc_unit_bytes();
    for (std::int64_t& state : bytes) state /= layout_.count_bytes();
    return bytes;
  }
  [[nodiscard]] std::int64_t leaves() const { return leaves_; }
  /// How many blocks were hit while a request held them.
  [[nodiscard]] std::int64_t shared() const { return shared_; }

 private:
  struct Sequence {
    std::vector<BlockId> table;
    std::int64_t written{0}, num_tokens{0}, chunk{0};
    bool whole{false};
    bool admitted_now{false};
  };
  [[nodiscard]] std::int64_t groups() const { return static_cast<std::int64_t>(layout_.groups.size()); }

  /// Walks over the blocks of a request's states, slot by slot and layer by layer.
  void count_states(const Sequence& s, observe::StateCounts& bytes) const {
    using observe::State;
    const model::StateBlocks& states = layout_.states;
    for (std::int64_t block = 0, left = states.layers; block < states.blocks; ++block) {
      const std::int64_t here = std::min(left, layout_.cells_per_token);
      left -= here;
      for (std::int64_t slot = 0; slot < layout_.alloc_unit_tokens; ++slot)
        for (std::int64_t layer = 0; layer < layout_.cells_per_token; ++layer) {
          const bool filled = layer < here && slot < states.slots;
          const State state = !filled ? State::kPadding : s.written > 0 ? State::kLive : State::kReserved;
          bytes[index(state)] += layout_.token_bytes / layout_.cells_per_token;
        }
    }
  }
  /// True if the next token, at position `written`, sees this token.
  static bool seen(const model::LayerGroup& group, std::int64_t token, std::int64_t written) {
    return group.window == 0 || token > written - group.window;
  }
  [[nodiscard]] bool shown(const Sequence& s, std::int64_t entry) const {
    const model::LayerGroup& group = layout_.groups[static_cast<std::size_t>(entry % groups())];
    const std::int64_t first = entry / groups() * layout_.alloc_unit_tokens;
    return seen(group, first + layout_.alloc_unit_tokens - 1, s.written);
  }
  /// The state follows from all holders: any of them may see a token, or write it.
  [[nodiscard]] observe::State state_of(BlockId block, const model::LayerGroup& group, std::int64_t token,
                                        std::int64_t layer) const {
    using observe::State;
    if (layer >= group.layers) return State::kPadding;
    const auto any = [&](auto says) {
      const auto& holders = held_.at(block);
      return std::any_of(holders.begin(), holders.end(), says);
    };
    if (written_.at(block)[static_cast<std::size_t>(token % layout_.alloc_unit_tokens)])
      return any([&](RequestId r) { return seen(group, token, running_.at(r).written); }) ? State::kLive
                                                                                          : State::kHole;
    // The slots after the last token, in the same block.
    return any([&](RequestId r) { return token < workload_.final_tokens(r); }) ? State::kReserved
                                                                               : State::kTail;
  }
  /// Counts one by one the keys that each token of the step sees.
  void check_load(const core::StepLoad& load) const {
    std::set<std::int64_t> windows;
    for (const model::LayerGroup& group : layout_.groups)
      if (group.window > 0) windows.insert(group.window);
    std::size_t w = 0;
    for (const std::int64_t window : windows) {
      std::int64_t context = 0, pairs = 0;
      for (const auto& [r, s] : running_) {
        const std::int64_t tokens = s.whole ? 1 : s.chunk;
        if (tokens == 0) continue;
        for (std::int64_t key = 0; key < s.written; ++key)
          context += seen({1, window}, key, s.written) ? 0 : 1;
        for (std::int64_t token = s.written; token < s.written + tokens; ++token)
          for (std::int64_t key = 0; key <= token; ++key) pairs += seen({1, window}, key, token) ? 0 : 1;
      }
      EXPECT_EQ(load.unseen[w].context_tokens, context) << "window " << window;
      EXPECT_EQ(load.unseen[w].attention_pairs, pairs) << "window " << window;
      ++w;
    }
    for (; w < core::kMostWindows; ++w) {
      EXPECT_EQ(load.unseen[w].context_tokens, 0);
      EXPECT_EQ(load.unseen[w].attention_pairs, 0);
    }
  }
  void leave(RequestId r) {
    for (const BlockId block : running_.at(r).table)
      if (block != kNoBlock) {
        EXPECT_EQ(held_.at(block).erase(r), 1U);
      }
    running_.erase(r);
  }

  const core::Workload& workload_;
  core::MemoryLayout layout_;
  std::map<RequestId, Sequence> running_;
  std::map<RequestId, std::int64_t> tokens_of_;  ///< prompt and generated tokens, over preemptions
  std::map<BlockId, std::set<RequestId>> held_;
  std::map<BlockId, std::int64_t> entry_of_;      ///< index in a table
  std::map<BlockId, std::vector<bool>> written_;  ///< which of its tokens were written
  std::int64_t free_alloc_units_{0}, cached_alloc_units_{0};
  std::int64_t shared_{0};
  std::int64_t leaves_{0};
  bool refused_{false};
};

}  // namespace kvplan::test
