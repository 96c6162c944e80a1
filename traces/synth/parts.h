// The four parts of a synthetic workload, one family of components each: when requests arrive, how long they are, which
// beginnings their prompts share, and what follows a request. A member is one file FAMILY_NAME.cpp with an entry, and
// one line in FAMILY.cpp; `kvplan list` and `explain` show it from its descriptor.
//
// Each part draws from its own stream, so changing one of them does not change the others. It produces one value after
// the other without knowing how many will be needed: the first n requests of a longer workload are those of a shorter
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "simulator/base/component.h"
#include "simulator/base/random.h"
#include "simulator/base/result.h"
#include "traces/io/input.h"

namespace kvplan::traces {

/// The input of a part in addition to its choice.
struct PartContext {
  Random random;     ///< a stream of its own
  ReadHook on_read;  ///< called for reads of the part's files (traces/io/input.h)
};

struct RequestLengths {
  std::int32_t input{0};
  std::int32_t output{0};
};

/// The arrival of a request, or of the first one of a session.
struct Arrival {
  std::int64_t at_ns{0};    ///< since the workload's begin
  std::int32_t client{-1};  ///< the client that sends it, if the process knows; else -1
  RequestLengths lengths;   ///< set if the process `has_lengths`
};

/// When requests arrive. Times never decrease and may be equal.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  /// False if there are no more; then it must not be called again. Errors: a time that does not fit.
  virtual Result<bool> next(Arrival& arrival) = 0;
  /// True: each arrival has its own lengths.
  [[nodiscard]] virtual bool has_lengths() const { return false; }
  /// True: the number of arrivals is limited.
  [[nodiscard]] virtual bool ends() const { return false; }
};
struct ArrivalsEntry {
  Descriptor descriptor;
  Result<std::unique_ptr<ArrivalProcess>> (*make)(const Choice&, const PartContext&);
};

/// How long requests are.
class LengthSource {
 public:
  virtual ~LengthSource() = default;
  virtual RequestLengths draw(const Arrival& arrival) = 0;
  /// A lower bound of prompt lengths, used to reject impossible requests in advance.
  [[nodiscard]] virtual std::int64_t least_input() const { return 0; }
};
struct LengthsEntry {
  Descriptor descriptor;
  Result<std::unique_ptr<LengthSource>> (*make)(const Choice&, const PartContext&);
  bool from_arrivals{false};  ///< requires an arrival process with lengths
};

/// The shared beginning of a prompt: its first `tokens` tokens are those of the group.
struct SharedPrefix {
  std::int32_t group{-1};  ///< -1 = none
  std::int32_t tokens{0};
  bool added{true};  ///< true: they are added to the drawn length; false: they are part of it
};
class PrefixSource {
 public:
  virtual ~PrefixSource() = default;
  virtual SharedPrefix draw() = 0;
  /// Largest number of shared tokens that are part of a drawn prompt.
  [[nodiscard]] virtual std::int64_t most_included() const { return 0; }
};
struct PrefixesEntry {
  Descriptor descriptor;
  Result<std::unique_ptr<PrefixSource>> (*make)(const Choice&, const PartContext&);
};

/// The time of the next turn of a session.
struct NextTurn {
  std::int64_t after_ns;  ///< from arrival to arrival, if the answer takes as long as the source assumes
  std::int64_t think_ns;  ///< the part of it after the end of the answer: the pause
};

/// Decides what follows a request: nothing, or another turn of its session. The prompt of a later turn is the whole
/// conversation and new tokens, or fresh (`remembers`).
class TurnSource {
 public:
  virtual ~TurnSource() = default;
  /// What follows the session's `turn`-th request (the first is 1), which is answered with `output` tokens; nullopt
  /// if nothing does. `session` is the session's own stream.
  virtual std::optional<NextTurn> next(Random& session, std::int64_t turn, std::int32_t output) = 0;
  /// A session ends before a prompt and its answer would be longer than this.
  [[nodiscard]] virtual std::int64_t most_tokens() const = 0;
  /// False: the prompt of a later turn holds nothing of the turns before it but the shared beginning.
  [[nodiscard]] virtual bool remembers() const { return true; }
  /// False: nothing ever follows, and requests have no sessions.
  [[nodiscard]] virtual bool has_sessions() const { return true; }
};
struct TurnsEntry {
  Descriptor descriptor;
  Result<std::unique_ptr<TurnSource>> (*make)(const Choice&);
};

Catalogue arrivals_descriptors();
Catalogue lengths_descriptors();
Catalogue prefixes_descriptors();
Catalogue turns_descriptors();
/// REQUIRES: the choice is of the family.
const ArrivalsEntry& arrivals_entry(const Choice& choice);
const LengthsEntry& lengths_entry(const Choice& choice);
const PrefixesEntry& prefixes_entry(const Choice& choice);
const TurnsEntry& turns_entry(const Choice& choice);

// For members:

/// A clock that sums real numbers of nanoseconds without drift, in steps of 2^-20 ns.
class FineClock {
 public:
  /// Errors: the sum is more than 2^63 - 1 ns. REQUIRES: gap_ns is not negative; infinity is too much.
  Status advance(double gap_ns);
  [[nodiscard]] std::int64_t ns() const { return static_cast<std::int64_t>(steps_ >> 20); }

 private:
  __extension__ typedef __int128 Steps;
  Steps steps_{0};
};
/// "arrivals would be later than 292 years after the first".
Error too_late();

/// A length as drawn from a real distribution: the nearest whole number of tokens, 1 to `most`.
std::int32_t whole_tokens(double length, std::int64_t most);

// Parameters that several members have.
constexpr Param whole_param(std::string_view name, std::string_view help, Unit unit,
                            std::string_view fallback, double low, double high) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kInteger,
          .unit = unit,
          .fallback = fallback,
          .low = low,
          .high = high,
          .choices = {}};
}
constexpr Param decimal_param(std::string_view name, std::string_view help, Unit unit,
                              std::string_view fallback, double low, double high) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = unit,
          .fallback = fallback,
          .low = low,
          .high = high,
          .choices = {}};
}
constexpr Param text_param(std::string_view name, std::string_view help, std::string_view fallback,
                           std::span<const std::string_view> choices = {}) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kText,
          .unit = Unit::kNone,
          .fallback = fallback,
          .low = 0,
          .high = 0,
          .choices = choices};
}
/// Longest prompt or output that a distribution gives.
inline constexpr double kMostTokens = 16'777'216;
constexpr Param rate_param(std::string_view help) {
  return decimal_param("rate_per_s", help, Unit::kNone, "", 1e-6, 1e9);
}

}  // namespace kvplan::traces
