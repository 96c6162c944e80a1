#include "tests/engine/naive_sglang.h"

#include <cmath>
#include <cstdio>
#include <list>
#include <numeric>
#include <set>
#include <sstream>

#include "tests/unit/prefix/naive_tree.h"

namespace kvplan::test {
namespace {

using Int = std::int64_t;
using Tokens = NaiveTree::Tokens;

struct Req {
  Int id, L, O, max_new, arrival;
  bool rejected;
  Tokens tokens;
  Int out{0}, P{0}, F{0};
  NaiveTree::Node* node{nullptr};
  // Columns.
  Int first_sched{-1}, first_token{-1}, finish{-1}, first_hit{0}, all_hit{0}, admissions{0}, retractions{0};
  Int batches{0}, prefilled{0}, decodes{0};

  [[nodiscard]] Int N() const { return L + out; }
  [[nodiscard]] Int T() const { return L + std::max<Int>(out - 1, 0); }
  [[nodiscard]] bool done() const { return out >= 1 && (out >= O || out >= max_new); }
};

Tokens first(const Tokens& tokens, Int count) {
  return {tokens.begin(), tokens.begin() + count};
}

std::string python_repr(double value) {
  for (int digits = 1;; ++digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) != value) continue;
    const std::string out = text;
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
  }
}

/// Bit by bit.
std::uint32_t crc_of(const std::vector<Int>& ids) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const Int id : ids)
    for (int bit = 0; bit < 32; ++bit) {
      const std::uint32_t next = (static_cast<std::uint32_t>(id) >> bit) & 1U;
      crc = (crc >> 1) ^ (((crc ^ next) & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  return ~crc;
}

class Simulation {
 public:
  Simulation(const traces::Trace& trace, const drivers::CacheOptions& options)
      : page(options.block_tokens),
        pool(options.pool_tokens / page * page),
        maxrun(options.scheduler.max_seqs),
        chunk(options.chunk.value_or(0)),
        lpm(options.sglang.order == scheduling::sglang::QueueOrder::kLongestPrefix && options.prefix_cache),
        cache(options.prefix_cache),
        set(options.sglang),
        tree(static_cast<std::size_t>(page)),
        available(pool) {
    init_ratio = std::min(0.7 * set.conservativeness, 1.0);
    min_ratio = std::min(init_ratio * 0.14, 1.0);
    decay = (init_ratio - min_ratio) / static_cast<double>(set.decay_steps);
    ratio = init_ratio;
    for (Int i = 0; i < trace.size(); ++i) add_request(trace, options, static_cast<std::size_t>(i));
  }

  NaiveSglangTables run() {
    NaiveSglangTables tables;
    steps << "step,kind,batch_reqs,batch_tokens,hit_tokens,chunked_req,running,waiting,retracted,evicted_"
             "tokens,"
             "evicted_nodes,available,evictable,protected,batch_is_full,new_token_ratio,batch_crc32,waiting_"
             "crc32,"
             "finished,available_end,evictable_end\n";
    std::vector<Req*> coming;
    for (Req& r : reqs)
      if (!r.rejected) coming.push_back(&r);
    std::stable_sort(coming.begin(), coming.end(), [](Req* a, Req* b) { return a->arrival < b->arrival; });
    std::size_t next = 0;
    Int t = coming.empty() ? 0 : coming[0]->arrival, idle_in_a_row = 0;
    while (true) {
      while (next < coming.size() && coming[next]->arrival <= t) waiting.push_back(coming[next++]);
      const bool idle = step(t);
      idle_in_a_row = idle && !waiting.empty() ? idle_in_a_row + 1 : 0;
      if (never_goes_on || idle_in_a_row > 100) {
        tables.stuck = true;
        break;
      }
      if (idle && waiting.empty()) {
        if (next == coming.size()) break;
        t = std::max(t + 1, coming[next]->arrival);
      } else {
        ++t;
      }
    }
    tables.steps = steps.str();
    tables.requests = request_table();
    return tables;
  }

 private:
  enum Answer { CONTINUE, NO_TOKEN, OTHER };

  void add_request(const traces::Trace& trace, const drivers::CacheOptions& options, std::size_t i) {
    const Int most = std::min<Int>(262143, pool - 1);
    Req r{};
    r.id = static_cast<Int>(i);
    r.L = trace.input_tokens[i];
    r.O = trace.output_tokens[i];
    r.arrival = trace.arrival_ns[i] / 1'000'000 / options.quantum_ms.value_or(50);
    r.rejected = r.L == 0 || r.O == 0 || r.L >= most - 5;
    r.node = tree.root();
    if (!r.rejected) {
      const bool stated = !trace.max_tokens.empty() && trace.max_tokens[i] >= 0;
      r.max_new = std::min<Int>(stated ? trace.max_tokens[i] : r.O, most - r.L - 1);
      const auto b = static_cast<std::uint64_t>(trace.prefix.block_tokens);
      for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(r.L + r.O); ++p) {
        const bool named = b > 0 && p < static_cast<std::uint64_t>(r.L) &&
                           trace.prefix.offsets[i] + p / b < trace.prefix.offsets[i + 1];
        r.tokens.push_back(named ? trace.prefix.ids[trace.prefix.offsets[i] + p / b] * b + p % b
                                 : 1'000'000'000 + i * 1'000'000 + p);
      }
    }
    reqs.push_back(r);
  }

  // Memory.

  Int evictable() { return cache ? tree.tokens(false) : 0; }
  Int guarded() {
    if (cache) return tree.tokens(true);
    Int sum = 0;
    for (const Req& r : reqs) sum += r.P;
    return sum;
  }
  void make_room(Int x) {
    if (!cache || available >= x) return;
    const auto gone = tree.evict(x);
    available += gone.tokens;
    evicted_tokens += gone.tokens;
    evicted_nodes += gone.nodes;
  }
  /// Of the pages that positions [a, b) touch.
  void give_back(Int a, Int b) {
    std::set<Int> pages;
    for (Int p = a; p < b; ++p) pages.insert(p / page);
    available += static_cast<Int>(pages.size()) * page;
  }
  [[nodiscard]] Int up(Int tokens) const {
    while (tokens % page != 0) ++tokens;
    return tokens;
  }
  [[nodiscard]] Int down(Int tokens) const {
    while (tokens % page != 0) --tokens;
    return tokens;
  }
  void unfinished(Req& r) {
    if (cache) {
      const Int A = down(r.F);
      const Int m = tree.insert(first(r.tokens, A));
      give_back(r.P, m);
      NaiveTree::Node* const node = tree.match(first(r.tokens, A)).node;
      tree.unlock(r.node);
      tree.lock(node);
      r.node = node;
    }
    r.P = r.F;
  }
  void leave(Req& r) {
    tree.unlock(r.node);
    r.node = tree.root();
    r.P = 0;
  }
  void finished(Req& r) {
    if (cache) {
      const Int A = down(r.T());
      const Int m = tree.insert(first(r.tokens, A));
      give_back(r.P, m);
      give_back(A, r.T());
    } else {
      give_back(0, r.T());
    }
    leave(r);
  }
  void release(Req& r) {
    if (cache) {
      give_back(r.P, down(r.T()));
      give_back(down(r.T()), r.T());
    } else {
      give_back(0, r.T());
    }
    leave(r);
  }

  // A prefill batch.

  double rem_total() { return static_cast<double>(available + evictable()) - off_total; }
  Int rem_cur() { return available + evictable() - off_cur; }
  void charge(Int e, Int n) {
    e = up(e);
    off_total += static_cast<double>(e + n);
    off_cur += e;
    rem_input -= e;
    rem_chunk -= e;
  }
  Answer result() {
    if (rem_total() <= 0 || rem_cur() <= 0) return NO_TOKEN;
    if (rem_input <= 0 || (chunk > 0 && rem_chunk <= 0)) return OTHER;
    return CONTINUE;
  }
  Answer add(Req& r) {
    const auto found = cache ? tree.match(first(r.tokens, r.N() - 1)) : NaiveTree::Match{tree.root(), 0};
    const Int ext = r.N() - found.tokens, in = up(ext);
    const auto total =
        static_cast<double>(ext + std::min(std::max<Int>(r.max_new - r.out, 0), set.clip_tokens));
    if (total >= rem_total()) return NO_TOKEN;
    if (in >= rem_input && !batch.empty()) return OTHER;
    tree.lock(found.node);
    Int fill = r.N();
    if (total >= rem_total()) {
      tree.unlock(found.node);
      return NO_TOKEN;
    }
    if (chunk > 0 && in > rem_chunk) {
      const Int cut = rem_chunk <= 0 ? 0 : down(rem_chunk);
      if (cut <= 0) {
        tree.unlock(found.node);
        return OTHER;
      }
      fill = found.tokens + cut;
      cut_now = &r;
    }
    r.P = found.tokens;
    r.F = fill;
    r.node = found.node;
    batch.push_back(&r);
    if (fill == r.N()) {
      charge(in, std::min(r.max_new, set.clip_tokens));
    } else {
      charge(fill - r.P, 0);
    }
    return result();
  }
  Answer add_ignoring_eos(Req& r) {
    const Int e = up(r.N());
    if (static_cast<double>(e) > std::min(static_cast<double>(rem_cur()), rem_total())) return NO_TOKEN;
    const auto put = [&](const Req& other) {
      if (other.max_new - other.out > 0) states.emplace_back(other.max_new - other.out, other.L + other.out);
    };
    if (!states_made) {
      states_made = true;
      put(r);
      for (const Req* other : running) put(*other);
      for (const Req* other : batch) put(*other);
      std::stable_sort(states.begin(), states.end(), [](auto& a, auto& b) { return a.first < b.first; });
    } else if (const Int left = r.max_new - r.out; left > 0) {
      std::size_t i = 0;
      while (i < states.size() && left > states[i].first) ++i;
      if (i == states.size() && i > 0) i = states.size() - 1;
      states.insert(states.begin() + static_cast<std::ptrdiff_t>(i), {left, r.L + r.out});
    }
    Int freed = 0;
    const auto n = static_cast<Int>(states.size());
    for (Int k = 0; k < n; ++k) {
      const auto [left, occupied] = states[static_cast<std::size_t>(k)];
      if (rem_cur() - e + freed - left * (n - k) <= n - k) return NO_TOKEN;
      freed += occupied;
    }
    if (chunk == 0 || r.N() <= rem_chunk) {
      r.F = r.N();
      batch.push_back(&r);
      charge(r.N(), std::min(r.max_new, set.clip_tokens));
    } else {
      if (rem_chunk <= 0) return OTHER;
      r.F = rem_chunk;
      batch.push_back(&r);
      cut_now = &r;
      charge(r.F, 0);
    }
    return result();
  }

  void order_queue() {
    if (waiting.size() > 128) return;
    std::vector<std::pair<double, Req*>> keyed;
    std::vector<Tokens> noted;
    for (Req* r : waiting) {
      const Int h = tree.match(first(r->tokens, r->N())).tokens;
      bool behind = false;
      if (h <= 32) {
        for (const Tokens& other : noted) {
          Int common = 0;
          while (common < static_cast<Int>(other.size()) && common < r->N() &&
                 other[static_cast<std::size_t>(common)] == r->tokens[static_cast<std::size_t>(common)])
            ++common;
          behind = behind || common >= 32;
        }
        if (!behind) noted.push_back(first(r->tokens, r->N()));
      }
      keyed.emplace_back(behind ? INFINITY : -static_cast<double>(h), r);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](auto& a, auto& b) { return a.first < b.first; });
    waiting.clear();
    for (auto& [key, r] : keyed) waiting.push_back(r);
  }

  /// Section B: true if there is a batch.
  bool form() {
    batch.clear();
    new_hits = 0;
    if ((full || waiting.empty()) && chunked == nullptr) return false;
    const Int places = maxrun - static_cast<Int>(running.size());
    if (places <= 0 && chunked == nullptr) {
      full = true;
      return false;
    }
    if (lpm) order_queue();
    rem_input = set.max_prefill_tokens;
    rem_chunk = chunk;
    off_total = 0;
    off_cur = 0;
    states.clear();
    states_made = false;
    cut_now = nullptr;
    for (const Req* r : running)
      off_total += static_cast<double>(std::min(r->max_new - r->out, set.clip_tokens)) * ratio;
    if (chunked != nullptr) {
      Req& r = *chunked;
      const Int whole = r.N() - r.P;
      const Int ext = std::min(whole, std::min(rem_chunk, static_cast<Int>(rem_total())));
      if (ext <= 0) never_goes_on = true;
      r.F = r.P + ext;
      batch.push_back(&r);
      charge(ext, ext < whole ? 0 : std::min(r.max_new, set.clip_tokens));
      if (ext == whole) chunked = nullptr;
    }
    std::vector<Req*> taken;
    for (Req* r : waiting) {
      if (static_cast<Int>(batch.size()) >= places) full = true;
      if (full) break;
      const auto before = batch.size();
      const Answer answer = !cache && set.ignore_eos ? add_ignoring_eos(*r) : add(*r);
      if (batch.size() > before) taken.push_back(r);
      if (answer == NO_TOKEN) full = true;
      if (answer != CONTINUE) break;
    }
    if (batch.empty()) return false;
    for (Req* r : taken) {
      waiting.remove(r);
      new_hits += r->P;
      r->all_hit += r->P;
      if (++r->admissions == 1) r->first_hit = r->P;
    }
    if (cut_now != nullptr) chunked = cut_now;
    Int E = 0;
    for (const Req* r : batch) E += r->F - r->P;
    make_room(page == 1 ? E : E + static_cast<Int>(batch.size()) * page);
    for (const Req* r : batch) available -= up(r->F) - up(r->P);
    return true;
  }

  // Decoding.

  Int beginning(const std::vector<Req*>& of) {
    Int count = 0;
    for (const Req* r : of) count += (r->L + r->out - 1) % page == 0 ? 1 : 0;
    return count;
  }
  bool check(const std::vector<Req*>& of) {
    const Int x = page == 1 ? static_cast<Int>(of.size()) : page * beginning(of);
    make_room(x);
    return available >= x;
  }
  void retract() {
    std::vector<Req*> order = running;
    std::stable_sort(order.begin(), order.end(), [](const Req* a, const Req* b) {
      return std::pair(a->out, -a->L) > std::pair(b->out, -b->L);
    });
    do {
      if (order.size() == 1) break;
      Req* const r = order.back();
      order.pop_back();
      release(*r);
      make_room(set.retract_decode_steps * static_cast<Int>(order.size()));
      waiting.push_back(r);
      ++r->retractions;
      ++retracted;
    } while (!check(order));
    running = order;
    Int outs = 0, news = 0;
    for (const Req* r : running) {
      outs += r->out;
      news += r->max_new;
    }
    const Int left = set.retract_decode_steps * static_cast<Int>(running.size());
    ratio = std::min(1.0, static_cast<double>(outs + left) / static_cast<double>(news + 1));
  }
  /// Section D: false if nothing runs.
  bool decode() {
    const std::size_t n0 = running.size();
    if (n0 > 0) {
      std::erase_if(running, [](const Req* r) { return r->done(); });
      if (running.empty()) full = false;
    }
    if (running.empty()) {
      ratio = init_ratio;
      return false;
    }
    if (check(running)) {
      ratio = std::max(ratio - decay, min_ratio);
    } else {
      retract();
    }
    if (running.size() < n0) full = false;
    make_room(static_cast<Int>(running.size()) * page);
    available -= beginning(running) * page;
    return true;
  }

  // A step.

  void take_over() {
    if (chunked != nullptr) unfinished(*chunked);
    if (!last_was_prefill) return;
    std::vector<Req*> left;
    for (Req* r : batch)
      if (!r->done() && r != chunked) left.push_back(r);
    if (left.size() < batch.size()) full = false;
    if (left.empty()) return;
    if (running.empty()) {
      running = left;
      full = false;
    } else {
      running.insert(running.end(), left.begin(), left.end());
    }
  }

  bool step(Int t) {
    evicted_tokens = evicted_nodes = retracted = 0;
    take_over();
    const bool prefill = form();
    const bool decodes = !prefill && decode();
    const std::vector<Req*> now = prefill ? batch : decodes ? running : std::vector<Req*>{};
    Int tokens = 0, ended = 0;
    std::vector<Int> ids, queue;
    for (Req* r : now) {
      ids.push_back(r->id);
      tokens += prefill ? r->F - r->P : 1;
      if (prefill) {
        ++r->batches;
        r->prefilled += r->F - r->P;
        if (r->first_sched < 0) r->first_sched = t;
      } else {
        ++r->decodes;
      }
    }
    for (const Req* r : waiting) queue.push_back(r->id);
    steps << t << ','
          << (prefill   ? 'P'
              : decodes ? 'D'
                        : 'I')
          << ',' << now.size() << ',' << tokens << ',' << new_hits << ','
          << (chunked == nullptr ? -1 : chunked->id) << ',' << running.size() << ',' << waiting.size() << ','
          << retracted << ',' << evicted_tokens << ',' << evicted_nodes << ',' << available << ','
          << evictable() << ',' << guarded() << ',' << full << ',' << python_repr(ratio) << ',' << crc_of(ids)
          << ',' << crc_of(queue) << ',';
    for (Req* r : now) {
      if (r == chunked) continue;
      ++r->out;
      if (r->out == 1) r->first_token = t;
      if (r->done()) {
        finished(*r);
        r->finish = t;
        ++ended;
      } else if (prefill) {
        unfinished(*r);
      }
    }
    steps << ended << ',' << available << ',' << evictable() << '\n';
    last_was_prefill = prefill;
    return now.empty();
  }

  std::string request_table() {
    std::ostringstream out;
    out << "req,input_length,output_length,max_new_tokens,arrival_step,first_sched_step,first_token_step,"
           "finish_step,"
           "first_hit_tokens,all_hit_tokens,admissions,retractions,prefill_batches,prefill_tokens,decode_"
           "steps,"
           "cached_tokens\n";
    const auto step_text = [](Int t) { return t < 0 ? std::string() : std::to_string(t); };
    for (const Req& r : reqs)
      out << r.id << ',' << r.L << ',' << r.O << ',' << r.max_new << ',' << r.arrival << ','
          << step_text(r.first_sched) << ',' << step_text(r.first_token) << ',' << step_text(r.finish) << ','
          << r.first_hit << ',' << r.all_hit << ',' << r.admissions << ',' << r.retractions << ','
          << r.batches << ',' << r.prefilled << ',' << r.decodes << ',' << r.all_hit << '\n';
    return out.str();
  }

  Int page, pool, maxrun, chunk;  // chunk: 0 is off
  bool lpm, cache;
  scheduling::sglang::Params set;
  NaiveTree tree;
  Int available;
  double init_ratio{0}, min_ratio{0}, decay{0}, ratio{0};
  std::list<Req> reqs;
  std::list<Req*> waiting;
  std::vector<Req*> running, batch;
  bool full{false}, last_was_prefill{false};
  Req* chunked{nullptr};
  Req* cut_now{nullptr};
  Int rem_input{0}, rem_chunk{0}, off_cur{0};
  double off_total{0};
  std::vector<std::pair<Int, Int>> states;
  bool states_made{false}, never_goes_on{false};
  Int new_hits{0}, evicted_tokens{0}, evicted_nodes{0}, retracted{0};
  std::ostringstream steps;
};

}  // namespace

NaiveSglangTables naive_sglang(const traces::Trace& trace, const drivers::CacheOptions& options) {
  return Simulation(trace, options).run();
}

}  // namespace kvplan::test
