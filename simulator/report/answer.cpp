#include "simulator/report/answer.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/answer_gpus.h"
#include "simulator/report/answer_view.h"
#include "simulator/report/content.h"
#include "simulator/report/number_text.h"
#include "simulator/report/target_words.h"
#include "simulator/study/shortage.h"

namespace kvplan::report {
namespace {

using observe::State;
using runs::Comparison;
using runs::RunSummary;
using runs::Shortage;

/// At most this many variants get a sentence each; if there are more, only those that the comparison names get one.
constexpr std::size_t kMostSentences = 12;
/// A loss below this share is not named.
constexpr double kWorthWords = 0.01;

std::string share_text(double share) {
  return share >= 0.01 ? fixed(share * 100, 1) + " %" : percent(share);
}

double share_of(const RunSummary& r, State state) {
  return r.memory->mean_fraction[index(state)];
}

/// What happened to a share of the memory, after "57.3 % of the memory"; the term is the PagedAttention paper's if it
/// has one.
std::string loss_words(State state, bool term) {
  const auto with = [&](const char* words, const char* name) {
    return term ? std::string(words) + " (" + name + ")" : std::string(words);
  };
  switch (state) {
    case State::kInternal:
      return with("was reserved for tokens that never came", "internal fragmentation");
    case State::kReserved:
      return with("was held for tokens still to come", "reservation");
    case State::kStranded:
      return with("was idle while a request was refused memory", "external fragmentation");
    case State::kTail:
      return with("was unused in last blocks", "internal fragmentation");
    case State::kHole:
      return with("held evicted tokens", "holes in blocks that are still held");
    default:
      return with("was lost to block sizes", "padding");
  }
}

std::string limit_words(const RunSummary& r) {
  std::string out;
  switch (runs::shortage_of(r)) {
    case Shortage::kNoTime:
      return {};
    case Shortage::kNever:
      out = "memory was never short";
      break;
    case Shortage::kUnknown:
      out = "it does not show whether a request waited for memory";
      break;
    case Shortage::kHappens:
      out = r.preemptions > 0 ? "memory ran out: " + count_words(r.preemptions, "preemption", "preemptions")
                              : "requests waited for memory";
      break;
  }
  if (runs::running_slots_ran_out(r)) {
    const scheduling::EngineLimit running = r.scenario.engine_traits().running;
    out += "; a batch reached " + limit_text(running.param, running.value);
  }
  return out;
}

/// The best with those that tie with it: "paged (and 2 others within half a percent)".
std::string best_words(const View& view, const Pair& pair) {
  if (pair.alike == 0) return view.name(pair.best);
  return view.name(pair.best) + " (and " + count_words(pair.alike, "other", "others") +
         " within half a percent)";
}

/// "2.9 times as many"; `more` through `less`, both above 0.
std::string times_words(double more, double less) {
  return rounded(more / less) + " times";
}

/// Variants that differ from the first one with a KV cache only in their use of the same memory; that one comes
/// first. Without a KV cache many run at once because all are slow.
std::vector<std::size_t> users_of_one_memory(const View& view) {
  std::vector<std::size_t> out;
  for (const std::size_t v : view.same)
    if (!view.result(v).scenario.keeps_nothing() &&
        (out.empty() || runs::same_memory(view.result(v), view.result(out.front()))))
      out.push_back(v);
  return out;
}

/// The variant with the largest batch, and the one that it is compared with, if memory alone explains the difference: a
/// variant that is slower because of its larger batch does not count, and a first variant that was never short of
/// memory is compared only with variants that were.
std::optional<Pair> larger_batch(const View& view) {
  const runs::Metric& batch = runs::answer_metric("mean_running");
  const std::vector<std::size_t> users = users_of_one_memory(view);
  if (users.empty()) return std::nullopt;
  const std::size_t first = users.front();
  const auto speed = [&](std::size_t v) { return view.result(v).output_tokens_per_s.value_or(0); };
  const auto slower = [&](std::size_t a, std::size_t b) {
    return speed(a) < speed(b) && !tied(speed(a), speed(b));
  };
  std::vector<std::size_t> those = users;
  if (runs::shortage_of(view.result(first)) == Shortage::kNever) {
    // Compare with the variants that were short of memory, if there are any.
    std::erase_if(those, [&](std::size_t v) {
      return v != first && (runs::shortage_of(view.result(v)) == Shortage::kNever || slower(first, v));
    });
    if (those.size() == 1) those = users;
  } else {
    std::erase_if(those, [&](std::size_t v) { return slower(v, first); });
    if (those.size() == 1) those = users;
  }
  const auto pair = best_and_other(view, batch, those);
  if (pair && slower(pair->best, pair->other) && !tied(pair->best_value, pair->other_value))
    return std::nullopt;
  return pair;
}

/// "57.3 % of the memory was reserved for tokens never made with A; B would run 2.9 times as many requests at once."
/// Empty if no two variants can be compared, or if more concurrent requests would say nothing about the memory.
std::string headline(const View& view) {
  const auto pair = larger_batch(view);
  if (!pair) return {};
  const RunSummary& other = view.result(pair->other);
  std::string out;
  const auto loss = runs::largest_loss(other);
  if (loss && share_of(other, *loss) >= kWorthWords)
    out = "With " + view.name(pair->other) + ", " + share_text(share_of(other, *loss)) + " of the memory " +
          loss_words(*loss, false) + (*loss == State::kStranded ? stranded_kinds(other) : "") + "; ";
  if (tied(pair->best_value, pair->other_value)) {
    const std::int64_t alike = pair->alike + 1;
    const std::string all = alike == 2 ? "both" : "all " + grouped(alike);
    return out.empty() ? "Equally many requests run at once, on average, with " + all + " (" +
                             rounded(pair->best_value) + ")."
                       : out + "equally many requests run at once, on average, with " + all + " (" +
                             rounded(pair->best_value) + ").";
  }
  const Shortage shortage = runs::shortage_of(other);
  if (shortage == Shortage::kNever) return out.empty() ? out : out + "even so, memory was never short.";
  out += best_words(view, *pair) + (shortage == Shortage::kHappens ? " would run " : " runs ");
  out += pair->other_value > 0
             ? times_words(pair->best_value, pair->other_value) + " as many requests at once"
             : std::string("requests where that runs none");
  out += " (" + rounded(pair->best_value) + " against " + rounded(pair->other_value) + " on average)";
  if (shortage != Shortage::kHappens)
    out += "; it does not show whether " + view.name(pair->other) + " was short of memory";
  return out + ".";
}

/// "Memory is not the limit here." Empty where it may be.
std::string no_limit_sentence(const View& view) {
  std::optional<std::size_t> fullest;
  const auto idle_share = [&](std::size_t v) {
    return static_cast<double>(runs::idle_at_peak(view.result(v))) /
           static_cast<double>(view.result(v).capacity_bytes);
  };
  for (std::size_t v = 0; v < view.comparison.variants.size(); ++v) {
    if (!view.comparison.variants[v].result || view.result(v).completed == 0) continue;
    if (runs::shortage_of(view.result(v)) != Shortage::kNever) return {};
    if (!fullest || idle_share(v) < idle_share(*fullest)) fullest = v;
  }
  if (!fullest) return {};
  return "Memory is not the limit: no request waits for it, none is preempted, and even at its fullest "
         "(with " +
         view.name(*fullest) + ") " + share_text(idle_share(*fullest)) + " of it is idle.";
}

std::string throughput_sentence(const View& view) {
  const auto pair = best_and_other(view, runs::answer_metric("output_tokens_per_s"));
  if (!pair || pair->other_value <= 0) return {};
  if (tied(pair->best_value, pair->other_value))
    return "All variants output " + rounded(pair->best_value) + " tokens per second, within half a percent.";
  return "Output is " + times_words(pair->best_value, pair->other_value) + " as fast with " +
         best_words(view, *pair) + " as with " + view.name(pair->other) + ": " + rounded(pair->best_value) +
         " against " + rounded(pair->other_value) + " tokens per second" + ".";
}

/// Names the variants in which requests arrive faster than they are served: their latencies mean nothing.
std::string saturation_sentence(const View& view) {
  std::vector<std::size_t> those;
  for (std::size_t v = 0; v < view.comparison.variants.size(); ++v)
    if (view.comparison.variants[v].result && runs::is_saturated(view.result(v))) those.push_back(v);
  if (those.empty()) return {};
  const auto backlog = [&](std::size_t v) { return view.result(v).saturation->backlog; };
  const std::size_t worst = *std::max_element(
      those.begin(), those.end(), [&](std::size_t a, std::size_t b) { return backlog(a) < backlog(b); });
  const auto ran = std::count_if(view.comparison.variants.begin(), view.comparison.variants.end(),
                                 [](const runs::Variant& v) { return v.result.has_value(); });
  std::string with = "With " + view.name(worst);
  if (static_cast<std::ptrdiff_t>(those.size()) == ran)
    with = "In every variant";
  else if (those.size() > 1)
    with = "In " + grouped(static_cast<std::int64_t>(those.size())) + " of the variants";
  const runs::Saturation& s = *view.result(worst).saturation;
  return with + " requests come faster than they are served" +
         (those.size() > 1 ? "; the worst is " + view.name(worst) : std::string()) + ": " +
         count_words(s.backlog, "request waits", "requests wait") +
         " when the last one arrives, and it takes " + seconds_text(seconds(s.drain)) +
         " until they have started. Such latencies grow with the length of the trace.";
}

std::string wait_sentence(const View& view) {
  std::vector<std::size_t> steady = view.same;
  std::erase_if(steady, [&](std::size_t v) { return runs::is_saturated(view.result(v)); });
  const auto pair = best_and_other(view, runs::answer_metric("ttft_p99_s"), steady);
  if (!pair) return {};
  const std::string all = steady.size() < view.same.size() ? "all others" : "all variants";
  if (tied(pair->best_value, pair->other_value))
    return "TTFT is the same in " + all + ": " + seconds_text(pair->best_value) + " at the 99th percentile.";
  std::string out = "TTFT is " + seconds_text(pair->best_value) + " at the 99th percentile with " +
                    best_words(view, *pair) + " and " + seconds_text(pair->other_value) + " with " +
                    view.name(pair->other);
  if (pair->best_value > 0) out += ", " + times_words(pair->other_value, pair->best_value) + " as long";
  return out + ".";
}

/// What a KV cache gains: the variant without one, compared with the fastest of those with one.
std::string cache_sentence(const View& view) {
  std::optional<std::size_t> without, with;
  const auto speed = [&](std::size_t v) { return view.result(v).output_tokens_per_s.value_or(0); };
  for (const std::size_t v : view.same) {
    std::optional<std::size_t>& best = view.result(v).scenario.keeps_nothing() ? without : with;
    if (!best || speed(v) > speed(*best)) best = v;
  }
  if (!without || !with || speed(*without) <= 0) return {};
  const RunSummary& none = view.result(*without);
  const RunSummary& kept = view.result(*with);
  std::string out = "What the cache buys: " + view.name(*without) + " computes " +
                    grouped(none.computed_tokens) + " tokens where " + view.name(*with) + " computes " +
                    grouped(kept.computed_tokens) + ", " +
                    times_words(static_cast<double>(none.computed_tokens),
                                static_cast<double>(std::max<std::int64_t>(kept.computed_tokens, 1))) +
                    " as many";
  if (none.tpot && kept.tpot && kept.tpot->p50 > 0)
    out += ", a token takes " + times_words(none.tpot->p50, kept.tpot->p50) + " as long (" +
           seconds_text(none.tpot->p50) + " against " + seconds_text(kept.tpot->p50) + " at the median)";
  out += ", and the run " + times_words(speed(*with), speed(*without)) + " as long";
  if (kept.memory && kept.memory->timed)
    out += "; it costs " + bytes_text(kept.memory->mean_bytes[index(State::kLive)]) +
           " of keys and values on average, " +
           bytes_text(static_cast<double>(kept.memory->peak_bytes[index(State::kLive)])) + " at the peak";
  return out + ".";
}

std::string preemption_sentence(const View& view) {
  const auto pair = best_and_other(view, runs::answer_metric("preemptions"));
  if (!pair) return {};
  const auto best = std::llround(pair->best_value);
  const auto other = std::llround(pair->other_value);
  if (best == other)
    return best == 0 ? std::string()
                     : "All variants have " + count_words(best, "preemption", "preemptions") + ".";
  return view.start(pair->best) + " has " +
         (best == 0 ? std::string("no preemptions") : count_words(best, "preemption", "preemptions")) + "; " +
         view.name(pair->other) + " has " + grouped(other) + ".";
}

std::string goodput_sentence(const View& view) {
  const auto pair = best_and_other(view, runs::answer_metric("goodput_per_s"));
  if (!pair || pair->best_value <= 0) return {};
  if (tied(pair->best_value, pair->other_value))
    return "Goodput is the same in all variants: " + rounded(pair->best_value) +
           " requests per second meet all targets, within half a percent.";
  return "Goodput is " + rounded(pair->best_value) + " requests per second with " + best_words(view, *pair) +
         ", " + rounded(pair->other_value) + " with " + view.name(pair->other) + ".";
}

std::string work_words(const RunSummary& r) {
  std::string out =
      "completed " + grouped(r.completed) + " of " + count_words(r.arrived, "request", "requests");
  if (r.rejected > 0) out += ", " + grouped(r.rejected) + " rejected";
  if (r.unfinished > 0) out += ", " + grouped(r.unfinished) + " unfinished";
  return out;
}

bool reserves_longest(const Choice& allocator) {
  const auto params = allocator.descriptor().params;
  return std::any_of(params.begin(), params.end(), [&](const Param& param) {
    return param.name == "reserve" && allocator.text(param.name) == "max";
  });
}

/// Why an allocator that reserves for the longest request cannot work: "; max_model_len (4,096 tokens) is more than
/// the pool holds (1,000)"; empty if it can.
std::string too_long_for_pool(const RunSummary& r) {
  if (r.replicas.empty() || !reserves_longest(r.scenario.allocator)) return {};
  const runs::PoolShape& pool = r.replicas[0].pool;
  const auto [longest, param] = r.scenario.engine_traits().request_tokens;
  const std::int64_t tokens = pool.capacity_bytes / pool.token_bytes;
  if (tokens == 0 || longest <= tokens) return {};
  return "; " + std::string(param) + " (" + grouped(longest) + " tokens) is more than the pool holds (" +
         grouped(tokens) + ")";
}

/// Variants that are not compared with the first, and why.
void add_apart(const View& view, std::vector<std::string>& out) {
  constexpr std::size_t kMost = 6;
  const RunSummary& base = view.result(view.base);
  std::size_t named = 0;
  for (const std::size_t v : view.apart) {
    const RunSummary& r = view.result(v);
    if (++named > kMost) continue;
    if (r.trace_digest != base.trace_digest || r.arrived != base.arrived) {
      out.push_back(view.start(v) + " was given other requests than " + view.name(view.base) +
                    ", so the two are not compared.");
    } else if (r.arrived > 0 && r.rejected == r.arrived) {
      out.push_back(view.start(v) + " rejected every request on arrival" + too_long_for_pool(r) + ".");
    } else if (v != view.base) {
      out.push_back(view.start(v) + " is left out of the ratios: it " + work_words(r) + "; " +
                    view.name(view.base) + " " + work_words(base) + ".");
    }
  }
  if (view.apart.size() > kMost)
    out.push_back(grouped(static_cast<std::int64_t>(view.apart.size() - kMost)) +
                  " more variants did other work and are left out of the ratios.");
}

/// What one variant did with the memory, and how many concurrent requests that allowed.
std::string variant_sentence(const View& view, std::size_t v) {
  const RunSummary& r = view.result(v);
  std::string out = view.names.label(v);
  if (view.names.numbered() && view.name(v) != out) out += ", " + view.name(v);
  const auto loss = runs::largest_loss(r);
  const double lost = loss ? share_of(r, *loss) : 0;
  if (r.scenario.keeps_nothing())
    out += ": without a cache, all tokens were computed again in each step";
  else if (lost >= kWorthWords)
    out += ": " + share_text(lost) + " of the memory " + loss_words(*loss, true) +
           (*loss == State::kStranded ? stranded_kinds(r) : "");
  else
    out += ": reservation and fragmentation took at most " + share_text(lost) + " of the memory each";
  out += ", " + share_text(share_of(r, State::kLive)) + " held live tokens; " +
         rounded(r.mean_running.value_or(0)) + " requests at once on average, at most " +
         grouped(r.max_running);
  const std::string limit = limit_words(r);
  return out + (limit.empty() ? "." : "; " + limit + ".");
}

/// The sentence for comparisons in which the varied value is the load itself.
std::string load_sentence(const Comparison& comparison) {
  for (const runs::Vary& vary : comparison.varies)
    if (vary.path.rfind("workload.rate_scale", 0) == 0)
      return "The requests arrive at different rates, so differences come from the load too, not from memory "
             "alone.";
  return {};
}

std::string failed_sentence(const Comparison& comparison) {
  const auto failed = std::count_if(comparison.variants.begin(), comparison.variants.end(),
                                    [](const runs::Variant& v) { return v.error.has_value(); });
  if (failed == 0) return {};
  return count_words(failed, "variant", "variants") + " could not run and " + (failed == 1 ? "is" : "are") +
         " not in this answer.";
}

std::vector<std::size_t> described(const View& view) {
  std::vector<std::size_t> out;
  for (std::size_t v = 0; v < view.comparison.variants.size(); ++v) {
    const runs::Variant& variant = view.comparison.variants[v];
    if (variant.result && variant.result->memory && variant.result->memory->timed) out.push_back(v);
  }
  if (out.size() <= kMostSentences) return out;
  out = {view.base};
  for (const char* metric : {"mean_running", "output_tokens_per_s", "ttft_p99_s"})
    if (const auto pair = best_and_other(view, runs::answer_metric(metric)))
      out.insert(out.end(), {pair->best, pair->other});
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  std::erase_if(out, [&](std::size_t v) {
    const RunSummary& r = view.result(v);
    return !r.memory || !r.memory->timed;
  });
  return out;
}

}  // namespace

std::string_view metric_words(std::string_view metric) {
  if (metric == "output_tokens_per_s") return "output tokens per second";
  if (metric == "ttft_p99_s") return "p99 of the time to first token";
  return metric;
}

std::string metric_text(std::string_view metric, double value) {
  if (metric.ends_with("_fraction")) return share_text(value);
  if (metric.ends_with("_per_s")) return rounded(value);
  if (metric.ends_with("_s")) return seconds_text(value);
  return rounded(value);
}

namespace {

/// Sentences that compare variants with each other.
std::vector<std::string> relations(const View& view) {
  const Comparison& comparison = view.comparison;
  std::vector<std::string> out;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) out.push_back(std::move(sentence));
  };
  if (view.served < 2) {
    add_apart(view, out);
    add("Fewer than two variants served a request, so there is nothing to compare.");
  } else {
    std::vector<std::string> knees = knee_sentences(comparison);
    const bool buys = view.differs_in(runs::same_hardware);
    const bool targets = runs::answer_metric("goodput_per_s").value(view.result(view.base)).has_value();
    const auto add_speed = [&] {
      add(throughput_sentence(view));
      add(saturation_sentence(view));
      add(wait_sentence(view));
    };
    if (buys) {  // the question is which devices to buy; the memory is secondary
      add(goodput_sentence(view));
      add(fewest_gpus_sentence(view));
      add(cheapest_sentence(view));
      if (!targets) add_speed();
      add(per_gpu_sentence(view));
    }
    const std::string no_limit = no_limit_sentence(view);
    add(no_limit);
    // with pools of several sizes, the knee is the answer
    if (no_limit.empty() && knees.empty()) add(headline(view));
    for (std::string& sentence : knees) add(std::move(sentence));
    add(cache_sentence(view));
    if (!buys || targets) add_speed();
    add(preemption_sentence(view));
    if (!buys) add(goodput_sentence(view));
    add_apart(view, out);
    add(load_sentence(comparison));
  }
  return out;
}

std::vector<std::string> answer(const Comparison& comparison, bool each_variant) {
  const View view(comparison);
  std::vector<std::string> out = relations(view);
  if (each_variant || out.empty())
    for (const std::size_t v : described(view)) out.push_back(variant_sentence(view, v));
  if (std::string failed = failed_sentence(comparison); !failed.empty()) out.push_back(std::move(failed));
  return out;
}

}  // namespace

std::vector<std::string> answer_sentences(const Comparison& comparison) {
  return answer(comparison, true);
}

std::vector<std::string> short_answer_sentences(const Comparison& comparison) {
  return answer(comparison, false);
}

void write_answer(JsonWriter& json, const Comparison& comparison) {
  const auto name = [&](std::size_t v) { return comparison.variants[v].name(); };
  json.key("answer").begin_object().key("sentences").begin_array();
  for (const std::string& sentence : answer_sentences(comparison)) json.value(sentence);
  json.end_array().key("facts").begin_array();
  const auto write = [&](const runs::Fact& fact, std::string_view metric) {
    json.begin_object()
        .member("variant", name(fact.variant))
        .member("metric", metric)
        .member("value", fact.value);
    json.key("versus");
    fact.versus ? json.value(name(*fact.versus)) : json.null();
    json.member("ratio", fact.ratio).end_object();
  };
  for (const runs::Fact& fact : runs::facts_of(comparison)) write(fact, fact.metric);
  for (const runs::Knee& knee : runs::knees_of(comparison)) {
    if (!knee.at) continue;
    const runs::Metric& metric = runs::answer_metric(knee.metric);
    const RunSummary& at = *comparison.variants[knee.variants[*knee.at]].result;
    const double largest = *metric.value(*comparison.variants[knee.variants.back()].result);
    runs::Fact fact{.variant = knee.variants[*knee.at],
                    .metric = knee.metric,
                    .value = static_cast<double>(runs::pool_size(at)),
                    .versus = knee.variants.back()};
    if (largest != 0) fact.ratio = *metric.value(at) / largest;
    write(fact, "knee_of_" + std::string(knee.metric));
  }
  json.end_array().end_object();
}

}  // namespace kvplan::report
