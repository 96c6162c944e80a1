#include "simulator/report/partings.h"

#include <algorithm>

#include "simulator/report/number_text.h"

namespace kvplan::report {
namespace {

using observe::Decision;
using runs::Comparison;
using runs::Variant;

const Variant& first_of(const Comparison& comparison) {
  return comparison.variants[*comparison.parted_from];
}

/// "admits request 12, finishes request 3 and 4 more decisions", or what it means that there is none.
std::string decisions_text(const std::vector<Decision>& decisions) {
  constexpr std::size_t kMostNamed = 2;
  if (decisions.empty()) return "decides nothing more there";
  std::string out;
  for (std::size_t i = 0; i < std::min(decisions.size(), kMostNamed); ++i)
    out += (i == 0 ? "" : ", ") + runs::decision_text(decisions[i]);
  if (decisions.size() > kMostNamed)
    out += " and takes " + grouped(static_cast<std::int64_t>(decisions.size() - kMostNamed)) +
           " more decisions of its own";
  return out;
}

void write_decisions(JsonWriter& json, const std::string& variant, const std::vector<Decision>& decisions) {
  for (const Decision& decision : decisions)
    json.begin_object()
        .member("variant", variant)
        .member("decision", runs::decision_text(decision))
        .member("request", static_cast<std::int64_t>(number(decision.request)))
        .end_object();
}

/// The members of the object; the caller opens and closes it.
void write_members(JsonWriter& json, const Comparison& comparison, const Variant& variant) {
  const runs::Parting& parting = *variant.parting;
  const std::string from = first_of(comparison).name();
  json.member("from", from).member("replica", parting.replica).member("step", parting.step);
  json.member("time_s", seconds(parting.time().since_start)).key("decision").begin_array();
  write_decisions(json, from, parting.only_a);
  write_decisions(json, variant.name(), parting.only_b);
  json.end_array();
}

}  // namespace

std::vector<std::string> parting_sentences(const Comparison& comparison) {
  std::vector<std::string> out;
  if (!comparison.parted_from) return out;
  const std::string from = first_of(comparison).name();
  for (std::size_t i = *comparison.parted_from + 1; i < comparison.variants.size(); ++i) {
    const Variant& variant = comparison.variants[i];
    if (!variant.result) continue;
    if (!variant.parting) {
      out.push_back(variant.name() + " decides the same as " + from + " in every step.");
      continue;
    }
    const runs::Parting& parting = *variant.parting;
    const bool fleet = variant.result->scenario.replicas > 1;
    out.push_back(variant.name() + " parts from " + from + " at " +
                  seconds_text(seconds(parting.time().since_start)) + ", in step " + grouped(parting.step) +
                  (fleet ? " of replica " + std::to_string(parting.replica) : "") + ": " + from + " " +
                  decisions_text(parting.only_a) + "; " + variant.name() + " " +
                  decisions_text(parting.only_b) + ".");
  }
  return out;
}

void write_parting(JsonWriter& json, const Comparison& comparison, const Variant& variant) {
  if (!comparison.parted_from || !variant.result || &variant == &first_of(comparison)) return;
  json.key("parting");
  if (!variant.parting) {
    json.null();
    return;
  }
  json.begin_object();
  write_members(json, comparison, variant);
  json.end_object();
}

void write_first_parting(JsonWriter& json, const Comparison& comparison) {
  if (!comparison.parted_from) return;
  const Variant* first = nullptr;
  for (const Variant& variant : comparison.variants)
    if (variant.parting && (first == nullptr || variant.parting->time() < first->parting->time()))
      first = &variant;
  json.key("parting");
  if (first == nullptr) {
    json.null();
    return;
  }
  json.begin_object().member("variant", first->name());
  write_members(json, comparison, *first);
  json.end_object();
}

}  // namespace kvplan::report
