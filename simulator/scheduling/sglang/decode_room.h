// Room for the next token of those who run, and who gives way if there is none (managers/schedule_batch.py,
// check_decode_mem, retract_decode, prepare_for_decode).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

/// Evicts if there seems to be too little; true if there is enough for a token of each.
bool make_decode_room(prefix::RadixPool& pool, std::span<Request* const> running);

/// Takes out of `running` whoever has generated least, of these the one with the longest prompt, until there is enough
/// for the others or one is left. Those who stay are in a new order: who has generated most first. Returns the others,
/// who hold nothing any more, as they were taken out.
std::vector<Request*> retract(prefix::RadixPool& pool, std::vector<Request*>& running,
                              std::int64_t retract_decode_steps);

/// A slot for each. Where a page has several tokens, room is made for a page of each, also of those that need none.
/// REQUIRES: there is enough.
void take_decode_slots(prefix::RadixPool& pool, std::span<Request* const> running);

}  // namespace kvplan::scheduling::sglang
