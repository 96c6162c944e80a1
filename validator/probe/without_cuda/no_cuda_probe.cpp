#include "validator/probe/probe_device.h"

namespace kvplan::validator {

Result<std::unique_ptr<ProbeDevice>> make_cuda_probe() {
  return bad_input("no CUDA device to measure: this program was built without CUDA");
}

}  // namespace kvplan::validator
