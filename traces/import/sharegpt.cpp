// ShareGPT: an array of conversations, {"id", "conversations": [{"from": "human" | "gpt" | ..., "value": text}]}
// (as vllm-project/vllm reads it, vllm/benchmarks/datasets/sharegpt.py).
//
// Every message from gpt is a request: its prompt is everything before it in the conversation, its output the message.
// (vLLM uses only the first two messages of a conversation.) Lengths are estimates, since there are only texts: one
// token per 4 bytes of UTF-8, rounded up once for a whole prompt. A conversation is a session; its turns wait for each
// other, but no times are recorded: all requests arrive at 0.
#include <algorithm>

#include "simulator/base/units.h"
#include "traces/import/document_stream.h"
#include "traces/import/json_cursor.h"
#include "traces/record/oddities.h"

namespace kvplan::traces::sharegpt {
namespace {

constexpr std::int64_t kBytesPerToken = 4;

class ShareGptStream final : public DocumentStream {
 public:
  explicit ShareGptStream(Inputs inputs)
      : DocumentStream(std::move(inputs), "sharegpt", {.turns_wait = true}) {
    summary_.shares_clock = false;
    summary_.provenance.options.emplace_back("tokens=ceil(UTF-8 bytes/4)");
    summary_.provenance.options.emplace_back("arrival=0");
  }

 private:
  struct Message {
    bool answer{false};
    std::int64_t bytes{0};
  };

  Result<bool> read_row() override;
  Status finish(std::int64_t rows) override;
  /// Reads a conversation into `messages_` and `id_`.
  Status read_conversation(std::string_view text);
  /// Returns false if the JSON is broken or `problem_` says what is wrong, at the byte of `cursor`.
  bool read_messages(JsonCursor& cursor);
  bool read_message(JsonCursor& cursor);
  bool read_id(JsonCursor& cursor);

  bool entered_{false};
  std::string id_;
  std::vector<Message> messages_;
  std::size_t at_{0};             ///< the next message of the conversation
  std::int64_t bytes_before_{0};  ///< of the messages before it
  std::string text_;              ///< of one message, without escapes
  std::string problem_;
  std::string_view problem_field_;

  std::int64_t conversations_{0};
  std::int64_t without_answer_{0};
  std::int64_t message_count_{0};
  std::int64_t from_others_{0};
};

Result<bool> ShareGptStream::read_row() {
  for (;;) {
    for (; at_ < messages_.size(); ++at_) {
      const Message message = messages_[at_];
      const std::int64_t before = bytes_before_;
      bytes_before_ += message.bytes;
      if (!message.answer) continue;
      ++at_;
      row_.clear();
      row_.arrival_ns = 0;
      // A conversation has at most 64 MiB, so its lengths fit into 32 bits.
      row_.input_tokens = static_cast<std::int32_t>(ceil_div(before, kBytesPerToken));
      row_.output_tokens = static_cast<std::int32_t>(ceil_div(message.bytes, kBytesPerToken));
      row_.session = id_;
      return true;
    }
    if (!entered_) {
      if (!json().enter('[')) return json().error();
      entered_ = true;
    }
    std::string_view text;
    if (json().next_element() && json().value(text)) {
      row_begin_ = json().begin();
      KVPLAN_TRY_DO(read_conversation(text));
      continue;
    }
    entered_ = false;  // for the next file
    if (json().failed()) return json().error();
    if (!json().expect_end()) return json().error();
    return false;
  }
}

Status ShareGptStream::read_conversation(std::string_view text) {
  ++conversations_;
  messages_.clear();
  id_.clear();
  at_ = 0;
  bytes_before_ = 0;
  problem_.clear();
  problem_field_ = {};
  JsonCursor cursor(text);
  std::string_view key;
  bool first = true;
  bool good = cursor.enter_object();
  bool found = false;
  while (good && cursor.next_key(key, first)) {
    if (key == "conversations" && !found) {
      found = true;
      good = read_messages(cursor);
    } else if (key == "id") {
      good = read_id(cursor);
    } else {
      good = cursor.skip_value();
    }
  }
  if (good && !cursor.failed()) {
    if (!found) return wrong(row_begin_, "conversations", "expected an array of messages, found none");
    if (std::none_of(messages_.begin(), messages_.end(), [](const Message& m) { return m.answer; }))
      ++without_answer_;
    return Done{};
  }
  const std::size_t where = std::min(cursor.where(), text.size());
  if (problem_.empty())
    problem_ = "expected a conversation (a JSON object with \"conversations\"), found another value";
  return wrong(row_begin_ + static_cast<std::int64_t>(where), problem_field_,
               problem_ + ": " + shown(text.substr(where)));
}

bool ShareGptStream::read_id(JsonCursor& cursor) {
  std::string_view text;
  bool escaped = false;
  const char kind = cursor.kind();
  if (kind == 'n') {
    if (!cursor.number(text)) return false;
    id_ = text;
    return true;
  }
  if (kind != 's') return cursor.skip_value();
  return cursor.string(text, escaped) && unescape(text, id_);
}

bool ShareGptStream::read_messages(JsonCursor& cursor) {
  problem_field_ = "conversations";
  if (cursor.kind() != 'a') {
    problem_ = "expected an array of messages, found another value";
    return false;
  }
  cursor.enter_array();
  bool first = true;
  while (cursor.next_element(first))
    if (!read_message(cursor)) return false;
  if (cursor.failed()) return false;
  problem_field_ = {};
  return true;
}

bool ShareGptStream::read_message(JsonCursor& cursor) {
  ++message_count_;
  problem_ = "expected a message with the strings \"from\" and \"value\", found another value";
  Message message;
  bool has_from = false;
  bool has_value = false;
  std::string_view key;
  bool first = true;
  if (!cursor.enter_object()) return false;
  while (cursor.next_key(key, first)) {
    const bool from = key == "from";
    if (!from && key != "value") {
      if (!cursor.skip_value()) return false;
      continue;
    }
    std::string_view raw;
    bool escaped = false;
    if (cursor.kind() != 's' || !cursor.string(raw, escaped) || (escaped && !unescape(raw, text_)))
      return false;
    const std::string_view text = escaped ? std::string_view(text_) : raw;
    if (from) {
      has_from = true;
      message.answer = text == "gpt";
      if (!message.answer && text != "human" && text != "system") ++from_others_;
    } else {
      has_value = true;
      message.bytes = static_cast<std::int64_t>(text.size());
    }
  }
  if (cursor.failed() || !has_from || !has_value) return false;
  problem_.clear();
  messages_.push_back(message);
  return true;
}

Status ShareGptStream::finish(std::int64_t rows) {
  if (rows == 0)
    return bad_input("expected conversations with messages from \"gpt\", found none in " +
                     std::to_string(conversations_) + " conversations")
        .at_file(path());
  warn(
      "Lengths are estimated from the texts, one token per 4 bytes of UTF-8; a tokenizer gives different "
      "lengths.");
  warn("Conversations have no times: all requests arrive at 0, so rates and waiting times are meaningless.");
  if (without_answer_ > 0)
    warn(count_of(without_answer_, conversations_) +
         " conversations have no message from gpt and produce no request.");
  if (from_others_ > 0)
    warn(
        count_of(from_others_, message_count_) +
        " messages come from senders other than human, gpt and system; they become part of the next prompt.");
  return Done{};
}

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kJsonArray && sniff.kind("conversations") == 'a';
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  return std::unique_ptr<TraceStream>(std::make_unique<ShareGptStream>(std::move(inputs)));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{
    .name = "sharegpt",
    .summary = "ShareGPT conversations (a JSON array); lengths are estimated from the texts",
    .source = "github.com/vllm-project/vllm, vllm/benchmarks/datasets/sharegpt.py",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces::sharegpt
