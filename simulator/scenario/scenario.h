// A scenario: all values that determine a run, each with its source.
//
// It is given as settings, `path = text`, from a JSON file (simulator/io), from `--set`, or from a form. `resolve`
// checks them against the fields below and the catalogues of components, fills in defaults and returns a `Scenario`.
// Later settings replace earlier ones. A parameter of a component can be set alone: memory.allocator.block_tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

namespace kvplan::runs {

enum class FieldKind : std::uint8_t {
  kText,
  kInteger,
  kFraction,
  kSeconds,
  kPercentiles,  ///< scenario/percentile_targets.h
  kComponent
};

/// A path of a scenario.
struct Field {
  std::string_view path;
  std::string_view help;
  FieldKind kind{FieldKind::kText};
  Unit unit{Unit::kNone};
  std::string_view fallback{};   ///< empty: no value
  std::int64_t low{0}, high{0};  ///< kInteger: inclusive bounds; kFraction: at most `high`, 0 = no limit
  std::string_view family{};     ///< for kComponent
  std::string_view none{};       ///< the text that "none" stands for; empty: "none" removes the value
};

/// All paths, in the order in which a resolved scenario is printed.
std::span<const Field> scenario_fields();
/// Descriptors of one family: "sessions", "answers", "allocator", "engine", "latency", "router", "eviction", "format",
/// "window-format", "pool-rule", "replacement", "reader", "budget".
Catalogue family_descriptors(std::string_view family);
/// Parses a member of one of these families; for formats see parse_run_format, parse_window_format.
Result<Choice> parse_member(std::string_view family, std::string_view text);
/// All families, in the order of `list`.
std::span<const std::string_view> families();

struct Setting {
  std::string path;
  std::string text;
  std::string file;               ///< its scenario file; empty for the command line
  std::int64_t line{0};           ///< 1-based line in that file; 0 = not known
  Origin origin{Origin::kGiven};  ///< kDefault occurs too, if a resolved scenario is read back
  /// For the text of a component: its parameters that have their default.
  std::vector<std::string> default_params{};
  std::string option{};  ///< option of the command line that set it ("--set"); empty: a file, or a program
  /// For the text of a component: the lines of parameters that were set alone.
  std::vector<std::pair<std::string, std::int64_t>> param_lines{};
};

/// How a run knows which tokens are kept.
enum class EvictsBy : std::uint8_t {
  kNothing,     ///< everything stays
  kKeepRule,    ///< positions decide and leave holes: Scenario::keep; with windows, courses
  kLengths,     ///< positions decide; cells are reused, or layers keep their own intervals
  kCounts,      ///< lengths give the number of kept tokens; survivors move together
  kRecordings,  ///< attention decides, from recordings: workload.attention
  kTokens,      ///< random, or a user expression over positions
  kSets,        ///< a file lists the kept tokens
};

/// A resolved scenario.
struct Scenario {
  /// Text of each field (components with all their parameters), parallel to scenario_fields(); empty = no value.
  std::vector<std::string> texts;
  std::vector<Source> sources;
  /// For components: sources of parameters that are not defaults
  std::vector<std::vector<ParamSource>> param_sources;

  std::string trace;
  traces::ImportOptions import;  ///< how `trace` is read
  Fraction rate_scale;
  Choice sessions, answers;
  std::int64_t limit{-1};
  std::uint64_t seed{0};
  std::vector<std::string> attention;       ///< paths of workload.attention
  bool extrapolates_shape{false};           ///< layers and heads of recordings represent those of the model
  const model::ModelShape* model{nullptr};  ///< null: the model of model_file, or else of the recordings
  std::string prices;                       ///< path of a price list; empty: none
  std::string model_file;                   ///< path of a config.json; read when the scenario is run
  std::shared_ptr<const model::DeviceShape> device{};  ///< null: none
  model::Deployment deployment;                        ///< its format is that of a token's slot
  /// The codec that encodes tokens when their prompt is complete, if `format` names such a codec.
  std::optional<formats::FormatChoice> encoded;
  /// Format of layers with a window, if they have their own and keep only the tokens in the window.
  std::optional<RunFormat> window_format;
  /// The pool follows from deployment and model when the scenario is run; `pool` is empty then
  bool derives_pool{false};
  memory::PoolSize pool;
  Choice allocator, replacement, engine, latency, router;
  std::optional<Choice> eviction;
  std::optional<Choice> budget;  ///< replaces the number of tokens in `eviction`, for each layer
  std::optional<Choice> reader;  ///< the sparse attention method of decode steps
  EvictsBy evicts_by{EvictsBy::kNothing};
  core::KeepRule keep;
  std::int64_t replicas{1};
  std::optional<double> target_ttft_s, target_tpot_s, target_e2e_s;
  /// Only requests that arrive in [from, to) count for latencies and targets; seconds since the first arrival.
  std::optional<double> target_from_s, target_to_s;
  Fraction target_fraction{1, 1};  ///< share of the arrived requests that must meet these three; at most 1
  std::vector<PercentileTarget> percentiles;  ///< further targets, on percentiles

  /// Text of the field with this path. REQUIRES: there is one.
  [[nodiscard]] const std::string& text(std::string_view path) const;
  [[nodiscard]] Origin origin(std::string_view path) const;
  /// Origin of field i.
  [[nodiscard]] Origin origin(std::size_t i) const { return origin_of(sources[i]); }
  /// True: requests follow courses (courses/course.h).
  [[nodiscard]] bool follows_courses() const {
    return evicts_by == EvictsBy::kLengths || evicts_by == EvictsBy::kCounts ||
           evicts_by == EvictsBy::kRecordings || evicts_by == EvictsBy::kTokens ||
           evicts_by == EvictsBy::kSets || encodes();
  }
  /// True: the bytes that a request stores follow from its lengths once its prompt is complete, not from a number of
  /// bytes per token.
  [[nodiscard]] bool encodes() const { return encoded || window_format; }
  /// True: some target applies to each request.
  [[nodiscard]] bool has_request_targets() const { return target_ttft_s || target_tpot_s || target_e2e_s; }
  [[nodiscard]] bool has_targets() const { return has_request_targets() || !percentiles.empty(); }
  /// True: this arrival, in seconds since the first one, is in the window of targets.
  [[nodiscard]] bool in_window(double arrival_s) const {
    return arrival_s >= target_from_s.value_or(0) && (!target_to_s || arrival_s < *target_to_s);
  }
  /// The traits of this scenario's engine, independent of the names of its parameters.
  [[nodiscard]] scheduling::EngineTraits engine_traits() const;
  /// True: no KV is stored, and every step computes all tokens of its requests again.
  [[nodiscard]] bool keeps_nothing() const;
  /// True: requests can hit cached blocks (of others, or of their own earlier admission): the engine has prefix caching
  /// on, and the allocator has a prefix cache. Retention::prefix_rule says whether the token policy allows it.
  [[nodiscard]] bool asks_for_prefixes() const;
  /// True: memory.replacement names a policy; false: the pool evicts by its own rule.
  [[nodiscard]] bool replaces_by_policy() const;
  /// Origin of a parameter of the component in field i.
  [[nodiscard]] Origin param_origin(std::size_t i, std::string_view param) const {
    return origin_of(param_source(i, param));
  }
  [[nodiscard]] Source param_source(std::size_t i, std::string_view param) const;
};

/// Calls back with the source of every value of a resolved scenario: `path`, and `path.parameter` for each parameter
/// of a component, in the order in which reports print them.
void each_source(const Scenario& scenario,
                 const std::function<void(std::string_view path, const Source&)>& told);

/// Sets the source of a value of a stored scenario, for which only the origin is known. Returns false and changes
/// nothing if `each_source` does not report the path, or if the source has another origin.
bool set_source(Scenario& scenario, std::string_view path, const Source& source);

/// Errors have the path in `field`, file and line if known, and say what exists or was expected.
Result<Scenario> resolve(std::span<const Setting> settings);

/// The scenario with the model's own length as its longest request, if it has a device and says no other; for a model
/// with states in place of a KV cache, with prefix caching off and memory in groups of layers, if it says nothing else.
/// The shape of a model in a file is known when it is read; for bundled ones `resolve` does so.
Result<Scenario> with_length_of(const model::ModelShape& shape, Scenario scenario);

/// The value of a field that the settings do not give: its fallback. On a device the pool rule is that of the engine.
std::string_view default_text(const Field& field, std::span<const Setting> settings);

/// Parses `PATH=VALUE` of --set.
Result<Setting> parse_setting(std::string_view text);

}  // namespace kvplan::runs
