// The ledger's states for allocation units that are not whole tokens: walks over every token of every page or tensor,
// with its own tables made from the events. Slow on purpose. Only for naive stepping (one step per on_steps).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/observe/ledger.h"

namespace kvplan::test {

class ByteWalker final : public core::Observer {
 public:
  /// `rows`: bytes of a token in each tensor of a request, in the order of their creation.
  ByteWalker(const core::Workload& workload, const core::MemoryLayout& layout, const core::KeepRule& keep,
             std::vector<std::int64_t> rows)
      : workload_(workload), layout_(layout), keep_(keep), rows_(std::move(rows)) {}

  void on_admit(const core::Admission& a) override {
    Sequence& s = running_[a.request];
    std::int64_t& tokens = tokens_of_[a.request];
    if (tokens == 0) tokens = workload_.input[index(a.request)];
    s.num_tokens = tokens;
  }
  void on_grant(const core::Grant& g) override {
    Sequence& s = running_.at(g.request);
    EXPECT_EQ(g.first_block, s.alloc_units);
    s.alloc_units += g.alloc_units;
    s.tensor_tokens = g.tensor_tokens;
    s.blocks.insert(s.blocks.end(), g.blocks.begin(), g.blocks.end());
  }
  void on_preempt(const core::Release& r) override { running_.erase(r.request); }
  void on_chunk(const core::Chunk& c) override { running_.at(c.request).chunk = c.tokens; }
  void on_pass_end(const core::Pass& pass) override {
    refused_ = pass.refused;
    free_alloc_units_ = pass.pool.free;
  }
  void on_step_end(SimTime /*time*/, std::span<const RequestId> /*finishing*/) override {
    for (auto& [r, s] : running_) {
      const std::int64_t tokens = s.whole ? 1 : s.chunk;
      s.chunk = 0;
      s.kept.insert(s.kept.end(), static_cast<std::size_t>(tokens), true);
      const auto written = static_cast<std::int64_t>(s.kept.size());
      if (tokens == 0 || written < s.num_tokens) continue;
      s.whole = true;
      tokens_of_[r] = ++s.num_tokens;
      if (written == workload_.final_tokens(r) || !keep_.evicts() || written <= keep_.sink + keep_.recent)
        continue;
      for (std::int64_t t = 0; t < written; ++t)
        s.kept[static_cast<std::size_t>(t)] = t < keep_.sink || t >= written - keep_.recent;
    }
  }
  void on_finish(SimTime /*time*/, const core::Release& r) override { running_.erase(r.request); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override { free_alloc_units_ = pool.free; }

  /// The states in bytes, without padding outside the allocation units.
  [[nodiscard]] observe::StateCounts count() const {
    observe::StateCounts counts{};
    for (const auto& [r, s] : running_) {
      if (layout_.form == core::TableForm::kPages) {
        count_pages(r, s, counts);
      } else {
        count_tensors(r, s, counts);
      }
    }
    using observe::State;
    for (const auto& [r, s] : running_) {
      const std::int64_t scales = std::count(s.kept.begin(), s.kept.end(), true) * layout_.metadata_bytes;
      counts[index(State::kMetadata)] += scales;
      counts[index(State::kLive)] -= scales;
    }
    counts[index(refused_ ? State::kStranded : State::kFree)] =
        free_alloc_units_ * layout_.alloc_unit_bytes();
    return counts;
  }

 private:
  struct Sequence {
    std::int64_t alloc_units{0};
    std::int64_t tensor_tokens{0};
    std::vector<BlockId> blocks;
    std::vector<bool> kept;  ///< by written position
    std::int64_t num_tokens{0};
    std::int64_t chunk{0};
    bool whole{false};
  };

  [[nodiscard]] observe::State state_of(RequestId r, const Sequence& s, std::int64_t token) const {
    using observe::State;
    if (token >= workload_.final_tokens(r)) return State::kInternal;
    if (token >= static_cast<std::int64_t>(s.kept.size())) return State::kReserved;
    return s.kept[static_cast<std::size_t>(token)] ? State::kLive : State::kHole;
  }

  /// The number of allocation units determines a request's pages: those that its tokens need first.
  void count_pages(RequestId r, const Sequence& s, observe::StateCounts& counts) const {
    using observe::State;
    const auto& [alloc_unit_bytes, page_bytes, rows] = layout_.tensors;
    std::vector<std::tuple<std::int64_t, std::size_t, std::int64_t>> pages;  // first token, row, page
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::int64_t page = 0; page < s.alloc_units; ++page)
        for (std::int64_t copy = 0; copy < rows[row].alloc_units; ++copy)
          pages.emplace_back(page * page_bytes / rows[row].bytes, row, page);
    std::sort(pages.begin(), pages.end());
    pages.resize(static_cast<std::size_t>(s.alloc_units));
    const std::int64_t tensors = alloc_unit_bytes / page_bytes;
    for (const auto& [first, row, page] : pages) {
      const std::int64_t bytes = rows[row].bytes;
      const std::int64_t begin = page * page_bytes;
      const std::int64_t end = begin + page_bytes;
      std::int64_t used = 0;
      for (std::int64_t token = first; token * bytes < end; ++token) {
        const State state = state_of(r, s, token);
        if (state == State::kInternal) break;
        const std::int64_t here = std::min(end, (token + 1) * bytes) - std::max(begin, token * bytes);
        counts[index(state)] += here * tensors;
        used += here;
      }
      counts[index(used > 0 ? State::kTail : State::kInternal)] += (end - begin - used) * tensors;
    }
  }

  void count_tensors(RequestId r, const Sequence& s, observe::StateCounts& counts) const {
    ASSERT_EQ(s.blocks.size(), 2 * rows_.size());
    std::int64_t alloc_units = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::int64_t length = core::amount_of_entry(s.blocks[2 * i + 1]);
      alloc_units += length;
      std::int64_t rest = length * layout_.alloc_unit_bytes();
      for (std::int64_t token = 0; token < s.tensor_tokens; ++token) {
        counts[index(state_of(r, s, token))] += rows_[i];
        rest -= rows_[i];
      }
      EXPECT_GE(rest, 0);
      counts[index(observe::State::kPadding)] += rest;
    }
    EXPECT_EQ(alloc_units, s.alloc_units);
  }

  const core::Workload& workload_;
  core::MemoryLayout layout_;
  core::KeepRule keep_;
  std::vector<std::int64_t> rows_;
  std::map<RequestId, Sequence> running_;
  std::map<RequestId, std::int64_t> tokens_of_;  ///< prompt and generated tokens, over preemptions
  std::int64_t free_alloc_units_{0};
  bool refused_{false};
};

}  // namespace kvplan::test
