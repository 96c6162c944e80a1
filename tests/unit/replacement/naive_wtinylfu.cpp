// A model of W-TinyLFU: lists, and a sketch of how often an id was used.
#include <algorithm>

#include "tests/unit/replacement/naive.h"

namespace kvplan::replacement::testing {
namespace {

/// A count-min sketch with one counter after the other.
class Sketch {
 public:
  explicit Sketch(const Room& room) : width_(16), period_(10 * room.capacity) {
    while (width_ < static_cast<std::uint64_t>(std::min<std::int64_t>(room.capacity, room.ids))) width_ *= 2;
    counters_.assign(4 * width_, 0);
  }
  void add(Id id) {
    for (std::uint64_t row = 0; row < 4; ++row)
      counters_[at(row, id)] = std::min(15, counters_[at(row, id)] + 1);
    if (++added_ % period_ == 0)
      for (int& counter : counters_) counter /= 2;
  }
  [[nodiscard]] int estimate(Id id) const {
    int least = 15;
    for (std::uint64_t row = 0; row < 4; ++row) least = std::min(least, counters_[at(row, id)]);
    return least;
  }

 private:
  [[nodiscard]] std::size_t at(std::uint64_t row, Id id) const {
    std::uint64_t z = std::uint64_t{id} + (row + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return row * width_ + (z ^ (z >> 31)) % width_;
  }
  std::uint64_t width_;
  std::int64_t period_, added_{0};
  std::vector<int> counters_;
};

class NaiveWTinyLfu final : public Naive {
 public:
  NaiveWTinyLfu(const Choice& choice, const Room& room)
      : most_window_(std::max<std::int64_t>(1, part(choice, "window", room.capacity))),
        most_protected_(part(choice, "protected", room.capacity - most_window_)),
        sketch_(room) {}
  [[nodiscard]] bool resident(Id id) const override {
    return in(window_, id) || in(probation_, id) || in(protected_, id);
  }
  [[nodiscard]] std::int64_t size() const override {
    return count(window_) + count(probation_) + count(protected_);
  }
  void touch(const Use& use) override {
    sketch_.add(use.id);
    if (in(window_, use.id)) {
      renew(window_, use.id);
      return;
    }
    erase(use.id);
    protected_.push_back(use.id);
    shift(protected_, most_protected_);
  }
  void unpin(const Use& use) override {
    renew(in(window_, use.id) ? window_ : in(probation_, use.id) ? probation_ : protected_, use.id);
  }
  void insert(const Use& use) override {
    sketch_.add(use.id);
    window_.push_back(use.id);
    shift(window_, most_window_);
  }
  Id evict(const Use& /*incoming*/, const May& may) override {
    const Id candidate = first_that(window_, may);
    Id victim = first_that(probation_, may);
    if (victim == kNoId) victim = first_that(protected_, may);
    const bool full = count(window_) >= most_window_;
    if (victim == kNoId) {
      victim = candidate;
    } else if (full && candidate != kNoId) {
      if (sketch_.estimate(candidate) > sketch_.estimate(victim)) {
        take(window_, candidate);
        probation_.push_back(candidate);
      } else {
        victim = candidate;
      }
    }
    erase(victim);
    return victim;
  }
  void erase(Id id) override {
    take(window_, id);
    take(probation_, id);
    take(protected_, id);
  }

 private:
  void shift(List& from, std::int64_t most) {
    while (count(from) > most) {
      const Id id = from.front();
      from.erase(from.begin());
      probation_.push_back(id);
    }
  }
  std::int64_t most_window_, most_protected_;
  List window_, probation_, protected_;
  Sketch sketch_;
};

}  // namespace

std::unique_ptr<Naive> make_naive_wtinylfu(const Choice& choice, const Room& room) {
  return std::make_unique<NaiveWTinyLfu>(choice, room);
}

}  // namespace kvplan::replacement::testing
