// Event logs of requests that follow courses, worked out by hand.
#pragma once

#include <utility>
#include <vector>

#include "tests/validator/hand_log.h"

namespace kvplan::test {

/// A request that follows a course, worked out by hand: two tracks, cells of 2 bytes of which 1 is metadata, blocks
/// of 2 tokens, slots are reused. After its prompt of 3 tokens track 0 drops token 0 and track 1 token 1; after 4
/// they drop the other one. So token 3 goes to slots 0 and 1, token 4 to slots 1 and 0, and slot 3 is never written.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_course_log() {
  event_log::Header header{.writer = "fuzz",
                           .alloc_unit_tokens = 2,
                           .token_bytes = 4,
                           .capacity_bytes = 40,
                           .alloc_units = 4,
                           .null_block = true,
                           .track_units = {1, 1},
                           .metadata_bytes = 1,
                           .reuse = true,
                           .allocator = "paged",
                           .scenario = {},
                           .trace_digest = {}};
  event_log::Claims kept;
  kept.has_kept = true;
  for (std::int64_t token = 2; token < 5; ++token)
    for (std::int64_t track = 0; track < 2; ++track)
      kept.kept_digest += event_log::kept_term(token, track, 2);
  std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 3, 3, true}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Course{0_r, {1, 0, 1, 1, 1}}, {}},
      {event_log::Course{0_r, {1, 1, 0}}, {}},
      {event_log::Grant{0_r, 0, 2, {}}, {.places = {1, 2}}},
      {event_log::Chunk{0_r, 0, 3}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 12, 0, 4, 8, 0, 0, 0, 16}, 1),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{10, {}}, {4, 4, 4, 0, 4, 8, 0, 0, 0, 16}),
      {event_log::FirstToken{0_r}, {}},
      with_totals(event_log::Settled{10}, {4, 4, 4, 0, 4, 8, 0, 0, 0, 16}),
      {event_log::PassBegin{10}, {}},
      with_totals(event_log::PassEnd{false}, {4, 4, 4, 0, 4, 8, 0, 0, 0, 16}, 1),
      {event_log::StepRun{10, 10, 0, 2}, {}},
      with_totals(event_log::StepEnd{30, {0_r}}, {6, 6, 0, 0, 4, 8, 0, 0, 0, 16}),
      {event_log::Finish{0_r, 5}, kept},
      with_totals(event_log::Settled{30}, {0, 0, 0, 0, 0, 8, 0, 0, 0, 32}),
      {event_log::End{30}, {}},
  };
  return {std::move(header), std::move(records)};
}

/// Two requests that follow courses and share a block, worked out by hand: two tracks of 1 byte, blocks of 2 tokens,
/// four of them and the null block. Request 1 hits the first block while request 0 fills it. Each drops tokens of it
/// for itself: after 3 tokens both drop token 0 in track 0, and request 1 token 1 in track 1; after 4 tokens request
/// 0 drops all the rest, so that its block is freed, and request 1 token 0 in track 1. Then request 1 is preempted,
/// returns with its 5 tokens as its prompt, and hits the whole block again.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_shared_course_log() {
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 2,
                                 .token_bytes = 2,
                                 .capacity_bytes = 20,
                                 .alloc_units = 4,
                                 .null_block = true,
                                 .prefix_cache = true,
                                 .track_units = {1, 1},
                                 .prompt_rows = 1,
                                 .allocator = "paged",
                                 .scenario = {},
                                 .trace_digest = {}};
  const auto keeps = [](std::initializer_list<std::int64_t> first,
                        std::initializer_list<std::int64_t> second) {
    event_log::Claims kept;
    kept.has_kept = true;
    for (const std::int64_t token : first) kept.kept_digest += event_log::kept_term(token, 0, 2);
    for (const std::int64_t token : second) kept.kept_digest += event_log::kept_term(token, 1, 2);
    return kept;
  };
  const std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 3, 3, true}, {}},
      {event_log::Arrival{0, 1_r, 3, 3, true}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Course{0_r, {1, 0, 0, 1, 1, 2, 0, 1}}, {}},
      {event_log::Grant{0_r, 0, 2, {8}}, {.places = {1, 2}}},
      {event_log::Publish{0_r, 0, 8}, {}},
      {event_log::Chunk{0_r, 0, 3}, {}},
      {event_log::Admit{1_r, {0}, {8}}, {.places = {1}}},
      {event_log::Course{1_r, {1, 0, 1, 1, 0, 1, 0}}, {}},
      {event_log::Grant{1_r, 1, 1, {}}, {.places = {3}}},
      {event_log::Chunk{1_r, 2, 1}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 12, 0, 0, 4, 0, 0, 0, 4}, 2),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{10, {}}, {0, 7, 4, 1, 0, 4, 0, 0, 0, 4}),
      {event_log::FirstToken{0_r}, {}},
      {event_log::FirstToken{1_r}, {}},
      with_totals(event_log::Settled{10}, {0, 7, 4, 1, 0, 4, 0, 0, 0, 4}),
      {event_log::PassBegin{10}, {}},
      with_totals(event_log::PassEnd{false}, {0, 7, 4, 1, 0, 4, 0, 0, 0, 4}, 2),
      {event_log::StepRun{10, 5, 0, 1}, {}},
      with_totals(event_log::StepEnd{15, {}}, {0, 9, 0, 3, 0, 4, 0, 0, 0, 4}),
      {event_log::LetGo{0_r, {0}}, {}},
      with_totals(event_log::Settled{15}, {0, 9, 0, 3, 0, 4, 0, 0, 0, 4}),
      {event_log::PassBegin{15}, {}},
      {event_log::Grant{0_r, 2, 1, {}}, {.places = {4}}},
      {event_log::Preempt{1_r, 4}, keeps({1, 2, 3}, {2, 3})},
      with_totals(event_log::PassEnd{true}, {0, 4, 2, 0, 2, 4, 0, 4, 4, 0}, 1, 1),
      {event_log::StepRun{15, 5, 0, 1}, {}},
      with_totals(event_log::StepEnd{20, {0_r}}, {0, 6, 0, 0, 2, 4, 0, 4, 4, 0}),
      {event_log::Finish{0_r, 5}, keeps({2, 3, 4}, {2, 3, 4})},
      with_totals(event_log::Settled{20}, {0, 0, 0, 0, 0, 4, 0, 4, 12, 0}),
      {event_log::PassBegin{20}, {}},
      {event_log::Admit{1_r, {0}, {8}}, {.places = {1}}},
      {event_log::Grant{1_r, 1, 2, {}}, {.places = {3, 2}}},
      {event_log::Publish{1_r, 1, event_log::own_key(1_r, 1)}, {}},
      {event_log::Chunk{1_r, 2, 3}, {}},
      with_totals(event_log::PassEnd{false}, {0, 4, 6, 0, 2, 4, 0, 0, 0, 4}, 1),
      {event_log::StepRun{20, 8, 0, 1}, {}},
      with_totals(event_log::StepEnd{28, {1_r}}, {0, 10, 0, 0, 2, 4, 0, 0, 0, 4}),
      {event_log::Finish{1_r, 5}, keeps({0, 1, 2, 3, 4}, {0, 1, 2, 3, 4})},
      with_totals(event_log::Settled{28}, {0, 0, 0, 0, 0, 4, 0, 8, 0, 8}),
      {event_log::End{28}, {}},
  };
  return {header, records};
}

/// Compaction, worked out by hand: blocks of 4 tokens, cells of 2 bytes of which 1 is metadata, 5 tokens are kept, it
/// is not known which. The prompt of 10 has 3 blocks, of which 2 are left; 4 tokens later the third one, which was
/// granted again, is freed again.
inline std::pair<event_log::Header, std::vector<event_log::Record>> hand_made_compact_log() {
  const event_log::Header header{.writer = "fuzz",
                                 .alloc_unit_tokens = 4,
                                 .token_bytes = 2,
                                 .capacity_bytes = 40,
                                 .alloc_units = 4,
                                 .null_block = true,
                                 .track_units = {1},
                                 .metadata_bytes = 1,
                                 .compacts = true,
                                 .counted = true,
                                 .allocator = "paged",
                                 .scenario = {},
                                 .trace_digest = {}};
  event_log::Claims kept;
  kept.has_kept_cells = true;
  kept.kept_cells = 6;  // nothing is dropped with the last token
  const std::vector<event_log::Record> records{
      {event_log::Arrival{0, 0_r, 10, 6, true}, {}},
      {event_log::PassBegin{0}, {}},
      {event_log::Admit{0_r, {}, {}}, {}},
      {event_log::Counts{0_r, {{1, {5, 1, 1, 4}}}}, {}},
      {event_log::Grant{0_r, 0, 3, {}}, {.places = {1, 2, 3}}},
      {event_log::Chunk{0_r, 0, 10}, {}},
      with_totals(event_log::PassEnd{false}, {0, 0, 24, 0, 0, 8, 0, 0, 0, 8}, 1),
      {event_log::StepRun{0, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{10, {}}, {5, 5, 4, 10, 0, 8, 0, 0, 0, 8}),
      {event_log::FirstToken{0_r}, {}},
      {event_log::Compact{0_r, 5, 5, 1}, {}},
      with_totals(event_log::Settled{10}, {5, 5, 6, 0, 0, 8, 0, 0, 0, 16}),
      {event_log::PassBegin{10}, {}},
      with_totals(event_log::PassEnd{false}, {5, 5, 6, 0, 0, 8, 0, 0, 0, 16}, 1),
      {event_log::StepRun{10, 10, 0, 3}, {}},
      with_totals(event_log::StepEnd{40, {}}, {5, 5, 0, 6, 0, 8, 0, 0, 0, 16}),
      with_totals(event_log::Settled{40}, {5, 5, 0, 6, 0, 8, 0, 0, 0, 16}),
      {event_log::PassBegin{40}, {}},
      {event_log::Grant{0_r, 2, 1, {}}, {.places = {3}}},
      with_totals(event_log::PassEnd{false}, {5, 5, 4, 6, 4, 8, 0, 0, 0, 8}, 1),
      {event_log::StepRun{40, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{50, {}}, {5, 5, 2, 8, 4, 8, 0, 0, 0, 8}),
      {event_log::Compact{0_r, 5, 5, 1}, {}},
      with_totals(event_log::Settled{50}, {5, 5, 2, 0, 4, 8, 0, 0, 0, 16}),
      {event_log::PassBegin{50}, {}},
      with_totals(event_log::PassEnd{false}, {5, 5, 2, 0, 4, 8, 0, 0, 0, 16}, 1),
      {event_log::StepRun{50, 10, 0, 1}, {}},
      with_totals(event_log::StepEnd{60, {0_r}}, {6, 6, 0, 0, 4, 8, 0, 0, 0, 16}),
      {event_log::Finish{0_r, 15}, kept},
      with_totals(event_log::Settled{60}, {0, 0, 0, 0, 0, 8, 0, 0, 0, 32}),
      {event_log::End{60}, {}},
  };
  return {header, records};
}

}  // namespace kvplan::test
