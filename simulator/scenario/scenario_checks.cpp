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
        traits.by_priority ? "follows no token policy where it goes by priority" : "follows no token policy",
        "eviction", "full");
  if (s.replaces_by_policy() && traits.index_of_its_own)
    return refused("has an order of its own in which cached blocks are given up", "memory.replacement",
                   "the default");
  return Done{};
}

/// What is said of keys and values that are kept has no meaning where none are.
Status check_nothing_kept(const Scenario& s) {
  if (!s.keeps_nothing()) return Done{};
  const auto refused = [&](std::string_view what, std::string_view path, std::string_view expected) {
    return bad_input("the allocator \"" + std::string(s.allocator.name()) + "\" keeps nothing that a " +
                     std::string(what) + ": expected " + std::string(expected) + ", found " + s.text(path))
        .at_field(path);
  };
  if (s.evicts_by != EvictsBy::kNothing) return refused("policy could drop", "eviction", "full");
  if (s.encoded || (s.deployment.format && s.deployment.format->choice.name() != "native"))
    return refused("format could store", "format", "native");
  if (s.window_format) return refused("format could store", "window_format", "none");
  return Done{};
}

/// What heads share of a token goes when the last of them drops it, which counts of each head do not say.
Status check_alike_heads(const Scenario& s, const Choice& format) {
  const attention::PolicyChoice policy = attention::policy_of(*s.eviction);
  const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
  if (traits.interval || traits.scope == attention::Scope::kLayer) return Done{};
  return bad_input("keeps other tokens in other heads, which share what " + format.to_string() +
                   " stores of a token: expected a policy that goes by positions, or one set for a layer "
                   "(tova), found " +
                   s.eviction->to_string())
      .at_field("eviction");
}

Status check_joined(const Scenario& s) {
  if (!s.eviction || !s.deployment.format || !joins_heads(*s.deployment.format)) return Done{};
  return check_alike_heads(s, s.deployment.format->choice);
}

/// The number of tokens that stays is known, and so are those that go, as far as the format asks: REQUIRES: tokens are
/// encoded, and some policy drops some.
Status check_encoded_policy(const Scenario& s, const std::string& stored) {
  const bool by_count = !s.encoded || formats::follows_from_count(*s.encoded);
  if (s.evicts_by == EvictsBy::kCounts) {
    const attention::PolicyChoice policy = attention::policy_of(*s.eviction);
    const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
    if ((policy.kind->layer_counts != nullptr && !traits.thins) || (traits.count && traits.count->once))
      return Done{};
    if (!traits.count && !traits.head_tables)
      return bad_input(
                 stored +
                 ", which is not worked out where the number of tokens that stay goes up and down or "
                 "follows the prompt: expected eviction=full, or a policy that keeps one number of tokens "
                 "with placement=compact (window, tova, snapkv), found " +
                 s.eviction->to_string())
          .at_field("eviction");
    if (by_count)
      return s.encoded && s.encoded->kind->lengths.heads_share ? check_alike_heads(s, s.encoded->choice)
                                                               : Status(Done{});
    if (traits.interval && formats::follows_from_positions(*s.encoded, traits.interval->sink)) return Done{};
  }
  return bad_input(
             stored +
             (by_count
                  ? ", and how many tokens stay has to follow from lengths: expected eviction=full, or "
                    "a policy that is counted with placement=compact (window, tova, snapkv), found "
                  : ", and on which tokens go while it decodes: expected eviction=full, or with "
                    "placement=compact a policy that cuts the prompt alone (snapkv, pyramidkv), or where "
                    "positions say enough one that goes by them (window, streaming-llm), found ") +
             s.eviction->to_string())
      .at_field("eviction");
}

/// A window drops older tokens, and layers that are stored together see as much.
Status check_window_format(const Scenario& s) {
  if (!s.window_format) return Done{};
  const auto apart = [&](const formats::FormatKind* kind, std::string_view path) -> Status {
    if (kind == nullptr || kind->other_layers == nullptr) return Done{};
    return bad_input(std::string(kind->descriptor.name) +
                     " stores layers together: expected a format that stores each alone beside "
                     "window_format=" +
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
                   "\" takes behind a window depends on numbers: expected a format of which lengths say it, "
                   "found " +
                   s.text("window_format"))
      .at_field("window_format");
}

/// What tokens take that are encoded later depends on all that a request stores.
Status check_encoded(const Scenario& s) {
  if (!s.encodes()) return Done{};
  const std::string stored = s.encoded ? "what \"" + std::string(s.encoded->choice.name()) +
                                             "\" takes depends on all that a request stores"
                                       : "what layers with a window and the others take of a request differs "
                                         "(window_format)";
  const memory::AllocatorEntry& allocator = memory::allocator_entry(s.allocator);
  const bool one_table =
      allocator.table_per == nullptr || allocator.table_per(s.allocator) == memory::TablePer::kRequest;
  if (s.allocator.name() != "paged" || !one_table)
    return bad_input(stored +
                     ", so its blocks are filled with bytes: expected the allocator \"paged\" with one table "
                     "for a request, found " +
                     s.allocator.to_string())
        .at_field("memory.allocator");
  if (!s.engine_traits().follows_policies)
    return bad_input(stored + ": the engine \"" + std::string(s.engine.name()) + "\"" +
                     (s.engine_traits().by_priority ? ", where it goes by priority," : "") +
                     " serves formats that store every token at once, expected one of them")
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
        "how much \"" + std::string(s.reader->name()) + "\" reads follows from keys (kvplan attention read)",
        "a reader whose reads lengths say (" + counted_readers() + ")");
  if (s.evicts_by != EvictsBy::kNothing)
    return refused("a reader reads a part of a cache that keeps everything, and eviction=" +
                       s.text("eviction") + " drops some",
                   "full");
  if (s.encoded)
    return refused("\"" + std::string(s.encoded->choice.name()) +
                       "\" encodes tokens together, and reading some of them is not followed",
                   "full, or a format that stores each token at once");
  if (s.window_format)
    return refused("layers with a window keep what it shows (window_format)", "full, or window_format=none");
  if (s.deployment.format && joins_heads(*s.deployment.format))
    return refused("heads share what " + s.deployment.format->choice.to_string() +
                       " stores of a token, and each would choose tokens of its own",
                   "full");
  if (!s.engine_traits().reads_parts)
    return refused("the engine \"" + std::string(s.engine.name()) + "\" reads all that is kept", "full");
  const memory::AllocatorEntry& allocator = memory::allocator_entry(s.allocator);
  if (allocator.keeps_nothing || allocator.follows_windows)
    return refused("the allocator \"" + std::string(s.allocator.name()) +
                       (allocator.keeps_nothing ? "\" keeps nothing that a part could be read of"
                                                : "\" keeps what the windows of layers show"),
                   "full");
  return Done{};
}

}  // namespace

Status check_reader_is_timed(const Scenario& s) {
  if (!s.reader || latency::latency_entry(s.latency).knows_parts) return Done{};
  return bad_input(
             "whole steps were measured of an engine that reads everything: expected reader=full, or "
             "another latency than \"" +
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
