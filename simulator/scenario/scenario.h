// A scenario: everything that decides a run, each value with where it came from.
//
// It is given as settings, `path = text`, from a JSON file (simulator/io), from `--set`, or from a form.
// `resolve` checks them against the fields below and the catalogues of components, fills in defaults and
// gives a `Scenario`. Later settings replace earlier ones. One parameter of a component can be set alone:
// memory.allocator.block_tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/core/engine.h"
#include "simulator/formats/formats.h"
#include "simulator/memory/allocators.h"
#include "simulator/model/model_shape.h"
#include "simulator/model/pool.h"
#include "simulator/scenario/percentile_targets.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/source.h"
#include "simulator/scheduling/engines.h"
#include "simulator/workload/workload_builder.h"
#include "traces/record/import_options.h"

namespace kvplan::plan {

enum class FieldKind : std::uint8_t {
  kText,
  kInteger,
  kFraction,
  kSeconds,
  kPercentiles,  ///< scenario/percentile_targets.h
  kComponent
};

/// One path of a scenario.
struct Field {
  std::string_view path;
  std::string_view help;
  FieldKind kind{FieldKind::kText};
  Unit unit{Unit::kNone};
  std::string_view fallback{};   ///< empty: no value
  std::int64_t low{0}, high{0};  ///< kInteger, both included; kFraction: at most `high`, 0 = no limit
  std::string_view family{};     ///< kComponent
};

/// All paths, in the order in which a resolved scenario is printed.
std::span<const Field> scenario_fields();
/// Descriptors of one family: "sessions", "allocator", "engine", "latency", "router", "eviction", "format",
/// "window-format", "pool-rule", "replacement", "reader", "budget".
Catalogue family_descriptors(std::string_view family);
/// A member of one of these families with its parameters; of formats see parse_run_format, parse_window_format.
Result<Choice> parse_member(std::string_view family, std::string_view text);
/// All families, in the order of `list`.
std::span<const std::string_view> families();

struct Setting {
  std::string path;
  std::string text;
  std::string file;               ///< scenario file it stands in; empty for the command line
  std::int64_t line{0};           ///< 1-based line in it; 0 = not known
  Origin origin{Origin::kGiven};  ///< a resolved scenario that is read back has defaults too
  /// Of a component's text: parameters that stand in it but are defaults.
  std::vector<std::string> default_params{};
  std::string option{};  ///< of the command line that said it ("--set"); empty: a file, or a program
  /// Of a component's text: the lines of parameters that stand on lines of their own.
  std::vector<std::pair<std::string, std::int64_t>> param_lines{};
};

/// How it is known which tokens stay.
enum class EvictsBy : std::uint8_t {
  kNothing,  ///< everything stays
  kKeepRule,  ///< positions decide and holes are left: Scenario::keep; beside windows courses (TokenPlan::keep)
  kLengths,     ///< positions decide, cells are used again or layers keep intervals of their own
  kCounts,      ///< lengths say how many stay, survivors are moved together
  kRecordings,  ///< attention decides: workload.attention
  kTokens,      ///< neither attention nor lengths in closed form: lots, or what a user makes of positions
  kSets,        ///< a file says it
};

/// A resolved scenario.
struct Scenario {
  /// Text of each field (components with all their parameters), parallel to scenario_fields(); empty = no
  /// value.
  std::vector<std::string> texts;
  std::vector<Source> sources;
  std::vector<std::vector<ParamSource>> param_sources;  ///< of components: parameters that are no defaults

  std::string trace;
  traces::ImportOptions import;  ///< how `trace` is read
  Fraction rate_scale;
  Choice sessions;
  std::int64_t limit{-1};
  std::uint64_t seed{0};
  std::vector<std::string> attention;       ///< paths of workload.attention
  bool extrapolates_shape{false};           ///< layers and heads of these stand for those of the model
  const model::ModelShape* model{nullptr};  ///< null: that of model_file, or else of the recordings
  std::string prices;                       ///< path of a price list; empty: none
  std::string model_file;                   ///< path of a config.json; read when it is run
  model::Deployment deployment;             ///< its format: of a token's place
  /// How tokens are encoded when their prompt is whole, where `format` names such a codec.
  std::optional<formats::FormatChoice> encoded;
  /// Of layers with a window, where they have a format of their own and keep what their window shows.
  std::optional<RunFormat> window_format;
  bool derives_pool{false};  ///< from the deployment and the model, when it is run; `pool` is empty then
  memory::PoolSize pool;
  Choice allocator, replacement, engine, latency, router;
  std::optional<Choice> eviction;
  std::optional<Choice> budget;  ///< what layers keep instead of the number that `eviction` says
  std::optional<Choice> reader;  ///< what decode steps read a part by
  EvictsBy evicts_by{EvictsBy::kNothing};
  core::KeepRule keep;
  std::int64_t replicas{1};
  std::optional<double> target_ttft_s, target_tpot_s, target_e2e_s;
  /// Only requests that arrive from the one on and before the other count for latencies and targets; since the first
  /// arrival.
  std::optional<double> target_from_s, target_to_s;
  Fraction target_fraction{1, 1};  ///< of the arrived requests, that has to meet these three; at most 1
  std::vector<PercentileTarget> percentiles;  ///< targets beside these

  /// Of a field's path. REQUIRES: there is such a field.
  [[nodiscard]] const std::string& text(std::string_view path) const;
  [[nodiscard]] Origin origin(std::string_view path) const;
  /// Of field i.
  [[nodiscard]] Origin origin(std::size_t i) const { return origin_of(sources[i]); }
  /// True: requests follow courses (courses/course.h).
  [[nodiscard]] bool follows_courses() const {
    return evicts_by == EvictsBy::kLengths || evicts_by == EvictsBy::kCounts ||
           evicts_by == EvictsBy::kRecordings || evicts_by == EvictsBy::kTokens ||
           evicts_by == EvictsBy::kSets || encodes();
  }
  /// True: what a request stores follows from its lengths when its prompt is whole, not from a width of tokens.
  [[nodiscard]] bool encodes() const { return encoded || window_format; }
  /// True: there are targets that each request meets or not.
  [[nodiscard]] bool has_request_targets() const { return target_ttft_s || target_tpot_s || target_e2e_s; }
  [[nodiscard]] bool has_targets() const { return has_request_targets() || !percentiles.empty(); }
  /// Of a time in seconds since the first arrival.
  [[nodiscard]] bool in_window(double arrival_s) const {
    return arrival_s >= target_from_s.value_or(0) && (!target_to_s || arrival_s < *target_to_s);
  }
  /// What this scenario's engine takes and does, whatever its parameters are called.
  [[nodiscard]] scheduling::EngineTraits engine_traits() const;
  /// True: nothing is kept, and every step computes all tokens of its requests again.
  [[nodiscard]] bool keeps_nothing() const;
  /// True: a request is to find blocks of another's, or of its own earlier admission: asked for by the engine, and
  /// offered by the allocator. Whether the token policy lets it, TokenPlan::finds_prefixes says.
  [[nodiscard]] bool asks_for_prefixes() const;
  /// True: memory.replacement names a policy; false: the pool hands out blocks its own way.
  [[nodiscard]] bool replaces_by_policy() const;
  /// Of a parameter of the component in field i.
  [[nodiscard]] Origin param_origin(std::size_t i, std::string_view param) const {
    return origin_of(param_source(i, param));
  }
  [[nodiscard]] Source param_source(std::size_t i, std::string_view param) const;
};

/// Told the source of every value of a resolved scenario: `path`, and `path.parameter` for each parameter of
/// a component, in the order in which reports print them.
void each_source(const Scenario& scenario,
                 const std::function<void(std::string_view path, const Source&)>& told);

/// Says where a value was said of which only the origin is known: of a scenario that was stored. False, and nothing is
/// changed, where the path is none that `each_source` tells, or the source would be of the other origin.
bool set_source(Scenario& scenario, std::string_view path, const Source& source);

/// Errors carry the path in `field`, file and line where known, and what exists or was expected.
Result<Scenario> resolve(std::span<const Setting> settings);

/// `PATH=VALUE` of --set.
Result<Setting> parse_setting(std::string_view text);

}  // namespace kvplan::plan
