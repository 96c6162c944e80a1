#include "validator/kernels/fake_machine.h"

#include <utility>

namespace kvplan::validator {
namespace {

class FakeMachine final : public Machine {
 public:
  FakeMachine(const MachineFaults& faults, MachineWatch& watch)
      : faults_(faults), watch_(&watch), host_(make_host_machine(1)), facts_(host_->facts()) {
    facts_.name = "fake device";
    facts_.kernel_build = "fake";
    facts_.shared_bytes = 1 << 20;
  }

  [[nodiscard]] const MachineFacts& facts() const override { return facts_; }
  Result<std::optional<Telemetry>> telemetry() override {
    return std::optional<Telemetry>{{.sm_clock_mhz = 1000}};
  }
  Result<std::int64_t> free_bytes() override { return std::int64_t{1} << 30; }

  Result<void*> allocate(Place place, std::int64_t bytes) override {
    if (++watch_->allocations == faults_.no_memory_at)
      return bad_input("fake: no memory for " + std::to_string(bytes) + " bytes");
    KVPLAN_TRY(void* const memory, host_->allocate(place, bytes));
    ++watch_->live;
    return memory;
  }
  void release(Place place, void* memory) override {
    --watch_->live;
    host_->release(place, memory);
  }
  Status upload(void* to, const void* from, std::int64_t bytes) override {
    KVPLAN_TRY_DO(call());
    return host_->upload(to, from, bytes);
  }
  Status download(void* to, const void* from, std::int64_t bytes) override {
    KVPLAN_TRY_DO(call());
    return host_->download(to, from,
                           ++watch_->copies == faults_.short_copy_at && bytes > 0 ? bytes - 1 : bytes);
  }
  Status set(void* to, std::uint8_t byte, std::int64_t bytes) override {
    KVPLAN_TRY_DO(call());
    return host_->set(to, byte, bytes);
  }
  Status make_up(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements) override {
    KVPLAN_TRY_DO(call());
    return host_->make_up(to, of, first, elements);
  }
  Status run(std::span<const Launch> launches) override {
    KVPLAN_TRY_DO(call());
    return host_->run(launches);
  }
  Result<std::unique_ptr<Timed>> prepare(std::span<const Launch> launches) override {
    KVPLAN_TRY_DO(call());
    KVPLAN_TRY(std::unique_ptr<Timed> timed, host_->prepare(launches));
    return std::unique_ptr<Timed>(std::make_unique<FakeTimed>(*this, std::move(timed)));
  }

 private:
  class FakeTimed final : public Timed {
   public:
    FakeTimed(FakeMachine& machine, std::unique_ptr<Timed> timed)
        : machine_(machine), timed_(std::move(timed)) {}
    Result<double> sample() override {
      KVPLAN_TRY_DO(machine_.call());
      KVPLAN_TRY(const double ns, timed_->sample());
      return ++machine_.samples_ == machine_.faults_.slow_at ? 1000 * ns : ns;
    }

   private:
    FakeMachine& machine_;
    std::unique_ptr<Timed> timed_;
  };

  Status call() {
    if (++watch_->calls < faults_.lost_at || faults_.lost_at == 0) return Done{};
    return bad_input("fake: the device is lost");
  }
  MachineFaults faults_;
  std::int64_t samples_{0};
  MachineWatch* watch_;
  std::unique_ptr<Machine> host_;
  MachineFacts facts_;
};

}  // namespace

std::unique_ptr<Machine> make_fake_machine(const MachineFaults& faults, MachineWatch& watch) {
  return std::make_unique<FakeMachine>(faults, watch);
}

}  // namespace kvplan::validator
