#include "traces/record/oddities.h"

namespace kvplan::traces {

std::string count_of(std::int64_t part, std::int64_t all) {
  return std::to_string(part) + " of " + std::to_string(all);
}

std::array<std::string, 6> Oddities::sentences() const {
  const auto of_rows = [this](std::int64_t count, const std::string& what) {
    return count == 0 ? std::string() : count_of(count, rows) + what;
  };
  return {of_rows(out_of_order,
                  " arrivals are earlier than the arrival before them; runs sort them, and keep the file's "
                  "order for equal times."),
          of_rows(zero_input, " requests have no input tokens; runs reject them."),
          of_rows(zero_output, " requests have no output tokens; runs reject them."),
          shrinking == 0
              ? std::string()
              : std::to_string(shrinking) +
                    " turns have a shorter prompt than the previous turn of their session. If the file has "
                    "only the new tokens of each turn, the lengths are not those of whole prompts.",
          of_rows(without_hashes, " requests have no prefix ids; their prompts share nothing with others."),
          of_rows(covered_less, " requests have fewer prefix ids than full blocks of " +
                                    std::to_string(block_tokens) +
                                    " tokens; the rest of these prompts shares nothing with others.")};
}

Oddities oddities_of(const Trace& trace) {
  Oddities out;
  out.rows = trace.size();
  out.block_tokens = trace.prefix.block_tokens;
  std::vector<std::int32_t> last_input(trace.session_names.size(), 0);
  for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i) {
    const std::int32_t session = trace.session.empty() ? -1 : trace.session[i];
    const bool comparable =
        i > 0 && (trace.shares_clock || (trace.session.empty() ? -1 : trace.session[i - 1]) == session);
    if (comparable && trace.arrival_ns[i] < trace.arrival_ns[i - 1]) ++out.out_of_order;
    const std::int32_t input = trace.input_tokens[i];
    if (input == 0) ++out.zero_input;
    if (trace.output_tokens[i] == 0) ++out.zero_output;
    if (session >= 0) {
      std::int32_t& last = last_input[static_cast<std::size_t>(session)];
      if (input < last) ++out.shrinking;
      last = input;
    }
    if (!trace.prefix.present()) continue;
    const auto ids = static_cast<std::int64_t>(trace.prefix.offsets[i + 1] - trace.prefix.offsets[i]);
    if (ids < input / trace.prefix.block_tokens) ++(ids == 0 ? out.without_hashes : out.covered_less);
  }
  return out;
}

}  // namespace kvplan::traces
