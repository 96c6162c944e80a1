#include "validator/kernels/machine.h"

namespace kvplan::validator {

Result<std::unique_ptr<Machine>> make_cuda_machine() {
  return bad_input("this program was built without CUDA: no compiler for it was found").at_field("--backend");
}

}  // namespace kvplan::validator
