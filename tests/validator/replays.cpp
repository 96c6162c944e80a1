#include "tests/validator/replays.h"

#include <sstream>

#include "simulator/io/log/reader.h"
#include "validator/replay/fleet_replay.h"

namespace kvplan::test {
namespace {

/// `created`: a Replay or a FleetReplay.
template <class Created>
validator::Report run_through(const WholeLog& log, const Created& created) {
  validator::Report failed;
  if (!created.ok()) {
    failed.first_problem = created.error().to_string();
    return failed;
  }
  for (const auto& record : log.records) {
    const auto status = created.value()->apply(record);
    if (status.ok()) continue;
    failed.first_problem = status.error().to_string();
    return failed;
  }
  auto report = created.value()->finish();
  if (report.ok()) return std::move(report).value();
  failed.first_problem = report.error().to_string();
  return failed;
}

}  // namespace

validator::Report replay(const WholeLog& log, validator::Backend& backend, std::int64_t full_scan_every) {
  return run_through(log,
                     validator::Replay::create(log.header, backend, {.full_scan_every = full_scan_every}));
}

validator::Report replay(const WholeLog& log, const validator::BackendMaker& make_backend,
                         std::int64_t full_scan_every) {
  return run_through(
      log, validator::FleetReplay::create(log.header, make_backend, {.full_scan_every = full_scan_every}));
}

validator::Report replay(const WholeLog& log, std::int64_t full_scan_every) {
  const auto host = validator::make_host_backend();
  if (log.header.replicas == 1) return replay(log, *host, full_scan_every);
  const validator::BackendMaker make = [] {
    return Result<std::unique_ptr<validator::Backend>>(validator::make_host_backend());
  };
  return replay(log, make, full_scan_every);
}

bool readable(const WholeLog& log) {
  auto reader = event_log::Reader::open(std::make_unique<std::istringstream>(write_log(log)), "changed.kve");
  if (!reader.ok()) return false;
  while (true) {
    const auto record = reader.value()->next();
    if (!record.ok()) return false;
    if (!record.value()) return true;
  }
}

}  // namespace kvplan::test
