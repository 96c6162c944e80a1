#include "gui/views/blocks/blocks_data.h"

#include <QCoreApplication>
#include <map>

#include "gui/viewmodel/formatting.h"

namespace kvplan::gui {
namespace {

using observe::BlockChange;
using observe::BlockHistory;
using observe::BlockState;

/// The context of these texts for translators.
struct Blocks {
  Q_DECLARE_TR_FUNCTIONS(Blocks)
};

}  // namespace

Result<BlockInspectionPtr> inspect_blocks(const runs::Scenario& scenario, const traces::Trace& trace,
                                          const runs::Openers& openers, core::RunControl& control) {
  auto inspection = std::make_shared<BlockInspection>();
  std::map<std::int64_t, std::unique_ptr<BlockHistory>> by_replica;
  core::Observer nothing;  // of memory without block ids
  runs::RunOptions options{openers};
  options.control = &control;
  options.extra_observers.emplace_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
    const core::MemoryLayout& layout = watched.memory.layout();
    inspection->block_bytes = layout.alloc_unit_bytes();
    inspection->first_block = layout.null_block ? 1 : 0;
    inspection->has_ids = layout.form == core::TableForm::kBlocks && layout.block_ids();
    auto& history = by_replica[watched.replica];
    history = std::make_unique<BlockHistory>(layout.alloc_units + inspection->first_block);
    return inspection->has_ids ? history.get() : &nothing;
  });
  KVPLAN_TRY(const runs::RunResult run, runs::run_scenario(scenario, trace, options));
  inspection->end = run.makespan.count;
  for (auto& [replica, history] : by_replica) inspection->by_replica.push_back(std::move(history));
  return BlockInspectionPtr(std::move(inspection));
}

BlockCounts count_blocks(const observe::BlockMoment& moment, std::int64_t first_block) {
  BlockCounts counts;
  for (std::size_t block = static_cast<std::size_t>(first_block); block < moment.blocks().size(); ++block) {
    const BlockState& state = moment.blocks()[block];
    if (state.holders > 1) ++counts.shared;
    ++(state.holders > 0 ? counts.held : state.findable ? counts.cached : counts.free);
  }
  return counts;
}

QString change_text(BlockChange::Kind kind) {
  switch (kind) {
    case BlockChange::Kind::kGrant:
      return Blocks::tr("granted to");
    case BlockChange::Kind::kHit:
      return Blocks::tr("prefix hit of");
    case BlockChange::Kind::kFree:
      return Blocks::tr("emptied and freed by");
    case BlockChange::Kind::kPreempt:
      return Blocks::tr("freed by the preemption of");
    case BlockChange::Kind::kFinish:
      return Blocks::tr("freed by the end of");
    case BlockChange::Kind::kInsert:
      return Blocks::tr("enters the prefix cache, filled by");
    case BlockChange::Kind::kEvict:
      break;
  }
  return Blocks::tr("evicted from the prefix cache");
}

TableContent blocks_table(const observe::BlockMoment& moment, std::int64_t tick, std::int64_t first_block) {
  struct Row {
    std::int64_t block;
    BlockState state;
    QString holders;
  };
  auto rows = std::make_shared<std::vector<Row>>();
  for (std::size_t block = static_cast<std::size_t>(first_block); block < moment.blocks().size(); ++block) {
    const BlockState& state = moment.blocks()[block];
    if (state.holders == 0 && !state.findable) continue;
    QStringList holders;
    for (const std::int32_t request : moment.holders(static_cast<std::int32_t>(block)))
      holders << QString::number(request);
    rows->push_back({static_cast<std::int64_t>(block), state, holders.join(QLatin1Char(' '))});
  }
  TableContent content;
  content.columns = {
      {Blocks::tr("Block"), QStringLiteral("block"), CellKind::kCount, {}},
      {Blocks::tr("State"), QStringLiteral("state"), CellKind::kText, {}},
      {Blocks::tr("Held by requests"), QStringLiteral("holders"), CellKind::kText, {}},
      {Blocks::tr("Holders"), QStringLiteral("holder_count"), CellKind::kCount, {}},
      {Blocks::tr("For"), QStringLiteral("age_s"), CellKind::kSeconds,
       Blocks::tr("Time since it was last allocated or freed")},
      {Blocks::tr("In the prefix cache"), QStringLiteral("findable"), CellKind::kText, {}},
  };
  content.rows = static_cast<int>(rows->size());
  content.value = [rows, tick](int row, int column) -> TableValue {
    const Row& of = (*rows)[static_cast<std::size_t>(row)];
    switch (column) {
      case 0:
        return of.block;
      case 1:
        return of.state.holders > 0 ? Blocks::tr("held") : Blocks::tr("cached");
      case 2:
        return of.holders;
      case 3:
        return std::int64_t{of.state.holders};
      case 4:
        return seconds(Ticks{tick - of.state.since});
      default:
        return of.state.findable ? Blocks::tr("yes") : Blocks::tr("no");
    }
  };
  return content;
}

TableContent history_table(std::vector<BlockHistory::Dated> history) {
  auto rows = std::make_shared<std::vector<BlockHistory::Dated>>(std::move(history));
  TableContent content;
  content.columns = {{Blocks::tr("Time"), QStringLiteral("time_s"), CellKind::kSeconds, {}},
                     {Blocks::tr("What happened"), QStringLiteral("change"), CellKind::kText, {}},
                     {Blocks::tr("Request"), QStringLiteral("request"), CellKind::kCount, {}}};
  content.rows = static_cast<int>(rows->size());
  content.value = [rows](int row, int column) -> TableValue {
    const BlockHistory::Dated& dated = (*rows)[static_cast<std::size_t>(row)];
    if (column == 0) return seconds(Ticks{dated.tick});
    if (column == 1) return change_text(dated.change.kind);
    return dated.change.request < 0 ? TableValue() : TableValue(std::int64_t{dated.change.request});
  };
  return content;
}

}  // namespace kvplan::gui
