#include "validator/device/device.h"

namespace kvplan::validator {

Result<std::unique_ptr<Device>> make_cuda_device() {
  return bad_input("this program was built without CUDA: no CUDA compiler was found").at_field("--backend");
}

}  // namespace kvplan::validator
