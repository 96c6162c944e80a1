#include <cstring>
#include <new>
#include <vector>

#include "validator/replay/backend.h"

namespace kvplan::validator {
namespace {

class HostBackend final : public Backend {
 public:
  [[nodiscard]] std::string device() const override { return "host memory"; }

  Status reserve(std::int64_t cells) override {
    try {
      cells_.assign(static_cast<std::size_t>(cells), kPoison);
    } catch (const std::bad_alloc&) {
      return bad_input("no memory for " + std::to_string(cells) + " slots of 8 bytes");
    }
    return Done{};
  }
  [[nodiscard]] std::int64_t reserved_bytes() const override {
    return static_cast<std::int64_t>(cells_.size() * sizeof(Stamp));
  }

  Status write(std::span<const Write> writes) override {
    for (const Write& w : writes) {
      Stamp* const first = cells_.data() + w.first_cell;
      for (std::int64_t i = 0; i < w.cells; ++i)
        first[i] = w.poison != 0 ? kPoison : stamp_of(w.content, w.first_offset + i);
    }
    return Done{};
  }

  Status shift(std::span<const Shift> shifts) override {
    for (const Shift& s : shifts)
      std::memmove(cells_.data() + s.to, cells_.data() + s.from,
                   static_cast<std::size_t>(s.cells) * sizeof(Stamp));
    return Done{};
  }

  Result<CellCounts> recount(std::span<const View> views, std::span<const Holding> holdings,
                             std::span<const Mark> marks) override {
    CellCounts sum;
    for (const View& view : views) {
      CellCounts counts =
          count_view(view, holdings.data(), cells_.data() + view.first_cell, marks.data(), 0, 1);
      settle_view(view, counts);
      sum += counts;
    }
    return sum;
  }

 private:
  std::vector<Stamp> cells_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend() {
  return std::make_unique<HostBackend>();
}

}  // namespace kvplan::validator
