#include "simulator/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kvplan {

void check_failed(const char* condition, const char* file, int line, std::int64_t a, std::int64_t b,
                  std::int64_t c) noexcept {
  std::fprintf(stderr, "kvplan: broken invariant: %s (%s:%d; %lld, %lld, %lld)\n", condition, file, line,
               static_cast<long long>(a), static_cast<long long>(b), static_cast<long long>(c));
  std::abort();
}

}  // namespace kvplan
