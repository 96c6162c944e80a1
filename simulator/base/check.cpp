#include "simulator/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kvplan {

void check_failed(const char* condition, const char* file, int line, CheckNumber a, CheckNumber b,
                  CheckNumber c) noexcept {
  std::fprintf(stderr, "kvplan: broken invariant: %s (%s:%d; %lld, %lld, %lld)\n", condition, file, line,
               static_cast<long long>(a.value), static_cast<long long>(b.value),
               static_cast<long long>(c.value));
  std::abort();
}

}  // namespace kvplan
