// A synthetic chat service: the bundled sample, and a quick workload if no recording is available.
//
// There are three applications, each with a system prompt with which all its conversations begin. Conversations start
// at a low rate and, in bursts, at several times that rate. In a conversation every turn sends the whole history again:
// the system prompt, all earlier questions and answers, and the new question. So prompts share beginnings within an
// application and within a conversation, and memory runs short in a burst.
//
// All arithmetic is on integers and one seeded stream: the same options give the same trace on every machine.
#pragma once

#include <cstdint>

#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

struct ChatOptions {
  std::int64_t requests{1500};  ///< 1 to 1,000,000
  std::uint64_t seed{1};
  std::int64_t rate_mhz{5000};    ///< requests per 1000 s once conversations are under way; 1 to 10^9
  std::int64_t burst_factor{6};   ///< conversations start this many times as fast in bursts; 1 to 1000
  std::int64_t block_tokens{16};  ///< tokens of one prefix id; 1 to 4096
};

/// The trace, sorted by arrival, with its digest; tenants are the applications, sessions the conversations.
/// An option out of range is an error that names it.
Result<Trace> make_chat(const ChatOptions& options);

}  // namespace kvplan::traces
