// `kvplan trace synth` from the user's side.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/sanitized.h"
#include "tests/unit/traces/synth_support.h"

namespace kvplan::traces {
namespace {

using testing::Outcome;
using testing::run_kvplan;
using testing::TemporaryFolder;

TEST(SynthCommand, SaysWhatItMade) {
  const TemporaryFolder folder;
  const Outcome made = run_kvplan(
      "trace synth --arrivals constant:rate_per_s=2 --lengths fixed:input=7,output=3 "
      "--requests 5 -o " +
      folder.file("a.csv.gz"));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "");
  const Result<Trace> read = open_trace(folder.file("a.csv.gz"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().arrival_ns,
            (std::vector<std::int64_t>{0, 500'000'000, 1'000'000'000, 1'500'000'000, 2'000'000'000}));
  run_kvplan(
      "trace synth --arrivals poisson:rate_per_s=2 --lengths fixed:input=7,output=3 --prefixes "
      "groups:tokens=40 --duration 60 --seed 9 --block 8 -o " +
      folder.file("a.kvt"));
  const Trace kept = open_trace(folder.file("a.kvt")).value();
  EXPECT_EQ(kept.provenance.format, "synth");
  EXPECT_EQ(kept.provenance.options,
            (std::vector<std::string>{"arrivals=poisson:rate_per_s=2", "lengths=fixed:input=7,output=3",
                                      "prefixes=groups:groups=1,tokens=40,zipf=1,length=added",
                                      "turns=single", "seed=9", "duration_ns=60000000000", "block=8"}));
}

TEST(SynthCommand, ClientsOfALoadTest) {
  const TemporaryFolder folder;
  const auto made = [&](const std::string& flags, const std::string& name) {
    const Outcome outcome = run_kvplan("trace synth " + flags + " -o " + folder.file(name));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return testing::read_file(folder.file(name));
  };
  EXPECT_EQ(made("--clients 4 --requests-per-client 3 --input-tokens 819..1024 --output-tokens 128", "a.kvt"),
            made("--arrivals at-once:clients=4 --turns repeat:requests=3 --lengths "
                 "uniform:input_min=819,input_max=1024,output_min=128,output_max=128",
                 "b.kvt"));
  const Trace trace = open_trace(folder.file("a.kvt")).value();
  EXPECT_EQ(trace.size(), 12);
  EXPECT_EQ(trace.waits.request.size(), 8U);
  const auto refused = [&](const std::string& flags) {
    const Outcome outcome = run_kvplan("trace synth " + flags + " -o " + folder.file("c.kvt"));
    EXPECT_EQ(outcome.exit_code, 2) << flags;
    return outcome.err;
  };
  EXPECT_EQ(refused("--clients 4"),
            "kvplan: --requests-per-client: expected both --clients and --requests-per-client\n");
  EXPECT_EQ(refused("--clients 4 --requests-per-client 3 --turns single --lengths fixed:input=1,output=1"),
            "kvplan: --clients: expected no --arrivals and no --turns: clients decide both\n");
  EXPECT_EQ(refused("--clients 4 --requests-per-client 3 --input-tokens 5..x --output-tokens 1"),
            "kvplan: --input-tokens: expected LOW..HIGH in tokens, such as 819..1024, found \"5..x\"\n");
  EXPECT_EQ(refused("--clients 4 --requests-per-client 3 --input-tokens 5..6"),
            "kvplan: --output-tokens: expected both --input-tokens and --output-tokens\n");
}

TEST(SynthCommand, AServiceIsMadeWithoutArrivals) {
  const TemporaryFolder folder;
  const std::string out = " -o " + folder.file("a.kvt");
  ASSERT_EQ(run_kvplan("trace synth" + out).exit_code, 0);
  EXPECT_EQ(testing::read_file(folder.file("a.kvt")),
            testing::read_file(KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt"));
  ASSERT_EQ(
      run_kvplan("trace synth --service chat:rate_per_s=2,burst=1 --requests 99 --block 32" + out).exit_code,
      0);
  const Trace made = open_trace(folder.file("a.kvt")).value();
  EXPECT_EQ(made.provenance.options,
            (std::vector<std::string>{"requests=99", "seed=1", "rate_mhz=2000", "burst=1", "block=32"}));
}

TEST(SynthCommand, UsageErrorsAreOneLineAndLeaveNothing) {
  const TemporaryFolder folder;
  const std::string out = folder.file("a.kvt");
  const auto error = [&](const std::string& flags) {
    const Outcome outcome = run_kvplan("trace synth " + flags + " -o " + out);
    EXPECT_EQ(outcome.exit_code, 2) << flags;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(
      error("--lengths fixed:input=1,output=1"),
      "kvplan: --arrivals: expected this option: --lengths, --prefixes, --turns and --duration need it\n");
  EXPECT_EQ(
      error("--duration 5"),
      "kvplan: --arrivals: expected this option: --lengths, --prefixes, --turns and --duration need it\n");
  EXPECT_EQ(error("--service chat --arrivals poisson:rate_per_s=1"),
            "kvplan: --service: expected --service or --arrivals, found both\n");
  EXPECT_EQ(error("--service caht"),
            "kvplan: caht: unknown service \"caht\"; did you mean \"chat\"? (known: chat)\n");
  EXPECT_EQ(error("--arrivals poisson --requests 5"),
            "kvplan: poisson:rate_per_s: parameter must be given: Mean arrivals per second\n");
  EXPECT_EQ(error("--arrivals poisson:rate_per_s=1 --requests 0"),
            "kvplan: --requests: expected a whole number from 1 to 2147483647, found \"0\" (see --help)\n");
  EXPECT_EQ(error("--arrivals poisson:rate_per_s=1 --lengths fixed:input=1,output=1 --duration 1e-12"),
            "kvplan: --duration: expected at least 1 ns\n");
  EXPECT_EQ(error("--arrivals poisson:rate_per_s=1e-6 --lengths fixed:input=1,output=1 --duration 1e-3"),
            "kvplan: --duration: no request arrives in this time\n");
  EXPECT_EQ(folder.listing(), "");
  testing::write_file(out, "arrived_at,num_prefill_tokens,num_decode_tokens\n9,1,10\n");
  EXPECT_EQ(
      error("--arrivals trace:file=" + out),
      "kvplan: " + out + ": expected a different file: this one is the input and would be overwritten\n");
  EXPECT_EQ(
      error("--arrivals poisson:rate_per_s=1 --lengths empirical:file=" + out + " --requests 5"),
      "kvplan: " + out + ": expected a different file: this one is the input and would be overwritten\n");
}

TEST(SynthCommand, MoreIdsThanThereCanBeAreRefusedBeforeTheyAreMade) {
  const TemporaryFolder folder;
  const auto made = [&](const std::string& flags) {
    return run_kvplan(
        "trace synth --arrivals poisson:rate_per_s=1000 --prefixes groups:tokens=10 --block 1 " + flags +
        " -o " + folder.file("a.kvt"));
  };
  // 2^31 - 1 requests would take minutes to generate.
  const std::string refusal = "kvplan: --block: more than 4294967295 distinct prefix ids\n";
  EXPECT_EQ(made("--requests 2147483647 --lengths fixed:input=3,output=1").err, refusal);
  EXPECT_EQ(made("--requests 2147483647 --lengths uniform:input_min=3,input_max=9,output_max=1").err,
            refusal);
  EXPECT_EQ(folder.listing(), "");
  // The shared beginning is part of the prompt: only 2 of the 12 tokens are the prompt's own.
  const auto included = [&](std::int64_t tokens) {
    const Result<std::unique_ptr<TraceStream>> stream =
        make_synth({.arrivals = "poisson:rate_per_s=1000",
                    .lengths = "fixed:input=" + std::to_string(tokens) + ",output=1",
                    .prefixes = "groups:tokens=10,length=included",
                    .requests = INT32_MAX,
                    .block_tokens = 1});
    return stream.ok() ? "" : stream.error().to_string();
  };
  EXPECT_EQ(included(12), "");
  EXPECT_EQ(included(13), "--block: more than 4294967295 distinct prefix ids");
}

TEST(SynthCommand, AnyNumberOfRequestsTakesTheSameMemory) {
  const TemporaryFolder folder;
  // 4 M requests, 96 MB of columns and ids, in 96 MiB of address space, including the program. If the address space
  // cannot be limited, millions of requests would show nothing.
  const bool limited = KVPLAN_SHADOW_MEMORY == 0;
  const Outcome made = run_kvplan(
      "trace synth --arrivals gamma:rate_per_s=900,cv=1.5 --lengths lognormal:input_mean=300,output_mean=30 "
      "--prefixes "
      "groups:groups=9,tokens=64 --turns sessions:turns=2,think_s=3 --block 64 --requests " +
          std::string(limited ? "4000000" : "400000") + " -o " + folder.file("a.kvt"),
      96);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.err.find(limited ? "4,000,000 requests from synth" : "400,000 requests from synth"),
            std::string::npos)
      << made.err;
}

TEST(SynthCommand, PartsAreListedAndExplained) {
  for (const std::string_view family : synth_families()) {
    const Outcome list = run_kvplan("list " + std::string(family));
    for (const Descriptor* d : synth_descriptors(family)) {
      EXPECT_NE(list.out.find("\n  " + std::string(d->name)), std::string::npos) << d->name;
      const Outcome text = run_kvplan("explain " + std::string(d->name));
      EXPECT_NE(text.out.find(std::string(d->name) + " (" + std::string(family) + ")\n"), std::string::npos);
      for (const Param& param : d->params)
        EXPECT_NE(text.out.find("\n  " + std::string(param.name)), std::string::npos) << param.name;
    }
  }
}

}  // namespace
}  // namespace kvplan::traces
