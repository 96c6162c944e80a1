// A second implementation of SGLang's scheduler (sgl-project/sglang v0.5.5, commit 0c006b8809:
// python/sglang/srt/managers/scheduler.py, schedule_policy.py, schedule_batch.py; without overlap). It is written to be
// compared with its definition, the steps of README.md: lists are copied and sorted, sums are computed anew each time.
// It is the reference for scheduler.h and its parts, and shares only the settings with them.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/scheduling/sglang/naive_memory.h"
#include "simulator/scheduling/sglang/params.h"

namespace kvplan::scheduling::sglang {

struct NaiveRequest {
  RequestId id{0};
  std::int64_t prompt{0};     ///< tokens
  std::int64_t max_new{0};    ///< most output tokens that its client allows
  std::int64_t output{0};     ///< its output tokens, unless max_new is less
  std::int64_t generated{0};  ///< output tokens so far
  std::int64_t fill{0};       ///< tokens in the cache after its latest prefill batch
  NaiveHolding held{};        ///< nothing while it waits

  /// Prompt plus output so far: tokens that must be in the cache before the next token.
  [[nodiscard]] std::int64_t known() const { return prompt + generated; }
  /// Tokens of a running request in the cache: all but the last generated one.
  [[nodiscard]] std::int64_t written() const { return generated > 0 ? known() - 1 : prompt; }
  [[nodiscard]] bool ended() const { return generated > 0 && (generated >= output || generated >= max_new); }
};

/// What one step does.
struct NaiveStep {
  enum class Kind { kPrefill, kDecode, kIdle };
  /// Tokens [from, from + tokens) of a request are computed.
  struct Piece {
    NaiveRequest* request;
    std::int64_t from;
    std::int64_t tokens;
    std::int64_t first_page;  ///< index in its table of the first page that it takes for them
    std::int64_t pages;
    bool admitted;  ///< it was admitted from the queue; its first `from` tokens were hits
  };
  struct Retracted {
    NaiveRequest* request;
    std::int64_t written, pages, tree_tokens;  ///< that it held when it was retracted
  };

  Kind kind{Kind::kIdle};
  std::vector<Piece> batch;
  std::vector<Retracted> retracted;  ///< before the others decode
  bool refused{false};               ///< memory was too short for a request of the queue, or for decoding
};

class NaiveScheduler {
 public:
  /// The memory outlives the scheduler; only the scheduler changes it.
  NaiveScheduler(const Params& params, NaiveMemory& memory);

  /// Appends to the queue.
  void join(const NaiveRequest& request);
  /// Decides a step and takes its memory. The result is valid until the next step.
  const NaiveStep& begin_step();
  /// The requests that get a token when this step ends, in batch order.
  [[nodiscard]] std::vector<NaiveRequest*> due() const;
  /// The step ends for one request: it gets its token; after its last token its memory is freed.
  void give_token(NaiveRequest& request);

  [[nodiscard]] const std::vector<NaiveRequest*>& waiting() const { return waiting_; }
  /// The running requests, including those that ended in the latest decode step.
  [[nodiscard]] const std::vector<NaiveRequest*>& running() const { return running_; }
  /// The requests of the running batch and of the latest prefill batch that have not ended.
  [[nodiscard]] std::vector<NaiveRequest*> served() const;
  /// The request in the middle of its chunked prefill, or null.
  [[nodiscard]] NaiveRequest* chunked() const { return chunked_; }
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] double ratio() const { return ratio_; }

 private:
  enum class Answer { kContinue, kNoToken, kOther };
  struct End {
    std::int64_t left;      // tokens until it ends
    std::int64_t occupied;  // tokens that it occupies now
  };
  /// An attempt to form a prefill batch: the requests that joined it, and the budgets that are left for other requests.
  struct Attempt {
    std::vector<NaiveRequest*> batch;
    NaiveRequest* cut{nullptr};  // member of the batch that joined with only a part of its prompt
    std::int64_t input_left;     // rest of max_prefill_tokens
    std::int64_t chunk_left;     // rest of chunk_tokens
    // tokens, of all that are free or evictable, that are reserved for the batch and for running requests
    double kept_total{0};
    std::int64_t kept_current{0};  // reserved for what the batch computes
    // running requests and candidates so far, sorted by when each ends (ask_by_ends)
    std::vector<End> ends{};
    bool ends_begun{false};
  };

  void take_over_prefill();
  bool form_prefill_batch();
  void order_queue();
  void go_on(Attempt& attempt);
  Answer ask(Attempt& attempt, NaiveRequest& request);
  Answer ask_by_share(Attempt& attempt, NaiveRequest& request);
  Answer ask_by_ends(Attempt& attempt, NaiveRequest& request);
  [[nodiscard]] double remaining_total(const Attempt& attempt) const;
  [[nodiscard]] std::int64_t remaining_current(const Attempt& attempt) const;
  void charge(Attempt& attempt, std::int64_t tokens, std::int64_t new_tokens) const;
  [[nodiscard]] Answer answer_now(const Attempt& attempt) const;
  void prefill(const Attempt& attempt, std::size_t from_before);
  void decode();
  bool room_for_all(const std::vector<NaiveRequest*>& requests);
  void retract();
  void take_pages(NaiveRequest& request, std::int64_t from, std::int64_t to, bool admitted);
  [[nodiscard]] std::int64_t in_pages(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t clipped(std::int64_t tokens) const;

  Params params_;
  NaiveMemory& memory_;
  double first_ratio_, least_ratio_, decay_;
  double ratio_;                      // reserved share of the tokens that running requests may still generate
  std::list<NaiveRequest> requests_;  // all requests that ever joined; addresses stay valid
  std::vector<NaiveRequest*> waiting_;
  std::vector<NaiveRequest*> running_;
  std::vector<NaiveRequest*> prefilled_;  // members of the latest step, if it was a prefill
  bool full_{false};                      // no request is admitted until one ends or is retracted
  NaiveRequest* chunked_{nullptr};
  NaiveStep step_;
};

}  // namespace kvplan::scheduling::sglang
