// SGLang's scheduler once more (sgl-project/sglang v0.5.5, commit 0c006b8809: python/sglang/srt/managers/scheduler.py,
// schedule_policy.py, schedule_batch.py; without overlap), written to be read beside its definition, the steps of
// README.md: lists are copied and sorted as the words say, sums are made anew each time. The yardstick for scheduler.h
// and its parts, with which it shares its settings and nothing else.
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
  std::int64_t max_new{0};    ///< output tokens that its client allows
  std::int64_t output{0};     ///< output tokens that it will have, unless max_new is less
  std::int64_t generated{0};  ///< output tokens so far
  std::int64_t fill{0};       ///< tokens in the cache after its latest prefill batch
  NaiveHolding held{};        ///< nothing while it waits

  /// Prompt and output so far: what has to be in the cache before the next token.
  [[nodiscard]] std::int64_t known() const { return prompt + generated; }
  /// Of a running request, tokens in the cache: all but the last one generated.
  [[nodiscard]] std::int64_t written() const { return generated > 0 ? known() - 1 : prompt; }
  [[nodiscard]] bool ended() const { return generated > 0 && (generated >= output || generated >= max_new); }
};

/// What one step does.
struct NaiveStep {
  enum class Kind { kPrefill, kDecode, kIdle };
  /// The tokens [from, from + tokens) of a request are computed.
  struct Piece {
    NaiveRequest* request;
    std::int64_t from;
    std::int64_t tokens;
    std::int64_t first_page;  ///< of its table, of those that it takes for that
    std::int64_t pages;
    bool admitted;  ///< it comes from the queue; `from` tokens were found cached
  };
  struct Retracted {
    NaiveRequest* request;
    std::int64_t written, pages, tree_tokens;  ///< that it held
  };

  Kind kind{Kind::kIdle};
  std::vector<Piece> batch;
  std::vector<Retracted> retracted;  ///< before the others decode
  bool refused{false};               ///< memory was too short for whoever was asked to join, or to decode
};

class NaiveScheduler {
 public:
  /// The memory outlives the scheduler, which alone changes it.
  NaiveScheduler(const Params& params, NaiveMemory& memory);

  /// At the end of the queue.
  void join(const NaiveRequest& request);
  /// Decides, and takes memory. What it returns is good until the next step.
  const NaiveStep& begin_step();
  /// Of the step that has begun, in the order of its batch: those who get a token when it ends.
  [[nodiscard]] std::vector<NaiveRequest*> due() const;
  /// The step ends for one of them: it gets its token, and if that was its last, its memory comes back.
  void give_token(NaiveRequest& request);

  [[nodiscard]] const std::vector<NaiveRequest*>& waiting() const { return waiting_; }
  /// Those that ended in the latest decode step included.
  [[nodiscard]] const std::vector<NaiveRequest*>& running() const { return running_; }
  /// Those of the running and of the latest prefill batch that have not ended.
  [[nodiscard]] std::vector<NaiveRequest*> served() const;
  /// In the middle of its prefill, or null.
  [[nodiscard]] NaiveRequest* chunked() const { return chunked_; }
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] double ratio() const { return ratio_; }

 private:
  enum class Answer { kContinue, kNoToken, kOther };
  struct End {
    std::int64_t left;      // tokens until it ends
    std::int64_t occupied;  // tokens that it has now
  };
  /// An attempt to form a prefill batch: who has joined, and what is left for others.
  struct Attempt {
    std::vector<NaiveRequest*> batch;
    NaiveRequest* cut{nullptr};  // of the batch: joined without its end
    std::int64_t input_left;     // of max_prefill_tokens
    std::int64_t chunk_left;     // of chunk_tokens
    double kept_total{0};  // of all that is free or can be evicted: for the batch, and for those who run
    std::int64_t kept_current{0};  // for what the batch computes
    std::vector<End> ends{};       // who runs, and whoever was asked, by when each ends (ask_by_ends)
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
  double ratio_;  // of what running requests may still generate, the share that is kept free
  std::list<NaiveRequest> requests_;  // all that ever joined, where they stay
  std::vector<NaiveRequest*> waiting_;
  std::vector<NaiveRequest*> running_;
  std::vector<NaiveRequest*> prefilled_;  // in the latest step, if that was a prefill
  bool full_{false};                      // nobody is admitted until somebody ends or is retracted
  NaiveRequest* chunked_{nullptr};
  NaiveStep step_;
};

}  // namespace kvplan::scheduling::sglang
