// Hostile text (plain or compressed) through format detection and every importer that may accept it.
#include <cstdlib>

#include "tests/fuzz/fuzz.h"
#include "traces/import/open_trace.h"

namespace {

using namespace kvplan;
using namespace kvplan::traces;

Result<Trace> import(std::string_view bytes, const ImportOptions& options) {
  KVPLAN_TRY(std::unique_ptr<ByteSource> source, open_memory(bytes, "fuzz"));
  Inputs inputs;
  inputs.first = std::make_unique<Input>(std::move(source), "fuzz");
  KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream(std::move(inputs), options));
  return collect(*stream);
}

/// Checks the properties on which every reader of a trace relies.
void check(const Result<Trace>& result) {
  if (!result.ok()) {
    if (result.error().to_string().find('\n') != std::string::npos) std::abort();
    return;
  }
  const Trace& trace = result.value();
  const std::size_t rows = trace.arrival_ns.size();
  if (rows == 0 || trace.input_tokens.size() != rows || trace.output_tokens.size() != rows) std::abort();
  if (trace.digest.size() != 16) std::abort();
  if (!trace.session.empty() && trace.session.size() != rows) std::abort();
  if (!trace.prefix.present()) return;
  if (trace.prefix.offsets.size() != rows + 1 || trace.prefix.offsets.back() != trace.prefix.ids.size())
    std::abort();
  for (const std::uint32_t id : trace.prefix.ids)
    if (id >= trace.prefix.distinct) std::abort();
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 "
      "18:15:50,396,109",
      "{\"timestamp\": 27482, \"input_length\": 600, \"output_length\": 52, \"hash_ids\": [46, 9000000000]}\n"
      "{\"timestamp\": 30535.5, \"input_length\": 5, \"output_length\": 2, \"hash_ids\": [46], "
      "\"session_id\": \"a\\n\"}\n",
      "arrival_ns,input_tokens,output_tokens,session\n5,1,2,\"a,\"\"b\"\"\"\n6,3,4,\n",
      "{\"chat_id\": 5, \"parent_chat_id\": -1, \"timestamp\": 1.5, \"input_length\": 40, \"output_length\": "
      "2, "
      "\"hash_ids\": [7, 7, 8]}\n",
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n5.25,7,1.5,GPT-4,472,18\n",
      "num_prefill_tokens,num_decode_tokens\n1,2\n",
      "a,b,c,d\n1,2,3,[1;2]\n1.5e-3,2.0,3,\n",
      "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"T\",\"startTimeUnixNano\":\"5\","
      "\"endTimeUnixNano\":9,\"attributes\":[{\"key\":\"gen_ai.usage.input_tokens\",\"value\":{\"intValue\":"
      "\"5\"}},{\"key\":\"gen_ai.usage.completion_tokens\",\"value\":{\"intValue\":6}},{\"key\":"
      "\"gen_ai.response.time_to_first_chunk\",\"value\":{\"doubleValue\":0.5}}]}]}]}]}\n",
      "{\n\"trace_id\": \"a\", \"spans\": [{\"trace_id\": \"b\\u0041\", \"start_time\": "
      "\"2026-02-25T10:00:00.5\", "
      "\"end_time\": \"2026-02-25T10:00:02Z\", \"attributes\": {\"gen_ai.usage.prompt_tokens\": 50, "
      "\"gen_ai.usage.output_tokens\": 20, \"gen_ai.request.max_tokens\": 500}}, {}]}\n",
      "{\"request_rate\": Infinity, \"input_lens\": [10, 20], \"output_lens\": [3, 0], \"ttfts\": [0.25, "
      "0.0], "
      "\"itls\": [[0.125, 1e-05], []], \"start_times\": [1000.5, 1001], \"queue_times\": [0.25, 0], "
      "\"generated_texts\": [\"a\", \"\"], \"errors\": [\"\", \"x\"], \"latencies\": [1, null]}\n",
      "[{\"id\": \"a_0\", \"conversations\": [{\"from\": \"human\", \"value\": \"h\\u00e9llo\"}, {\"from\": "
      "\"gpt\", "
      "\"value\": \"yes\"}]},\n {\"id\": 7, \"conversations\": []}]",
      "{\"a\": 1, \"b\": 20, \"c\": 3, \"d\": [1, 2], \"e\": {\"f\": [null, true, \"\\u00e9\"]}}\n",
      // Rows with equal form.
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 52, \"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 3000, \"input_length\": 6, \"output_length\": 5, \"hash_ids\": [0]}\n"
      "{\"timestamp\": 3001.5, \"input_length\": 900, \"output_length\": 7, \"hash_ids\": [0, "
      "123456789012]}\n",
      "{\"a\":1,\"x\":\"p\\\"\",\"b\":20,\"y\":[1,{\"z\":2}],\"c\":\"3\",\"d\":[1,2]}\r\n"
      "{\"a\":2.5,\"x\":\"q\",\"b\":2,\"y\":{},\"c\":\"33\",\"d\":[]}\r\n"
      "{\"a\":1e1,\"x\":null,\"b\":3.0,\"y\":5,\"c\":\"1\",\"d\":[18446744073709551615]}",
      R"({"id":"x","models":["m"],"block_size":4,"hash_id_scope":"local","requests":[{"t":0.5,"type":"n","in":9,)"
      R"("out":1,"hash_ids":[1,2],"api_time":2},{"t":9,"type":"subagent","duration_ms":3000,"requests":[{"t":0,)"
      R"("type":"s","in":5,"out":0,"hash_ids":[1],"ttft":0.1}]}]})"
      "\n"
      R"({"requests":[],"block_size":4,"id":"y"})",
      R"({
 "id":"x","models":[],"block_size":2,
 "requests":[{"t":1,"type":"n","in":2,"out":1}]
})",
      R"({"timestamp":5,"event":{"schema":"dynamo.request.trace.v1","event_type":"tool_end"}})"
      "\n"
      R"({"schema":"dynamo.request.trace.v1","event_type":"request_end","agent_context":{"session_id":"s"},"request":)"
      R"({"input_tokens":5,"output_tokens":2,"request_received_ms":1779163048815,"ttft_ms":1.5,"replay":)"
      R"({"trace_block_size":4,"input_sequence_hashes":[18446744073709551615,1]}}})",
      R"({"metadata":{"x_correlation_id":"u","request_start_ns":1759813207532900363,"request_end_ns":)"
      R"(1759813207838764604,"record_processor_id":"p","benchmark_phase":"profiling","was_cancelled":false},"metrics":)"
      R"({"input_sequence_length":{"value":5,"unit":"tokens"},"output_sequence_length":{"value":9,"unit":"tokens"},)"
      R"("request_latency":{"value":29.5,"unit":"ms"}},"error":null})",
      R"({"args":{},"benchmarks":[{"metrics":{"request_totals":{"successful":1}},"requests":{"successful":[{"info":)"
      R"({"conversation_id":"c"},"request_start_time":1772470696.5,"request_latency":2.5,"prompt_tokens":8,)"
      R"("output_tokens":4,"time_to_first_token_ms":17.5}],"errored":[{}],"incomplete":null}}]})",
  };
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(import(bytes, {}));
  check(import(bytes, {.format = "azure", .map = "", .block_tokens = 0}));
  check(import(bytes, {.format = "mooncake", .map = "", .block_tokens = 16}));
  check(import(bytes, {.format = "claude-code", .map = "", .block_tokens = 0}));
  check(import(bytes, {.format = "dynamo", .map = "", .block_tokens = 4}));
  for (const char* format : {"aiperf", "guidellm", "otel", "sharegpt", "vllm-bench"})
    check(import(bytes, {.format = format, .map = "", .block_tokens = 0}));
  const std::string map = "arrival=a:s,input=b,output=c,hashes=d,block=4";
  check(import(bytes, {.format = "csv", .map = map, .block_tokens = 0}));
  check(import(bytes, {.format = "jsonl", .map = map, .block_tokens = 0}));
  return 0;
}
