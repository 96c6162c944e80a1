#include "tests/validator/replays.h"

namespace kvplan::test {

validator::Report replay(const WholeLog& log, validator::Backend& backend, std::int64_t full_scan_every) {
  auto created = validator::Replay::create(log.header, backend, {.full_scan_every = full_scan_every});
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

validator::Report replay(const WholeLog& log, std::int64_t full_scan_every) {
  const auto host = validator::make_host_backend();
  return replay(log, *host, full_scan_every);
}

}  // namespace kvplan::test
