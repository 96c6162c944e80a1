#include <ctime>

#include "simulator/base/file_output.h"
#include "validator/kernels/catalogue.h"
#include "validator/kernels/fake_machine.h"
#include "validator/probe/probe.h"
#include "validator/run/commands.h"
#include "validator/run/kernel_calibration.h"

namespace kvplan::validator {

Result<std::unique_ptr<Machine>> make_machine(const std::string& backend) {
  if (backend == "host") return make_host_machine(2);
  if (backend == "cuda") return make_cuda_machine();
  static MachineWatch watch;
  return make_fake_machine({}, watch);
}

Result<std::string> time_of_day() {
  std::timespec now{};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return bad_input("the system clock cannot be read");
  return utc_text(now.tv_sec);
}

Status calibrate(const CalibrateArguments& arguments) {
  std::unique_ptr<ProbeDevice> device;
  std::unique_ptr<Machine> machine;
  if (arguments.backend == "cuda") {
    KVPLAN_TRY(device, make_cuda_probe());
  }
  if (arguments.seconds > 0) {
    if (!arguments.kernel.empty()) KVPLAN_TRY_DO(find_kernel(arguments.kernel));
    KVPLAN_TRY(machine, make_machine(arguments.backend));
  }
  if (device == nullptr && machine == nullptr)
    return bad_input("expected a time above 0: only a CUDA device has more than kernels to measure")
        .at_field("--seconds");
  std::unique_ptr<Output> output;  // before anything is measured
  if (!arguments.output.empty()) {
    KVPLAN_TRY(output, create_file_output(arguments.output));
  }
  KVPLAN_TRY(const std::string now, time_of_day());
  std::string text, json;
  std::vector<MeasuredTable> tables;
  if (device != nullptr) {
    KVPLAN_TRY(const Measured measured, measure(*device, {.quick = arguments.quick, .when = now}));
    text = to_text(measured);
    json = to_json(measured);
    tables = measured.tables;
  }
  if (machine != nullptr) {
    KVPLAN_TRY(const KernelCalibration kernels,
               calibrate_kernels(*machine, usual_cases(machine->facts(), arguments.kernel),
                                 {.seconds = arguments.seconds, .quick = arguments.quick, .when = now}));
    if (device == nullptr) text = machine->facts().name + "\n";
    for (const std::string& line : kernels.text()) text += line + "\n";
    // `swap` is measured twice on a device; kernels have more rows.
    constexpr std::string_view kSwap = "swap";
    std::erase_if(tables, [&](const MeasuredTable& table) { return table.name() == kSwap; });
    json = kernels.json(machine->facts(), std::move(tables));
  }
  if (output != nullptr) {
    KVPLAN_TRY_DO(output->write(json));
    KVPLAN_TRY_DO(output->commit());
  }
  if (arguments.output == "-") return Done{};
  KVPLAN_TRY(const std::unique_ptr<Output> printed, create_file_output("-"));
  KVPLAN_TRY_DO(printed->write(text));
  return printed->commit();
}

}  // namespace kvplan::validator
