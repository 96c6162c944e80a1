#include "tests/engine/naive_sglang.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>

#include "simulator/scheduling/sglang/naive_scheduler.h"
#include "simulator/workload/workload_builder.h"
#include "tests/support/sglang_twin.h"

namespace kvplan::test {
namespace {

using scheduling::sglang::NaiveMemory;
using scheduling::sglang::NaiveRequest;
using scheduling::sglang::NaiveScheduler;
using scheduling::sglang::NaiveStep;
using Kind = NaiveStep::Kind;

std::string python_repr(double value) {
  for (int digits = 1;; ++digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) != value) continue;
    const std::string out = text;
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
  }
}

/// CRC-32, computed bit by bit.
std::uint32_t crc_of(const std::vector<RequestId>& ids) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const RequestId id : ids)
    for (int bit = 0; bit < 32; ++bit) {
      const std::uint32_t next = (static_cast<std::uint32_t>(id) >> bit) & 1U;
      crc = (crc >> 1) ^ (((crc ^ next) & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  return ~crc;
}

/// The row of one request in the request table.
struct Row {
  std::int64_t max_new{0}, first_sched{-1}, first_token{-1}, finish{-1}, first_hit{0}, all_hit{0};
  std::int64_t admissions{0}, retractions{0}, batches{0}, prefilled{0}, decodes{0};
};

scheduling::sglang::Params params_of(const replays::CacheOptions& options) {
  scheduling::sglang::Params params = options.sglang;
  params.max_running = options.scheduler.max_seqs;
  params.chunk_tokens = options.chunk;
  return params;
}

class Driver {
 public:
  Driver(const traces::Trace& trace, const replays::CacheOptions& options)
      : trace_(trace),
        workload_(workload::build_step_workload(trace, options.quantum_ms.value_or(50))),
        cache_(options.prefix_cache),
        page_(options.block_tokens),
        memory_(workload_, sglang_layout(page_, options.pool_tokens), 262144, cache_),
        scheduler_(params_of(options), memory_),
        rows_(trace.input_tokens.size()) {}

  NaiveSglangTables run() {
    NaiveSglangTables tables;
    steps_ << "step,kind,batch_reqs,batch_tokens,hit_tokens,chunked_req,running,waiting,retracted,evicted_"
              "tokens,evicted_nodes,available,evictable,protected,batch_is_full,new_token_ratio,batch_crc32,"
              "waiting_crc32,finished,available_end,evictable_end\n";
    std::vector<RequestId> coming;
    for (const RequestId r : workload_.order)
      if (trace_.input_tokens[at(r)] > 0 && trace_.output_tokens[at(r)] > 0 &&
          trace_.input_tokens[at(r)] < memory_.most_tokens() - 5)
        coming.push_back(r);
    std::size_t next = 0;
    std::int64_t idle_in_a_row = 0;
    for (std::int64_t t = coming.empty() ? 0 : arrival(coming[0]);;) {
      while (next < coming.size() && arrival(coming[next]) <= t) join(coming[next++]);
      const bool idle = step(t);
      const bool none_waits = scheduler_.waiting().empty();
      idle_in_a_row = idle && !none_waits ? idle_in_a_row + 1 : 0;
      if (never_goes_on_ || idle_in_a_row > 100) {
        tables.stuck = true;
        break;
      }
      if (idle && none_waits && next == coming.size()) break;
      t = idle && none_waits ? std::max(t + 1, arrival(coming[next])) : t + 1;
    }
    tables.steps = steps_.str();
    tables.requests = request_table();
    return tables;
  }

 private:
  static std::size_t at(RequestId r) { return index(r); }
  Row& row(const NaiveRequest* request) { return rows_[at(request->id)]; }
  [[nodiscard]] std::int64_t arrival(RequestId r) const { return workload_.arrival[at(r)].since_start.count; }

  void join(RequestId r) {
    NaiveRequest request;
    request.id = r;
    request.prompt = trace_.input_tokens[at(r)];
    request.output = trace_.output_tokens[at(r)];
    const bool stated = !trace_.max_tokens.empty() && trace_.max_tokens[at(r)] >= 0;
    request.max_new = std::min<std::int64_t>(stated ? trace_.max_tokens[at(r)] : request.output,
                                             memory_.most_tokens() - request.prompt - 1);
    rows_[at(r)].max_new = request.max_new;
    scheduler_.join(request);
  }

  /// Every page is free, in the tree, or a request's own.
  void count_pages() const {
    const core::PoolCounts counts = memory_.counts();
    std::int64_t own = 0;
    for (const NaiveRequest* request : scheduler_.served())
      own += std::ssize(request->held.table) - memory_.tree_tokens(request->held) / page_;
    ASSERT_EQ(counts.free + counts.cached + counts.shared + own, memory_.layout().alloc_units);
    for (const NaiveRequest* request : scheduler_.waiting()) ASSERT_TRUE(request->held.table.empty());
  }

  /// Tokens locked in the tree; without a tree, those that are settled.
  [[nodiscard]] std::int64_t guarded() const {
    if (cache_) return memory_.counts().shared * page_;
    std::int64_t settled = 0;
    for (const NaiveRequest* request : scheduler_.served()) settled += request->held.settled;
    return settled;
  }

  /// Returns true if nothing ran.
  bool step(std::int64_t t) {
    const NaiveStep& step = scheduler_.begin_step();
    std::int64_t tokens = 0, hits = 0, evicted = 0, ended = 0;
    std::vector<RequestId> ids, queue;
    for (const NaiveStep::Piece& piece : step.batch) {
      Row& r = row(piece.request);
      ids.push_back(piece.request->id);
      tokens += piece.tokens;
      if (step.kind == Kind::kDecode) {
        ++r.decodes;
        continue;
      }
      ++r.batches;
      r.prefilled += piece.tokens;
      if (r.first_sched < 0) r.first_sched = t;
      if (!piece.admitted) continue;
      hits += piece.from;
      r.all_hit += piece.from;
      if (++r.admissions == 1) r.first_hit = piece.from;
    }
    never_goes_on_ = step.kind == Kind::kPrefill && tokens == 0;
    for (const NaiveStep::Retracted& gone : step.retracted) ++row(gone.request).retractions;
    for (const NaiveRequest* request : scheduler_.waiting()) queue.push_back(request->id);
    const auto leaves = memory_.take_evicted();
    for (const auto& leaf : leaves) evicted += std::ssize(leaf) * page_;
    const NaiveRequest* const chunked = scheduler_.chunked();
    steps_ << t << ','
           << (step.kind == Kind::kPrefill  ? 'P'
               : step.kind == Kind::kDecode ? 'D'
                                            : 'I')
           << ',' << ids.size() << ',' << tokens << ',' << hits << ','
           << number(chunked == nullptr ? kNoRequest : chunked->id) << ',' << scheduler_.running().size()
           << ',' << queue.size() << ',' << step.retracted.size() << ',' << evicted << ',' << leaves.size()
           << ',' << memory_.available() << ',' << memory_.evictable() << ',' << guarded() << ','
           << scheduler_.full() << ',' << python_repr(scheduler_.ratio()) << ',' << crc_of(ids) << ','
           << crc_of(queue) << ',';
    count_pages();
    for (NaiveRequest* const request : scheduler_.due()) {
      Row& r = row(request);
      scheduler_.give_token(*request);
      if (request->generated == 1) r.first_token = t;
      if (!request->ended()) continue;
      r.finish = t;
      ++ended;
    }
    count_pages();
    steps_ << ended << ',' << memory_.available() << ',' << memory_.evictable() << '\n';
    return step.kind == Kind::kIdle;
  }

  [[nodiscard]] std::string request_table() const {
    std::ostringstream out;
    out << "req,input_length,output_length,max_new_tokens,arrival_step,first_sched_step,first_token_step,"
           "finish_step,first_hit_tokens,all_hit_tokens,admissions,retractions,prefill_batches,prefill_"
           "tokens,"
           "decode_steps,cached_tokens\n";
    const auto step_text = [](std::int64_t t) { return t < 0 ? std::string() : std::to_string(t); };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      out << i << ',' << trace_.input_tokens[i] << ',' << trace_.output_tokens[i] << ',' << r.max_new << ','
          << arrival(id_at<RequestId>(i)) << ',' << step_text(r.first_sched) << ','
          << step_text(r.first_token) << ',' << step_text(r.finish) << ',' << r.first_hit << ',' << r.all_hit
          << ',' << r.admissions << ',' << r.retractions << ',' << r.batches << ',' << r.prefilled << ','
          << r.decodes << ',' << r.all_hit << '\n';
    }
    return out.str();
  }

  const traces::Trace& trace_;
  core::Workload workload_;
  bool cache_;
  std::int64_t page_;
  NaiveMemory memory_;
  NaiveScheduler scheduler_;
  std::vector<Row> rows_;
  bool never_goes_on_{false};
  std::ostringstream steps_;
};

}  // namespace

NaiveSglangTables naive_sglang(const traces::Trace& trace, const replays::CacheOptions& options) {
  return Driver(trace, options).run();
}

}  // namespace kvplan::test
