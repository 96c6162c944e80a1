// The blocks of a pool at one moment, and the history of one of them, for the view of blocks.
#pragma once

#include <memory>
#include <vector>

#include "gui/views/table_model.h"
#include "gui/worker/simulation_worker.h"
#include "simulator/observe/block_history.h"

namespace kvplan::gui {

/// The block histories of a run.
struct BlockInspection {
  std::vector<std::unique_ptr<const observe::BlockHistory>> by_replica;
  std::int64_t block_bytes{0};
  std::int64_t first_block{0};  ///< 1 with vLLM's null block, which no request holds
  std::int64_t end{0};          ///< of the run, in ticks
  bool has_ids{true};           ///< false: this memory does not say which block a request holds
};
using BlockInspectionPtr = std::shared_ptr<const BlockInspection>;

/// Errors: those of runs::run_scenario.
Result<BlockInspectionPtr> inspect_blocks(const runs::Scenario& scenario, const traces::Trace& trace,
                                          const runs::Openers& openers, core::RunControl& control);

enum class BlockColours : std::uint8_t { kState, kRequest, kAge, kSharing };

/// Held, cached and free blocks.
struct BlockCounts {
  std::int64_t held{0}, shared{0}, cached{0}, free{0};
};
BlockCounts count_blocks(const observe::BlockMoment& moment, std::int64_t first_block);

/// One row for each block of the moment that is not free.
TableContent blocks_table(const observe::BlockMoment& moment, std::int64_t tick, std::int64_t first_block);
/// What happened to a block, oldest first.
TableContent history_table(std::vector<observe::BlockHistory::Dated> history);
QString change_text(observe::BlockChange::Kind kind);

}  // namespace kvplan::gui
