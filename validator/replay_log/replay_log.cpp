#include "validator/replay_log/replay_log.h"

#include "simulator/base/program.h"
#include "simulator/io/log/reader.h"
#include "validator/device/device.h"
#include "validator/replay/fleet_replay.h"

namespace kvplan::validator {
namespace {

struct Wish {
  const std::string& path;
  const std::string& backend;
  const ReplayOptions& options;
};

Result<std::unique_ptr<Backend>> make_backend(const std::string& name) {
  if (name == "host") return make_host_backend();
  if (name == "fake") return make_device_backend(make_fake_device());
  KVPLAN_TRY(std::unique_ptr<Device> device, make_cuda_device());
  return make_device_backend(std::move(device));
}

/// Which replicas have different bytes, or else different claims; or that only the sums differ. Empty if there is one
/// replica.
std::string place_of(const Report& report) {
  std::string numbers;
  for (std::size_t i = 0; i < report.replicas.size(); ++i) {
    const Report& own = report.replicas[i];
    const bool differs = report.byte_mismatches > 0 ? own.byte_mismatches > 0 : !own.clean();
    if (differs) numbers += (numbers.empty() ? "" : ", ") + std::to_string(i);
  }
  if (!numbers.empty())
    return (numbers.find(',') == std::string::npos ? " of replica " : " of replicas ") + numbers;
  return report.replicas.empty() ? "" : " over all replicas";
}

/// To its end.
template <class Replaying>
Result<Report> read_into(event_log::Reader& reader, Replaying& replaying) {
  while (true) {
    if (interrupted()) return interrupted_error();
    KVPLAN_TRY(const auto record, reader.next());
    if (!record) return replaying.finish();
    KVPLAN_TRY_DO(replaying.apply(*record));  // after a contradiction the rest is read, for its checksums
  }
}

Result<ReplayedLog> replay_one(event_log::Reader& reader, const Wish& wish) {
  KVPLAN_TRY(const auto backend, make_backend(wish.backend));
  auto created = Replay::create(reader.header(), *backend, wish.options);
  if (!created.ok()) return std::move(created).error().at_file(wish.path);
  KVPLAN_TRY(Report report, read_into(reader, *created.value()));
  return ReplayedLog{reader.header(), std::move(report), backend->device()};
}

Result<ReplayedLog> replay_several(event_log::Reader& reader, const Wish& wish) {
  bool made = true;  // otherwise the log has no part in the error
  const auto make = [&]() -> Result<std::unique_ptr<Backend>> {
    auto backend = make_backend(wish.backend);
    made = backend.ok();
    return backend;
  };
  auto created = FleetReplay::create(reader.header(), make, wish.options);
  if (!created.ok() && !made) return std::move(created).error();
  if (!created.ok()) return std::move(created).error().at_file(wish.path);
  KVPLAN_TRY(Report report, read_into(reader, *created.value()));
  return ReplayedLog{reader.header(), std::move(report), created.value()->device()};
}

}  // namespace

std::string verdict_of(const Report& report) {
  if (report.clean()) return "equal";
  if (report.contradiction) return "events contradict each other";
  return report.byte_mismatches > 0 ? "bytes" + place_of(report) + " differ"
                                    : "claims" + place_of(report) + " differ";
}

Result<ReplayedLog> replay_log(const std::string& path, const std::string& backend,
                               const ReplayOptions& options) {
  KVPLAN_TRY(const auto reader, event_log::Reader::open(path));
  const Wish wish{path, backend, options};
  return reader->header().replicas > 1 ? replay_several(*reader, wish) : replay_one(*reader, wish);
}

}  // namespace kvplan::validator
