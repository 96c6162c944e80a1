// Properties of an event log that follow from its options, for its header and its recorder.
#pragma once

#include "simulator/io/event_recorder.h"

namespace kvplan::io {

/// True: prompts find their prefixes in a radix tree.
bool finds_in_tree(const EventLogOptions& options);
/// True: full blocks are inserted into the cache.
bool publishes(const EventLogOptions& options);
/// True: the log numbers blocks. Requests with several tables, and pages of a radix tree, have no block ids in a log.
bool has_block_ids(const core::MemoryLayout& layout);

}  // namespace kvplan::io
