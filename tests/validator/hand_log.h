// An event log worked out by hand.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "simulator/io/log/events.h"
#include "tests/support/ids.h"

namespace kvplan::test {

inline event_log::Record with_totals(event_log::Fact fact, const event_log::Totals& totals,
                                     std::int64_t running = 0, std::int64_t waiting = 0) {
  return {std::move(fact),
          {.places = {}, .has_totals = true, .totals = totals, .running = running, .waiting = waiting}};
}

/// Two requests in a pool of four blocks of two tokens (and the null block). The second one hits the first block of
/// the first one while it is being filled, and ends with its step; the first one drops that block, which stays cached
/// until it is evicted. Totals: metadata, live, reserved, hole, tail, padding, internal, cached, stranded, free.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_log() {
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 2,
                                 .token_bytes = 1,
                                 .capacity_bytes = 10,
                                 .alloc_units = 4,
                                 .null_block = true,
                                 .prefix_cache = true,
                                 .allocator = "paged",
                                 .scenario = {},
                                 .trace_digest = {}};
  event_log::Claims kept;  // of request 0, at the end
  kept.has_kept = true;
  kept.kept_digest = event_log::kept_term(2, 0, 1) + event_log::kept_term(3, 0, 1);
  const std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 3, 2, true}, {}},
      {event_log::Arrival{0, 1_r, 3, 1, true}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Grant{0_r, 0, 2, {8}}, {.places = {1, 2}}},
      {event_log::Publish{0_r, 0, 8}, {}},
      {event_log::Chunk{0_r, 0, 3}, {}},
      {event_log::Admit{1_r, {0}, {8}}, {.places = {1}}},
      {event_log::Grant{1_r, 1, 1, {}}, {.places = {3}}},
      {event_log::Chunk{1_r, 2, 1}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 5, 0, 1, 2, 0, 0, 0, 2}, 2),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{10, {1_r}}, {0, 4, 1, 0, 1, 2, 0, 0, 0, 2}),
      {event_log::FirstToken{0_r}, {}},
      {event_log::Drop{0_r, 0, 2, 0, 1}, {}},
      {event_log::FirstToken{1_r}, {}},
      {event_log::Finish{1_r, 3}, {}},
      with_totals(event_log::Settled{10}, {0, 1, 1, 0, 0, 2, 0, 2, 0, 4}),
      {event_log::PassBegin{10}, {}},
      {event_log::Reclaim{0}, {}},
      with_totals(event_log::PassEnd{false}, {0, 1, 1, 0, 0, 2, 0, 0, 0, 6}, 1),
      {event_log::StepRun{10, 5, 0, 1}, {}},
      with_totals(event_log::StepEnd{15, {0_r}}, {0, 2, 0, 0, 0, 2, 0, 0, 0, 6}),
      {event_log::Finish{0_r, 4}, kept},
      with_totals(event_log::Settled{15}, {0, 0, 0, 0, 0, 2, 0, 0, 0, 8}),
      {event_log::End{15}, {}},
  };
  return {header, records};
}

/// Ranges that move, worked out by hand: a memory of 12 slots, first fit. Request 0 gets 2 slots for its prompt and
/// is copied to 4 slots after request 1 when it has one more token; request 1 is copied likewise; in that step both
/// ranges of both are held. When request 1 has ended, 4 slots are free on both sides of request 0, which slides down
/// so that request 2 gets its 6.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_move_log() {
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 1,
                                 .token_bytes = 1,
                                 .capacity_bytes = 12,
                                 .alloc_units = 12,
                                 .returns_alloc_units = false,
                                 .allocator = "growing",
                                 .scenario = {},
                                 .trace_digest = {}};
  const std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 2, 3, true}, {}},
      {event_log::Arrival{0, 1_r, 2, 2, true}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Grant{0_r, 0, 2, {}}, {.places = {0}}},
      {event_log::Chunk{0_r, 0, 2}, {}},
      {event_log::Admit{1_r, {}, {}}, {}},
      {event_log::Grant{1_r, 0, 2, {}}, {.places = {2}}},
      {event_log::Chunk{1_r, 0, 2}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 4, 0, 0, 0, 0, 0, 0, 8}, 2),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{10, {}}, {0, 4, 0, 0, 0, 0, 0, 0, 0, 8}),
      {event_log::FirstToken{0_r}, {}},
      {event_log::FirstToken{1_r}, {}},
      with_totals(event_log::Settled{10}, {0, 4, 0, 0, 0, 0, 0, 0, 0, 8}),
      {event_log::PassBegin{10}, {}},
      {event_log::Move{0_r, 2, 4, false}, {.places = {4}}},
      {event_log::Move{1_r, 2, 4, false}, {.places = {8}}},  // it needs one more
      with_totals(event_log::PassEnd{false}, {0, 4, 7, 0, 0, 0, 1, 0, 0, 0}, 2),
      {event_log::StepRun{10, 10, 0, 1}, {}},
      {event_log::Arrival{15, 2_r, 6, 1, true}, {}},
      with_totals(event_log::StepEnd{20, {1_r}}, {0, 6, 1, 0, 0, 0, 1, 0, 0, 4}),
      {event_log::Finish{1_r, 3}, {}},
      with_totals(event_log::Settled{20}, {0, 3, 1, 0, 0, 0, 0, 0, 0, 8}),
      {event_log::PassBegin{20}, {}},
      {event_log::Move{0_r, 3, 4, true}, {.places = {0}}},
      {event_log::Admit{2_r, {}, {}}, {}},
      {event_log::Grant{2_r, 0, 5, {}}, {.places = {4}}},
      {event_log::Grant{2_r, 5, 1, {}}, {.places = {4}}},  // in place
      {event_log::Chunk{2_r, 0, 6}, {}},
      with_totals(event_log::PassEnd{false}, {0, 3, 7, 0, 0, 0, 0, 0, 0, 2}, 2),
      {event_log::StepRun{20, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{30, {0_r, 2_r}}, {0, 10, 0, 0, 0, 0, 0, 0, 0, 2}),
      {event_log::Finish{0_r, 4}, {}},
      {event_log::FirstToken{2_r}, {}},
      {event_log::Finish{2_r, 6}, {}},
      with_totals(event_log::Settled{30}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 12}),
      {event_log::End{30}, {}},
  };
  return {header, records};
}

/// A radix tree with pages of two tokens in a memory of five, worked out by hand. The prompts of requests 0 and 1,
/// with 4 and 5 tokens, share an id of two tokens. Both are computed in one step, so each has its own page for it;
/// when they settle, the second one's is freed. While request 1 continues, request 2 hits its first page and needs
/// room for its other tokens: the page that request 0 left in the tree is evicted.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_tree_log() {
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 2,
                                 .token_bytes = 1,
                                 .capacity_bytes = 10,
                                 .alloc_units = 5,
                                 .unnumbered = true,
                                 .rules = {.prefills_apart = true},
                                 .tree = true,
                                 .id_tokens = 2,
                                 .allocator = "paged",
                                 .scenario = {},
                                 .trace_digest = {}};
  const std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 4, 1, true, 2}, {}},
      {event_log::PrefixIds{0_r, {7, 8}}, {}},
      {event_log::Arrival{0, 1_r, 5, 2, true, 1}, {}},
      {event_log::PrefixIds{1_r, {7}}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Grant{0_r, 0, 2, {}}, {}},
      {event_log::Chunk{0_r, 0, 4}, {}},
      {event_log::Admit{1_r, {}, {}}, {}},
      {event_log::Grant{1_r, 0, 3, {}}, {}},
      {event_log::Chunk{1_r, 0, 5}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 10, 0, 0, 0, 0, 0, 0, 0}, 2),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{10, {0_r}}, {0, 9, 1, 0, 0, 0, 0, 0, 0, 0}),
      {event_log::FirstToken{0_r}, {}},
      {event_log::Finish{0_r, 4}, {}},  // pages 0 (id 7) and 1 (id 8) of the tree
      {event_log::FirstToken{1_r}, {}},
      {event_log::Settle{1_r, 4}, {}},  // hits page 0; its second page is page 2
      with_totals(event_log::Settled{10}, {0, 5, 1, 0, 0, 0, 0, 2, 0, 2}),
      {event_log::Arrival{10, 2_r, 5, 1, true, 1}, {}},
      {event_log::PrefixIds{2_r, {7}}, {}},
      {event_log::PassBegin{10}, {}},
      {event_log::Reclaim{1, 1}, {}},
      {event_log::Admit{2_r, {}, {}, 1}, {}},
      {event_log::Grant{2_r, 1, 2, {}}, {}},
      {event_log::Chunk{2_r, 2, 3}, {}},
      with_totals(event_log::PassEnd{false}, {0, 5, 4, 0, 1, 0, 0, 0, 0, 0}, 2),
      {event_log::StepRun{10, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{20, {2_r}}, {0, 8, 1, 0, 1, 0, 0, 0, 0, 0}),  // request 1 has waited
      {event_log::FirstToken{2_r}, {}},
      {event_log::Finish{2_r, 5}, {}},
      with_totals(event_log::Settled{20}, {0, 5, 1, 0, 0, 0, 0, 2, 0, 2}),
      {event_log::PassBegin{20}, {}},
      with_totals(event_log::PassEnd{false}, {0, 5, 1, 0, 0, 0, 0, 2, 0, 2}, 1),
      {event_log::StepRun{20, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{30, {1_r}}, {0, 6, 0, 0, 0, 0, 0, 2, 0, 2}),
      {event_log::Finish{1_r, 6}, {}},
      with_totals(event_log::Settled{30}, {0, 0, 0, 0, 0, 0, 0, 8, 0, 2}),
      {event_log::PassBegin{30}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 0, 0, 0, 0, 0, 8, 0, 2}),
      {event_log::End{30}, {}},
  };
  return {header, records};
}

/// Priority scheduling, worked out by hand: three blocks of two tokens. Request 0 runs first and has the last
/// priority. When it needs its second block, request 1 has both others: request 0 is preempted by its own growth,
/// request 1, after it, is held back, so none computes, and another scheduler step at the same tick continues with
/// request 1 alone.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_priority_log() {
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 2,
                                 .token_bytes = 1,
                                 .capacity_bytes = 8,
                                 .alloc_units = 3,
                                 .null_block = true,
                                 .rules = {.by_priority = true},
                                 .allocator = "paged",
                                 .scenario = {},
                                 .trace_digest = {}};
  const auto waits = [](event_log::Record record) {
    record.claims.waiting = 1;
    return record;
  };
  const std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 1, 5, true, 0, 5}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Grant{0_r, 0, 1, {}}, {.places = {1}}},
      {event_log::Chunk{0_r, 0, 1}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 2, 0, 0, 2, 0, 0, 0, 4}, 1),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      {event_log::Arrival{5, 1_r, 3, 3, true, 0, 0}, {}},
      with_totals(event_log::StepEnd{10, {}}, {0, 1, 1, 0, 0, 2, 0, 0, 0, 4}),
      {event_log::FirstToken{0_r}, {}},
      with_totals(event_log::Settled{10}, {0, 1, 1, 0, 0, 2, 0, 0, 0, 4}),
      {event_log::PassBegin{10}, {}},
      {event_log::Admit{1_r, {}, {}}, {}},
      {event_log::Grant{1_r, 0, 2, {}}, {.places = {2, 3}}},
      {event_log::Chunk{1_r, 0, 3}, {}},
      with_totals(event_log::PassEnd{false}, {0, 1, 5, 0, 0, 2, 0, 0, 0, 0}, 2),
      {event_log::StepRun{10, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{20, {}}, {0, 5, 1, 0, 0, 2, 0, 0, 0, 0}),
      {event_log::FirstToken{1_r}, {}},
      with_totals(event_log::Settled{20}, {0, 5, 1, 0, 0, 2, 0, 0, 0, 0}),
      {event_log::PassBegin{20}, {}},
      {event_log::Preempt{0_r, 2}, {}},
      {event_log::HoldBack{1_r}, {}},
      waits(with_totals(event_log::PassEnd{true}, {0, 3, 1, 0, 0, 2, 0, 0, 2, 0}, 1)),
      {event_log::PassBegin{20}, {}},
      waits(with_totals(event_log::PassEnd{true}, {0, 3, 1, 0, 0, 2, 0, 0, 2, 0}, 1)),
      {event_log::StepRun{20, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{30, {}}, {0, 4, 0, 0, 0, 2, 0, 0, 2, 0}),
      with_totals(event_log::Settled{30}, {0, 4, 0, 0, 0, 2, 0, 0, 2, 0}),
      {event_log::PassBegin{30}, {}},
      {event_log::Grant{1_r, 2, 1, {}}, {.places = {1}}},
      waits(with_totals(event_log::PassEnd{true}, {0, 4, 1, 0, 1, 2, 0, 0, 0, 0}, 1)),
      {event_log::StepRun{30, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{40, {1_r}}, {0, 5, 0, 0, 1, 2, 0, 0, 0, 0}),
      {event_log::Finish{1_r, 5}, {}},
      with_totals(event_log::Settled{40}, {0, 0, 0, 0, 0, 2, 0, 0, 6, 0}),
      {event_log::PassBegin{40}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Grant{0_r, 0, 2, {}}, {.places = {1, 2}}},
      {event_log::Chunk{0_r, 0, 3}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 4, 0, 0, 2, 0, 0, 0, 2}, 1),
      {event_log::StepRun{40, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{50, {}}, {0, 3, 1, 0, 0, 2, 0, 0, 0, 2}),
      with_totals(event_log::Settled{50}, {0, 3, 1, 0, 0, 2, 0, 0, 0, 2}),
      {event_log::PassBegin{50}, {}},
      with_totals(event_log::PassEnd{false}, {0, 3, 1, 0, 0, 2, 0, 0, 0, 2}, 1),
      {event_log::StepRun{50, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{60, {}}, {0, 4, 0, 0, 0, 2, 0, 0, 0, 2}),
      with_totals(event_log::Settled{60}, {0, 4, 0, 0, 0, 2, 0, 0, 0, 2}),
      {event_log::PassBegin{60}, {}},
      {event_log::Grant{0_r, 2, 1, {}}, {.places = {3}}},
      with_totals(event_log::PassEnd{false}, {0, 4, 1, 0, 1, 2, 0, 0, 0, 0}, 1),
      {event_log::StepRun{60, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{70, {0_r}}, {0, 5, 0, 0, 1, 2, 0, 0, 0, 0}),
      {event_log::Finish{0_r, 5}, {}},
      with_totals(event_log::Settled{70}, {0, 0, 0, 0, 0, 2, 0, 0, 0, 6}),
      {event_log::End{70}, {}},
  };
  return {header, records};
}

/// Prefix hits in layer groups, worked out by hand: blocks of 2 tokens with room for 2 layers of 1 byte. Two layers
/// see everything, one has a window of 2 tokens. Request 1 hits both blocks of request 0's prompt while they are
/// being filled, but only the second in the window's group; so does request 2, much later, when no request holds them
/// any more. The window's first block is freed when request 0 has written 4 tokens.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_groups_log() {
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 2,
                                 .token_bytes = 2,
                                 .capacity_bytes = 36,
                                 .alloc_units = 8,
                                 .null_block = true,
                                 .prefix_cache = true,
                                 .groups = {{2, 0}, {1, 2}},
                                 .allocator = "grouped",
                                 .scenario = {},
                                 .trace_digest = {}};
  const std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 4, 2, true}, {}},
      {event_log::Arrival{0, 1_r, 5, 1, true}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Grant{0_r, 0, 4, {0, 2, 4, 6}}, {.places = {1, 2, 3, 4}}},
      {event_log::Publish{0_r, 0, 0}, {}},
      {event_log::Publish{0_r, 2, 4}, {}},
      {event_log::Publish{0_r, 1, 2}, {}},
      {event_log::Publish{0_r, 3, 6}, {}},
      {event_log::Chunk{0_r, 0, 4}, {}},
      {event_log::Admit{1_r, {0, 1, 3}, {0, 4, 6}, 0, 2}, {.places = {1, 3, 4}}},
      {event_log::Grant{1_r, 4, 2, {}}, {.places = {5, 6}}},
      {event_log::Chunk{1_r, 4, 1}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 15, 0, 3, 10, 0, 0, 0, 8}, 2),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      // In the window's second block request 0 sees the second token, request 1 nothing.
      with_totals(event_log::StepEnd{10, {1_r}}, {0, 12, 0, 3, 3, 10, 0, 0, 0, 8}),
      {event_log::FirstToken{0_r}, {}},
      {event_log::FirstToken{1_r}, {}},
      {event_log::Finish{1_r, 5}, {}},
      with_totals(event_log::Settled{10}, {0, 9, 0, 3, 0, 8, 0, 0, 0, 16}),
      {event_log::PassBegin{10}, {}},
      {event_log::LetGo{0_r, {1}}, {}},
      {event_log::Grant{0_r, 4, 2, {}}, {.places = {5, 6}}},
      with_totals(event_log::PassEnd{false}, {0, 9, 3, 1, 3, 8, 0, 4, 0, 8}, 1),
      {event_log::StepRun{10, 5, 0, 1}, {}},
      with_totals(event_log::StepEnd{15, {0_r}}, {0, 11, 0, 2, 3, 8, 0, 4, 0, 8}),
      {event_log::Finish{0_r, 5}, {}},
      with_totals(event_log::Settled{15}, {0, 0, 0, 0, 0, 4, 0, 16, 0, 16}),
      {event_log::Arrival{20, 2_r, 5, 1, true}, {}},
      {event_log::PassBegin{20}, {}},
      {event_log::Admit{2_r, {0, 1, 3}, {0, 4, 6}, 0, 2}, {.places = {1, 3, 4}}},
      {event_log::Grant{2_r, 4, 2, {}}, {.places = {5, 6}}},
      {event_log::Chunk{2_r, 4, 1}, {}},
      with_totals(event_log::PassEnd{false}, {0, 9, 3, 1, 3, 8, 0, 4, 0, 8}, 1),
      {event_log::StepRun{20, 5, 0, 1}, {}},
      with_totals(event_log::StepEnd{25, {2_r}}, {0, 11, 0, 2, 3, 8, 0, 4, 0, 8}),
      {event_log::FirstToken{2_r}, {}},
      {event_log::Finish{2_r, 5}, {}},
      with_totals(event_log::Settled{25}, {0, 0, 0, 0, 0, 4, 0, 16, 0, 16}),
      {event_log::End{25}, {}},
  };
  return {header, records};
}

/// Two replicas with a memory of two blocks of four tokens each, worked out by hand. While replica 0 computes one
/// answer in steps of 5 ticks, replica 1 serves three requests: the second at tick 17, between two step ends of the
/// other replica, in a step of no ticks; the third in a step that ends with the last of replica 0.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_fleet_log() {
  using Totals = event_log::Totals;
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 4,
                                 .token_bytes = 1,
                                 .capacity_bytes = 9,
                                 .alloc_units = 2,
                                 .replicas = 2,
                                 .allocator = "paged",
                                 .scenario = {},
                                 .trace_digest = {}};
  std::vector<event_log::Record> records;
  const auto tell = [&](std::int32_t replica, event_log::Record record) {
    record.replica = replica;
    records.push_back(std::move(record));
  };
  const Totals idle{0, 0, 0, 0, 0, 1, 0, 0, 0, 8};
  const auto pass = [&](std::int32_t replica, std::int64_t tick, RequestId request, std::int64_t tokens,
                        std::int32_t block, const Totals& totals) {
    tell(replica, {event_log::PassBegin{tick}, {}});
    tell(replica, {event_log::Admit{request, {}, {}}, {}});
    tell(replica, {event_log::Grant{request, 0, 1, {}}, {.places = {block}}});
    tell(replica, {event_log::Chunk{request, 0, tokens}, {}});
    tell(replica, with_totals(event_log::PassEnd{false}, totals, 1));
  };
  const auto last_step = [&](std::int64_t tick, RequestId request, std::int64_t written,
                             const Totals& totals) {
    tell(1, with_totals(event_log::StepEnd{tick, {request}}, totals));
    tell(1, {event_log::FirstToken{request}, {}});
    tell(1, {event_log::Finish{request, written}, {}});
    tell(1, with_totals(event_log::Settled{tick}, idle));
  };
  tell(0, {event_log::Arrival{0, 0_r, 1, 4, true}, {}});
  tell(1, {event_log::Arrival{0, 1_r, 3, 1, true}, {}});
  pass(0, 0, 0_r, 1, 0, {0, 0, 4, 0, 0, 1, 0, 0, 0, 4});
  tell(0, {event_log::StepRun{0, 10, 0, 1}, {}});
  pass(1, 0, 1_r, 3, 0, {0, 0, 3, 0, 1, 1, 0, 0, 0, 4});
  tell(1, {event_log::StepRun{0, 4, 0, 1}, {}});
  tell(0, with_totals(event_log::TickEnd{0}, {0, 0, 7, 0, 1, 2, 0, 0, 0, 8}, 2));
  last_step(4, 1_r, 3, {0, 3, 0, 0, 1, 1, 0, 0, 0, 4});
  tell(0, with_totals(event_log::TickEnd{4}, {0, 0, 4, 0, 0, 2, 0, 0, 0, 12}, 1));
  const Totals one_written{0, 1, 3, 0, 0, 1, 0, 0, 0, 4};
  tell(0, with_totals(event_log::StepEnd{10, {}}, one_written));
  tell(0, {event_log::FirstToken{0_r}, {}});
  tell(0, with_totals(event_log::Settled{10}, one_written));
  tell(0, {event_log::PassBegin{10}, {}});
  tell(0, with_totals(event_log::PassEnd{false}, one_written, 1));
  tell(0, {event_log::StepRun{10, 5, 0, 3}, {}});
  tell(0, with_totals(event_log::TickEnd{10}, {0, 1, 3, 0, 0, 2, 0, 0, 0, 12}, 1));
  tell(1, {event_log::Arrival{17, 2_r, 1, 1, true}, {}});
  pass(1, 17, 2_r, 1, 1, {0, 0, 1, 0, 3, 1, 0, 0, 0, 4});
  tell(1, {event_log::StepRun{17, 0, 0, 1}, {}});
  last_step(17, 2_r, 1, {0, 1, 0, 0, 3, 1, 0, 0, 0, 4});
  tell(0, with_totals(event_log::TickEnd{17}, {0, 2, 2, 0, 0, 2, 0, 0, 0, 12}, 1));  // a step ended at 15
  tell(1, {event_log::Arrival{20, 3_r, 1, 1, true}, {}});
  pass(1, 20, 3_r, 1, 0, {0, 0, 1, 0, 3, 1, 0, 0, 0, 4});
  tell(1, {event_log::StepRun{20, 5, 0, 1}, {}});
  tell(0, with_totals(event_log::TickEnd{20}, {0, 3, 2, 0, 3, 2, 0, 0, 0, 8}, 2));
  tell(0, with_totals(event_log::StepEnd{25, {0_r}}, {0, 4, 0, 0, 0, 1, 0, 0, 0, 4}));
  tell(0, {event_log::Finish{0_r, 4}, {}});
  tell(0, with_totals(event_log::Settled{25}, idle));
  last_step(25, 3_r, 1, {0, 1, 0, 0, 3, 1, 0, 0, 0, 4});
  tell(0, with_totals(event_log::TickEnd{25}, {0, 0, 0, 0, 0, 2, 0, 0, 0, 16}));
  tell(0, {event_log::End{25}, {}});
  tell(1, {event_log::End{25}, {}});
  event_log::Claims peak;
  peak.has_joint_peak = true;
  peak.joint_peak = {0, {0, 0, 7, 0, 1, 2, 0, 0, 0, 8}, 2, 0};
  tell(0, {event_log::FleetEnd{25}, peak});
  return {header, records};
}

}  // namespace kvplan::test
