// Room for the next token of the running requests, and which requests are retracted if there is too little
// (managers/schedule_batch.py, check_decode_mem, retract_decode, prepare_for_decode).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

/// Evicts if too little seems to be free; returns true if every running request can get a token.
bool make_decode_room(prefix::RadixPool& pool, std::span<Request* const> running);

/// Retracts requests until the others have room or one is left: those with the fewest generated tokens first, of
/// these the one with the longest prompt. Removes them from `running` and returns them, in the order of retraction;
/// they hold no memory any more. The remaining requests are in a new order: most generated tokens first.
std::vector<Request*> retract(prefix::RadixPool& pool, std::vector<Request*>& running,
                              std::int64_t retract_decode_steps);

/// Takes a slot for each running request. If a page has several tokens, makes room for one page per request first, even
/// for requests that need none. REQUIRES: there is enough memory.
void take_decode_slots(prefix::RadixPool& pool, std::span<Request* const> running);

}  // namespace kvplan::scheduling::sglang
