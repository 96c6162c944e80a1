#include "simulator/io/event_log_header.h"

#include <vector>

namespace kvplan::io {

namespace log = event_log;

namespace {

log::RangePlacement placement_of(core::RangePlacement ranges) {
  switch (ranges) {
    case core::RangePlacement::kFirstFit:
      return log::RangePlacement::kFirstFit;
    case core::RangePlacement::kBestFit:
      return log::RangePlacement::kBestFit;
    case core::RangePlacement::kNextFit:
      return log::RangePlacement::kNextFit;
    case core::RangePlacement::kBuddy:
      break;
  }
  return log::RangePlacement::kBuddy;
}

log::TableForm form_of(core::TableForm form) {
  switch (form) {
    case core::TableForm::kBlocks:
    case core::TableForm::kRange:
      return log::TableForm::kTokens;
    case core::TableForm::kPages:
      return log::TableForm::kPages;
    case core::TableForm::kTensors:
      return log::TableForm::kTensors;
    case core::TableForm::kNothing:
      break;
  }
  return log::TableForm::kNothing;
}

}  // namespace

bool finds_in_tree(const EventLogOptions& options) {
  return options.layout.tree() && options.prefix_cache;
}

bool publishes(const EventLogOptions& options) {
  return options.prefix_cache && options.layout.returns_alloc_units() && !options.layout.tree();
}

bool has_block_ids(const core::MemoryLayout& layout) {
  return layout.tables == 1 && !layout.tree();
}

event_log::Header header_of(const EventLogOptions& options) {
  const core::MemoryLayout& layout = options.layout;
  const traces::PrefixHashes* const ids = options.workload->prefix;
  const bool tree = finds_in_tree(options);
  std::vector<log::TokenRow> rows;
  for (const core::TokenRow& row : layout.tensors.rows) rows.push_back({row.bytes, row.alloc_units});
  std::vector<log::LayerGroup> groups;
  for (const model::LayerGroup& group : layout.groups) groups.push_back({group.layers, group.window});
  return {.writer = options.writer,
          .alloc_unit_tokens = layout.alloc_unit_tokens,
          .token_bytes = layout.token_bytes,
          .capacity_bytes = layout.capacity_bytes,
          .alloc_units = layout.alloc_units,
          .null_block = options.null_block && layout.returns_alloc_units(),
          .returns_alloc_units = layout.returns_alloc_units(),
          .prefix_cache = publishes(options),
          .track_units = options.track_units,
          .metadata_bytes = layout.metadata_bytes,
          .reuse = options.reuse,
          .range_placement = placement_of(layout.ranges),
          .table_form = form_of(layout.form),
          .odd_alloc_unit_bytes = layout.of_tokens() ? 0 : layout.alloc_unit_bytes(),
          .page_bytes = layout.tensors.page_bytes,
          .rows = rows,
          .groups = groups,
          .state_blocks = layout.states.blocks,
          .state_layers = layout.states.layers,
          .state_slots = layout.states.slots,
          .compacts = options.compacts,
          .counted = options.counted,
          .tables = layout.tables,
          .entry_bytes = layout.entry_bytes,
          .unnumbered = !has_block_ids(layout),
          .rules = options.rules,
          .tree = tree,
          .id_tokens = tree && ids != nullptr && ids->present() ? ids->block_tokens : 0,
          .named_answers = tree && options.workload->names_answers(),
          .replicas = options.replicas,
          .prompt_rows = options.prompt_rows,
          .allocator = options.allocator,
          .scenario = options.scenario,
          .trace_digest = options.trace_digest};
}

}  // namespace kvplan::io
