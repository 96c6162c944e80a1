// The ledger's states where layers lie in groups, by walking over every cell of every layer of every block, from
// tables of its own that follow the events, and from the model's layers rather than their groups' counts. And what a
// step reads, token by token. Slow on purpose. Only for naive stepping (one step per on_steps).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
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
    if (tokens == 0) tokens = workload_.input[static_cast<std::size_t>(a.request)];
    s.num_tokens = tokens;
  }
  void on_grant(const core::Grant& g) override {
    Sequence& s = running_.at(g.request);
    EXPECT_EQ(g.first_block, static_cast<std::int64_t>(s.table.size()));
    EXPECT_EQ(g.quanta % groups(), 0);
    for (const BlockId block : g.blocks) {
      EXPECT_TRUE(held_.insert(block).second) << "block " << block << " has two holders";
      s.table.push_back(block);
    }
  }
  /// No window may show anything of the block, and all that could go goes.
  void on_let_go(const core::LetGo& left) override {
    Sequence& s = running_.at(left.request);
    EXPECT_EQ(left.written, static_cast<std::int64_t>(s.written));
    for (const std::int32_t entry : left.entries) {
      EXPECT_FALSE(shown(s, entry)) << "entry " << entry;
      BlockId& block = s.table.at(static_cast<std::size_t>(entry));
      EXPECT_EQ(held_.erase(block), 1U);
      block = kNoBlock;
    }
    ++leaves_;
  }
  void on_preempt(const core::Release& r) override { leave(r.request); }
  void on_chunk(const core::Chunk& c) override { running_.at(c.request).chunk = c.tokens; }
  void on_pass_end(const core::Pass& pass) override {
    refused_ = pass.refused;
    free_quanta_ = pass.pool.free;
    check_load(pass.load);
    for (const auto& [r, s] : running_) {
      if (!s.whole && s.chunk == 0) continue;  // not asked
      for (std::size_t e = 0; e < s.table.size(); ++e)
        if (s.table[e] != kNoBlock) {
          EXPECT_TRUE(shown(s, static_cast<std::int64_t>(e))) << "request " << r << " entry " << e;
        }
    }
  }
  void on_step_end(SimTime /*time*/, std::span<const RequestId> /*finishing*/) override {
    for (auto& [r, s] : running_) {
      s.written += s.whole ? 1 : s.chunk;
      s.chunk = 0;
      if (s.written < s.num_tokens) continue;
      s.whole = true;
      tokens_of_[r] = s.num_tokens = s.written + 1;
    }
  }
  void on_finish(SimTime /*time*/, const core::Release& r) override { leave(r.request); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override { free_quanta_ = pool.free; }

  /// The states in counts of the layout, padding outside the quanta aside.
  [[nodiscard]] observe::StateCounts count() const {
    using observe::State;
    observe::StateCounts bytes{};
    const std::int64_t cell = layout_.token_bytes / layout_.cells_per_token;
    for (const auto& [r, s] : running_) {
      for (std::size_t e = 0; e < s.table.size(); ++e) {
        if (s.table[e] == kNoBlock) continue;
        const model::LayerGroup& group = layout_.groups[e % layout_.groups.size()];
        const std::int64_t first = static_cast<std::int64_t>(e) / groups() * layout_.quantum_tokens;
        for (std::int64_t token = first; token < first + layout_.quantum_tokens; ++token) {
          for (std::int64_t layer = 0; layer < layout_.cells_per_token; ++layer) {
            const State state = state_of(r, s, group, token, layer);
            bytes[index(state)] += cell;
            if (state != State::kLive) continue;
            bytes[index(State::kLive)] -= layout_.metadata_bytes;
            bytes[index(State::kMetadata)] += layout_.metadata_bytes;
          }
        }
      }
    }
    bytes[index(refused_ ? State::kStranded : State::kFree)] = free_quanta_ * layout_.quantum_bytes();
    for (std::int64_t& state : bytes) state /= layout_.count_bytes();
    return bytes;
  }
  [[nodiscard]] std::int64_t leaves() const { return leaves_; }

 private:
  struct Sequence {
    std::vector<BlockId> table;
    std::int64_t written{0}, num_tokens{0}, chunk{0};
    bool whole{false};
  };
  [[nodiscard]] std::int64_t groups() const { return static_cast<std::int64_t>(layout_.groups.size()); }

  /// Is the token one that the next, at position `written`, sees?
  static bool seen(const model::LayerGroup& group, std::int64_t token, std::int64_t written) {
    return group.window == 0 || token > written - group.window;
  }
  [[nodiscard]] bool shown(const Sequence& s, std::int64_t entry) const {
    const model::LayerGroup& group = layout_.groups[static_cast<std::size_t>(entry % groups())];
    const std::int64_t first = entry / groups() * layout_.quantum_tokens;
    return seen(group, first + layout_.quantum_tokens - 1, s.written);
  }
  [[nodiscard]] observe::State state_of(RequestId r, const Sequence& s, const model::LayerGroup& group,
                                        std::int64_t token, std::int64_t layer) const {
    using observe::State;
    if (layer >= group.layers) return State::kPadding;
    if (token >= workload_.final_tokens(r)) return State::kTail;  // beside the last one, in the same block
    if (token >= s.written) return State::kReserved;
    return seen(group, token, s.written) ? State::kLive : State::kHole;
  }
  /// Keys that each token of the step sees or does not, one by one.
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
        EXPECT_EQ(held_.erase(block), 1U);
      }
    running_.erase(r);
  }

  const core::Workload& workload_;
  core::MemoryLayout layout_;
  std::map<RequestId, Sequence> running_;
  std::map<RequestId, std::int64_t> tokens_of_;  ///< prompt and what was generated, over preemptions
  std::set<BlockId> held_;
  std::int64_t free_quanta_{0};
  std::int64_t leaves_{0};
  bool refused_{false};
};

}  // namespace kvplan::test
