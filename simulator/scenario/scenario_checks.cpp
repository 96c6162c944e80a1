#include "simulator/scenario/scenario_checks.h"

#include <string>
#include <string_view>

#include "simulator/attention/catalogue.h"
#include "simulator/latency/latencies.h"
#include "simulator/readers/catalogue.h"
#include "simulator/scenario/run_format.h"

namespace kvplan::plan {
namespace {

std::string counted_readers() {
  std::string out;
  for (const readers::ReaderKind* kind : readers::readers())
    if (kind->counted != nullptr) out += (out.empty() ? "" : ", ") + std::string(kind->descriptor.name);
  return out;
}

/// An engine may decide by itself what others leave to policies.
Status check_engine_follows(const Scenario& s) {
  const scheduling::EngineTraits traits = s.engine_traits();
  const auto refused = [&](std::string_view what, std::string_view path, std::string_view expected) {
    return bad_input("the engine \"" + std::string(s.engine.name()) + "\" " + std::string(what) +
                     ": expected " + std::string(expected) + ", found " + s.text(path))
        .at_field(path);
  };
  if (s.evicts_by != EvictsBy::kNothing && !traits.follows_policies)
    return refused(
        traits.by_priority ? "supports no token policy with policy=priority" : "supports no token policy",
        "eviction", "full");
  if (s.replaces_by_policy() && traits.index_of_its_own)
    return refused("has its own order in which cached blocks are evicted", "memory.replacement",
                   "the default");
  return Done{};
}

/// What is said of keys and values that are kept has no meaning where none are.
Status check_nothing_kept(const Scenario& s) {
  if (!s.keeps_nothing()) return Done{};
  const auto refused = [&](std::string_view what, std::string_view path, std::string_view expected) {
    return bad_input("the allocator \"" + std::string(s.allocator.name()) + "\" has no KV cache that a " +
                     std::string(what) + ": expected " + std::string(expected) + ", found " + s.text(path))
        .at_field(path);
  };
  if (s.evicts_by != EvictsBy::kNothing) return refused("policy could evict from", "eviction", "full");
  if (s.encoded || (s.deployment.format && s.deployment.format->choice.name() != "native"))
    return refused("format could store", "format", "native");
  if (s.window_format) return refused("format could store", "window_format", "none");
  return Done{};
}

/// Heads share stored bytes of a token, which are freed when the last head drops it; counts per head do not say when.
Status check_alike_heads(const Scenario& s, const Choice& format) {
  const attention::PolicyChoice policy = attention::policy_of(*s.eviction);
  const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
  if (traits.interval || traits.scope == attention::Scope::kLayer) return Done{};
  return bad_input("keeps different tokens in different heads, which " + format.to_string() +
                   " stores as one vector per token: expected a policy that selects by position, or one set "
                   "per layer (tova); found " +
                   s.eviction->to_string())
      .at_field("eviction");
}

Status check_joined(const Scenario& s) {
  if (!s.eviction || !s.deployment.format || !joins_heads(*s.deployment.format)) return Done{};
  return check_alike_heads(s, s.deployment.format->choice);
}

/// Checks that the number of kept tokens is known, and the dropped tokens as far as the format needs them. REQUIRES:
/// tokens are encoded, and some policy drops some.
Status check_encoded_policy(const Scenario& s, const std::string& stored) {
  const bool by_count = !s.encoded || formats::follows_from_count(*s.encoded);
  if (s.evicts_by == EvictsBy::kCounts) {
    const attention::PolicyChoice policy = attention::policy_of(*s.eviction);
    const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
    if ((policy.kind->layer_counts != nullptr && !traits.thins) || (traits.count && traits.count->once))
      return Done{};
    if (!traits.count && !traits.head_tables)
      return bad_input(stored +
                       ". Its bytes are not known when the number of kept tokens varies or depends on the "
                       "prompt: expected eviction=full, or a policy with a fixed number of tokens and "
                       "placement=compact (window, tova, snapkv); found " +
                       s.eviction->to_string())
          .at_field("eviction");
    if (by_count)
      return s.encoded && s.encoded->kind->lengths.heads_share ? check_alike_heads(s, s.encoded->choice)
                                                               : Status(Done{});
    if (traits.interval && formats::follows_from_positions(*s.encoded, traits.interval->sink)) return Done{};
  }
  return bad_input(
             stored +
             (by_count ? ". The number of kept tokens must follow from lengths: expected eviction=full, or a "
                         "policy counted from lengths with placement=compact (window, tova, snapkv); found "
                       : ", and on which tokens are evicted while decoding: expected eviction=full, or with "
                         "placement=compact a policy that evicts only from the prompt (snapkv, pyramidkv) "
                         "or, if positions suffice, by position (window, streaming-llm); found ") +
             s.eviction->to_string())
      .at_field("eviction");
}

/// A window drops older tokens, and layers that are stored together see as much.
Status check_window_format(const Scenario& s) {
  if (!s.window_format) return Done{};
  const auto apart = [&](const formats::FormatKind* kind, std::string_view path) -> Status {
    if (kind == nullptr || kind->other_layers == nullptr) return Done{};
    return bad_input(std::string(kind->descriptor.name) +
                     " stores several layers jointly: expected a format that stores each layer separately "
                     "with window_format=" +
                     s.text("window_format") + ", found " + s.text(path))
        .at_field(path);
  };
  KVPLAN_TRY_DO(apart(codec_kind(s.deployment.format->choice), "format"));
  KVPLAN_TRY_DO(apart(codec_kind(s.window_format->of_token.choice), "window_format"));
  if (s.encoded) KVPLAN_TRY_DO(apart(s.encoded->kind, "format"));
  if (!s.window_format->encoded) return Done{};
  KVPLAN_TRY_DO(apart(s.window_format->encoded->kind, "window_format"));
  if (formats::follows_from_positions(*s.window_format->encoded, 0)) return Done{};
  return bad_input("what \"" + std::string(s.window_format->encoded->choice.name()) +
                   "\" stores in a sliding window depends on the numbers: expected a format with bytes that "
                   "follow from lengths, found " +
                   s.text("window_format"))
      .at_field("window_format");
}

/// What tokens take that are encoded later depends on all that a request stores.
Status check_encoded(const Scenario& s) {
  if (!s.encodes()) return Done{};
  const std::string stored =
      s.encoded ? "what \"" + std::string(s.encoded->choice.name()) +
                      "\" stores for a token depends on all tokens of the request"
                : "sliding-window layers and the others store different bytes per token (window_format)";
  const memory::AllocatorEntry& allocator = memory::allocator_entry(s.allocator);
  const bool one_table =
      allocator.table_per == nullptr || allocator.table_per(s.allocator) == memory::TablePer::kRequest;
  if (s.allocator.name() != "paged" || !one_table)
    return bad_input(stored +
                     ", so its blocks are filled by bytes: expected the allocator \"paged\" with one table "
                     "per request, found " +
                     s.allocator.to_string())
        .at_field("memory.allocator");
  if (!s.engine_traits().follows_policies)
    return bad_input(stored + ": the engine \"" + std::string(s.engine.name()) + "\"" +
                     (s.engine_traits().by_priority ? ", with policy=priority," : "") +
                     " supports formats that store every token at once: expected such a format")
        .at_field(s.encoded ? "format" : "window_format");
  KVPLAN_TRY_DO(check_window_format(s));
  return s.evicts_by == EvictsBy::kNothing ? Status(Done{}) : check_encoded_policy(s, stored);
}

/// Everything is kept, token by token, and what lengths say of a part is all that is known of it.
Status check_reader(const Scenario& s) {
  if (!s.reader) return Done{};
  const auto refused = [&](const std::string& why, const std::string& expected) {
    return bad_input(why + ": expected " + expected + ", found " + s.text("reader")).at_field("reader");
  };
  const readers::ReaderChoice reader = readers::reader_of(*s.reader);
  if (reader.kind->counted == nullptr)
    return refused(
        "how much \"" + std::string(s.reader->name()) +
            "\" reads depends on the keys (use `kvplan attention read`)",
        "a sparse attention method with reads that follow from lengths (" + counted_readers() + ")");
  if (s.evicts_by != EvictsBy::kNothing)
    return refused("sparse attention needs a cache that keeps every token, but eviction=" +
                       s.text("eviction") + " evicts some",
                   "full");
  if (s.encoded)
    return refused("\"" + std::string(s.encoded->choice.name()) +
                       "\" encodes tokens jointly, and reading some of them is not modelled",
                   "full, or a format that stores each token at once");
  if (s.window_format)
    return refused("sliding-window layers evict by their window (window_format)",
                   "full, or window_format=none");
  if (s.deployment.format && joins_heads(*s.deployment.format))
    return refused("heads share what " + s.deployment.format->choice.to_string() +
                       " stores for a token, but each head would select its own tokens",
                   "full");
  if (!s.engine_traits().reads_parts)
    return refused("the engine \"" + std::string(s.engine.name()) + "\" reads the whole cache", "full");
  const memory::AllocatorEntry& allocator = memory::allocator_entry(s.allocator);
  if (allocator.keeps_nothing || allocator.follows_windows)
    return refused(
        "the allocator \"" + std::string(s.allocator.name()) +
            (allocator.keeps_nothing ? "\" has no KV cache to read from" : "\" evicts by sliding windows"),
        "full");
  return Done{};
}

}  // namespace

Status check_reader_is_timed(const Scenario& s) {
  if (!s.reader || latency::latency_entry(s.latency).knows_parts) return Done{};
  return bad_input(
             "whole step times were measured on an engine that reads the whole cache: expected reader=full, "
             "or a latency other than \"" +
             std::string(s.latency.name()) + "\", found " + s.text("reader"))
      .at_field("reader");
}

Status check_together(const Scenario& scenario) {
  KVPLAN_TRY_DO(check_reader(scenario));
  KVPLAN_TRY_DO(check_engine_follows(scenario));
  KVPLAN_TRY_DO(check_nothing_kept(scenario));
  KVPLAN_TRY_DO(check_joined(scenario));
  return check_encoded(scenario);
}

}  // namespace kvplan::plan
