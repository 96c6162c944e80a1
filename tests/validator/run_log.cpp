#include "tests/validator/run_log.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <sstream>

#include "simulator/base/check.h"
#include "simulator/base/random.h"
#include "simulator/courses/counted_course.h"
#include "simulator/courses/course_of_tables.h"
#include "simulator/io/event_log_writer.h"
#include "simulator/io/log/encoder.h"
#include "simulator/io/log/reader.h"
#include "simulator/memory/allocators.h"
#include "simulator/observe/ledger.h"
#include "simulator/workload/workload_builder.h"
#include "tests/support/golden.h"
#include "tests/support/held_answers.h"
#include "tests/support/ids.h"
#include "tests/support/kept_drops.h"
#include "tests/support/random_drops.h"
#include "tests/support/run_replica.h"
#include "tests/validator/log_latency.h"
#include "tests/validator/sglang_log.h"

namespace kvplan::test {
namespace {

/// Courses with drops that are a function of the request and its prompt.
class LogCourses final : public core::CourseSource {
 public:
  LogCourses(const core::Workload& workload, const LogCase& c) : workload_(workload), case_(c) {}
  [[nodiscard]] static std::shared_ptr<const RandomDrops> drops(const LogCase& c, RequestId r,
                                                                std::int64_t prompt,
                                                                std::int64_t final_tokens) {
    Random tracks(c.tracks, "log tracks");
    Random own(static_cast<std::uint64_t>(r), "log drops");
    return std::make_shared<RandomDrops>(tracks, own, prompt, final_tokens, number(r) % 2 == 0);
  }
  Result<const core::Course*> begin(RequestId r, std::int64_t prompt) override {
    const core::CourseShape shape{prompt, workload_.final_tokens(r), layout.alloc_unit_tokens,
                                  layout.returns_alloc_units(),
                                  case_.courses.value_or(core::Placement::kCompact)};
    return (running_[r] = case_.courses ? placed(r, shape) : counted(r, shape)).get();
  }
  void end(RequestId r) override { running_.erase(r); }
  core::MemoryLayout layout;

 private:
  using Made = std::unique_ptr<const core::Course>;
  [[nodiscard]] Made placed(RequestId r, const core::CourseShape& shape) const {
    const auto drops_of = [&](std::int64_t table) {
      return drops(case_, id_at<RequestId>(number(r) + 1000 * table), shape.prompt, shape.final_tokens);
    };
    if (case_.tables == 1) return core::Course::make(shape, drops_of(0));
    std::vector<core::AlikeTables> tables;  // the last two are equal
    for (std::int64_t t = 0; t + 1 < case_.tables; ++t)
      tables.push_back({core::Course::make(shape, drops_of(t)), t + 2 < case_.tables ? 1 : 2});
    return core::make_course_of_tables(std::move(tables));
  }
  [[nodiscard]] Made counted(RequestId r, const core::CourseShape& shape) const {
    Random random(static_cast<std::uint64_t>(r), "kept in a log");
    const auto known = [&](const std::vector<core::CountedUnits>& units) {
      return case_.tells_tokens ? std::make_shared<KeptDrops>(random, shape.prompt, shape.final_tokens, units)
                                : nullptr;
    };
    if (case_.tables == 1) return core::make_counted_course(shape, case_.counted, known(case_.counted));
    std::vector<core::AlikeTables> tables;
    for (const auto& [kept, units] : case_.counted)
      tables.push_back({core::make_counted_course(shape, {{kept, 1}}, known({{kept, 1}})), units});
    return core::make_course_of_tables(std::move(tables));
  }

  const core::Workload& workload_;
  const LogCase& case_;
  std::map<RequestId, std::unique_ptr<const core::Course>> running_;
};

}  // namespace

std::string log_of_run(const traces::Trace& trace, const LogCase& c, Stepping stepping) {
  if (c.sglang) return log_of_sglang_run(trace, c, stepping);
  auto built = c.unit_latency ? Result<core::Workload>(kvplan::workload::build_step_workload(trace, 50))
                              : kvplan::workload::build_workload(trace, {}, -1);
  KVPLAN_CHECK(built.ok());
  core::Workload workload = std::move(built).value();
  if (c.answers) hold_answers(trace.prefix, workload);
  std::vector<std::int32_t> priorities;
  // Later requests mostly have higher priorities; otherwise the last one by priority is nearly always the youngest.
  const std::size_t requests = workload.input.size();
  for (std::size_t i = 0; c.scheduler.by_priority && i < requests; ++i)
    priorities.push_back(static_cast<std::int32_t>(Random(i, "priorities in a log").between(-1, 2)) +
                         static_cast<std::int32_t>((requests - i) / 6));
  workload.priority = priorities;
  const bool follows = c.courses || !c.counted.empty();
  if (follows && !c.courses_find) workload.prefix = nullptr;
  std::vector<std::int32_t> track_units;
  for (const auto& [kept, units] : c.counted)
    track_units.insert(track_units.end(), static_cast<std::size_t>(std::max<std::int64_t>(units, 1)),
                       units == 0 ? 0 : 1);
  if (c.courses) {
    const auto sample = LogCourses::drops(c, 0_r, 1, 1);
    for (std::int64_t t = 0; t < c.tables; ++t)
      track_units.insert(track_units.end(), sample->track_units().begin(), sample->track_units().end());
  }
  const std::int64_t cells =
      follows ? std::accumulate(track_units.begin(), track_units.end(), std::int64_t{0}) : 1;
  const model::ModelShape mixed{
      .name = "mixed",
      .source = "made up",
      .layers = 4,
      .runs = {{2, {.kind = model::CacheKind::kHeads, .heads = 3, .key_size = 1024, .value_size = 1024}},
               {2, {.kind = model::CacheKind::kLatent, .latent_size = 4000, .rope_size = 96}}}};
  const auto seeing = [&](std::int64_t layers, std::int64_t window) {
    return model::LayerRun{layers, {.heads = 1, .key_size = 1, .value_size = 1, .window = window}};
  };
  model::ModelShape windows{.name = "windows",
                            .source = "made up",
                            .layers = 7,
                            .runs = {seeing(2, 0), seeing(3, c.windows[0]), seeing(2, c.windows[1])}};
  if (c.state_bytes > 0) {
    windows.layers = 12;
    windows.runs.push_back({5, {.kind = model::CacheKind::kNone, .state_bytes = c.state_bytes}});
  }
  const auto choice = parse_component(c.allocator, "allocator", memory::allocator_descriptors());
  KVPLAN_CHECK(choice.ok());
  const auto& entry = memory::allocator_entry(choice.value());
  const memory::AllocatorRequest request{
      .workload = &workload,
      .pool = {.tokens = c.pool_tokens, .blocks = c.pool_blocks},
      .token_bytes = c.mixed_model
                         ? mixed.kv_token_bytes()
                         : (c.token_bytes + c.metadata_bytes) * (c.windows_model ? 7 - c.first_layer : cells),
      .cells_per_token = cells,
      .metadata_bytes = c.metadata_bytes * (c.windows_model ? 7 - c.first_layer : 1),
      .tables = c.tables,
      .model = c.mixed_model     ? &mixed
               : c.windows_model ? &windows
                                 : nullptr,
      .first_layer = c.first_layer,
      .step_tokens = c.scheduler.token_budget,
      .prefix_cache = c.prefix_cache && entry.shares_prefixes && (!follows || c.courses_find),
      .max_model_len = c.scheduler.max_model_len};
  const auto make = stepping == Stepping::kNaive ? entry.make_model : entry.make;
  const auto allocator = make(choice.value(), request);
  KVPLAN_CHECK(allocator.ok());

  observe::Ledger ledger(workload, allocator.value()->layout(), c.keep, {});
  const io::EventLogOptions options{.workload = &workload,
                                    .layout = allocator.value()->layout(),
                                    .prefix_cache = request.prefix_cache,
                                    .rules = {.by_priority = c.scheduler.by_priority},
                                    .keep = c.keep,
                                    .track_units = track_units,
                                    .reuse = c.courses == core::Placement::kReuse,
                                    .compacts = !c.counted.empty(),
                                    .counted = !c.counted.empty() && !c.tells_tokens,
                                    .prompt_rows = c.courses_find ? c.prompt_rows : 0,
                                    .allocator = choice.value().to_string(),
                                    .scenario = "{}",
                                    .trace_digest = "0123456789abcdef",
                                    .writer = "test"};
  std::string bytes;
  io::EventLogWriter writer(
      [&](std::string_view more) -> Status {
        bytes += more;
        return Done{};
      },
      options, [&] { return ledger.bytes(); });
  const LogLatency latency(c);
  const std::array<core::Observer*, 2> observers{&ledger, &writer};
  LogCourses courses(workload, c);
  courses.layout = allocator.value()->layout();
  const core::ReplicaSetup run{.workload = &workload,
                               .keep = c.keep,
                               .keeps_nothing = entry.keeps_nothing,
                               .courses = follows ? &courses : nullptr,
                               .courses_find = c.courses_find,
                               .prompt_rows = c.prompt_rows,
                               .latency = &latency.model(),
                               .observers = observers};
  KVPLAN_CHECK(
      test::serve_alone(run, c.scheduler, *allocator.value(), workload.order, stepping == Stepping::kNaive)
          .ok());
  KVPLAN_CHECK(writer.close().ok());
  return bytes;
}

traces::Trace random_trace(std::uint64_t seed) {
  Random random(seed, "small trace");
  traces::Trace trace;
  trace.prefix.block_tokens = 32;
  trace.prefix.offsets.push_back(0);
  const std::int64_t requests = random.between(20, 60);
  const std::int64_t families = random.between(1, 4);
  // Ids are chained: the prompts of a family are equal up to a depth, then differ.
  std::vector<std::vector<std::uint32_t>> roots(static_cast<std::size_t>(families));
  std::uint32_t ids = 0;
  for (auto& root : roots)
    for (int i = 0; i < 5; ++i) root.push_back(ids++);
  std::int64_t now_ns = 0;
  for (std::int64_t r = 0; r < requests; ++r) {
    now_ns += random.chance(1, 3) ? 0 : random.between(0, 60) * 1'000;
    const std::int64_t input = random.between(1, random.chance(1, 4) ? 300 : 120);
    trace.arrival_ns.push_back(now_ns);
    trace.input_tokens.push_back(static_cast<std::int32_t>(input));
    trace.output_tokens.push_back(
        static_cast<std::int32_t>(random.between(1, random.chance(1, 5) ? 200 : 60)));
    const auto& root = roots[random.below(roots.size())];
    const auto common = static_cast<std::int64_t>(random.below(root.size() + 1));
    for (std::int64_t i = 0; i < ceil_div(input, 32); ++i)
      trace.prefix.ids.push_back(i < common ? root[static_cast<std::size_t>(i)] : ids++);
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
  }
  trace.prefix.distinct = ids;
  return trace;
}

const traces::Trace& micro_trace() {
  static const traces::Trace trace =
      read_mooncake(std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/engines/micro_trace.jsonl");
  return trace;
}

WholeLog read_log(const std::string& bytes) {
  auto reader = event_log::Reader::open(std::make_unique<std::istringstream>(bytes), "memory");
  KVPLAN_CHECK(reader.ok());
  WholeLog log{reader.value()->header(), {}};
  while (true) {
    auto record = reader.value()->next();
    KVPLAN_CHECK(record.ok());
    if (!record.value()) return log;
    log.records.push_back(std::move(*std::move(record).value()));
  }
}

std::string write_log(const WholeLog& log) {
  std::string bytes;
  event_log::Encoder encoder([&](std::string_view more) -> Status {
    bytes += more;
    return Done{};
  });
  KVPLAN_CHECK(encoder.begin(log.header).ok());
  for (const auto& record : log.records) KVPLAN_CHECK(encoder.add(record).ok());
  KVPLAN_CHECK(encoder.finish().ok());
  return bytes;
}

}  // namespace kvplan::test
