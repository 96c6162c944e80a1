#include "traces/record/digest.h"

#include "simulator/base/check.h"

namespace kvplan::traces {
namespace {

std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
  state = (state ^ value) * 0x9E3779B97F4A7C15ULL;
  return state ^ (state >> 32);
}

}  // namespace

std::uint64_t mix_lanes(std::uint64_t state, std::span<const std::uint64_t> lanes) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (i >= kFirstLanes) {
      if (lanes[i] == 0) continue;
      state = mix(state, i + 1);
    }
    state = mix(state, lanes[i]);
  }
  return state;
}

template <class T>
void TraceDigest::stated(Lane lane, const std::vector<T>& column) {
  std::uint64_t state = state_[lane];
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (column[i] == -1) continue;
    state = mix(state, requests_ + i);
    state = mix(state, static_cast<std::uint64_t>(static_cast<std::int64_t>(column[i])));
  }
  state_[lane] = state;
}

void TraceDigest::names(Lane lane, const std::vector<std::string>& values) {
  std::uint64_t state = state_[lane];
  for (const std::string& name : values) {
    state = mix(state, name.size());
    for (const char c : name) state = mix(state, static_cast<unsigned char>(c));
  }
  state_[lane] = state;
}

void TraceDigest::waits(const Waits& waits) {
  std::uint64_t state = state_[kWaits];
  for (std::size_t k = 0; k < waits.size(); ++k) {
    state = mix(state, static_cast<std::uint64_t>(waits.request[k]));
    state = mix(state, static_cast<std::uint64_t>(waits.before[k]));
  }
  state_[kWaits] = state;
}

void TraceDigest::ids(const std::vector<std::uint32_t>& column) {
  static_assert(kIdLanes == 4);
  std::size_t i = 0;
  const auto one = [&] {
    std::uint64_t& state = state_[kId0 + (references_ + i) % kIdLanes];
    state = mix(state, column[i]);
  };
  for (; i < column.size() && (references_ + i) % kIdLanes != 0; ++i) one();
  // The values are in registers, side by side, so that the chains of products do not wait for each other.
  std::uint64_t a = state_[kId0], b = state_[kId1], c = state_[kId2], d = state_[kId3];
  for (; i + kIdLanes <= column.size(); i += kIdLanes) {
    a = mix(a, column[i]);
    b = mix(b, column[i + 1]);
    c = mix(c, column[i + 2]);
    d = mix(d, column[i + 3]);
  }
  state_[kId0] = a, state_[kId1] = b, state_[kId2] = c, state_[kId3] = d;
  for (; i < column.size(); ++i) one();
  references_ += column.size();
}

void TraceDigest::add(const Trace& piece) {
  // The values are in registers, side by side, so that the chains of products do not wait for each other.
  std::uint64_t arrival = state_[kArrival];
  std::uint64_t input = state_[kInput];
  std::uint64_t output = state_[kOutput];
  std::uint64_t count = state_[kCount];
  const std::uint64_t* const offsets = piece.prefix.present() ? piece.prefix.offsets.data() : nullptr;
  KVPLAN_CHECK(offsets == nullptr || piece.arrival_ns.empty() ||
               piece.prefix.offsets.size() == piece.arrival_ns.size() + 1);
  for (std::size_t i = 0; i < piece.arrival_ns.size(); ++i) {
    arrival = mix(arrival, static_cast<std::uint64_t>(piece.arrival_ns[i]));
    input = mix(input, static_cast<std::uint64_t>(piece.input_tokens[i]));
    output = mix(output, static_cast<std::uint64_t>(piece.output_tokens[i]));
    if (offsets != nullptr) count = mix(count, offsets[i + 1] - offsets[i]);
  }
  state_[kArrival] = arrival;
  state_[kInput] = input;
  state_[kOutput] = output;
  state_[kCount] = count;
  if (offsets != nullptr) ids(piece.prefix.ids);
  stated(kSession, piece.session);
  stated(kTenant, piece.tenant);
  stated(kMaxTokens, piece.max_tokens);
  stated(kTtft, piece.ttft_ns);
  stated(kE2e, piece.e2e_ns);
  stated(kThink, piece.think_ns);
  stated(kPriority, piece.priority);
  waits(piece.waits);
  requests_ += static_cast<std::uint64_t>(piece.size());
  names(kSessionName, piece.session_names);
  names(kTenantName, piece.tenant_names);
}

std::string TraceDigest::finish(const StreamSummary& summary) const {
  std::uint64_t state = mix(0, requests_);
  state = mix(state, static_cast<std::uint64_t>(summary.block_tokens));
  state = mix(state, summary.block_tokens > 0 && summary.last_may_be_partial ? 1 : 0);
  state = mix(state, summary.shares_clock ? 1 : 0);
  state = mix_lanes(state, state_);
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[(state >> (60 - 4 * i)) & 15];
  return text;
}

}  // namespace kvplan::traces
