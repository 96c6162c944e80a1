// `kvplan bytes`, and models by path in runs.
#include <gtest/gtest.h>

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tests/unit/traces/support.h"

namespace kvplan {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

namespace dom = simdjson::dom;

const std::string kConfig =
    R"({"num_hidden_layers":4,"hidden_size":64,"num_attention_heads":8,"num_key_value_heads":2,)"
    R"("intermediate_size":128,"vocab_size":1000,"sliding_window":32})";

/// Runs `kvplan bytes` and passes its JSON to `look`.
template <class Look>
void with_json(const std::string& arguments, Look look) {
  const Outcome outcome = run_kvplan("bytes " + arguments + " --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  dom::parser parser;
  dom::element root;
  ASSERT_EQ(parser.parse(outcome.out).get(root), simdjson::SUCCESS);
  look(root);
}

std::int64_t number(dom::element root, const char* pointer) {
  std::int64_t out = -1;
  EXPECT_EQ(root.at_pointer(pointer).get_int64().get(out), simdjson::SUCCESS) << pointer;
  return out;
}

std::int64_t sum(dom::element root, const char* key, std::size_t expected) {
  std::int64_t out = 0;
  std::size_t count = 0;
  dom::array values;
  EXPECT_EQ(root[key].get_array().get(values), simdjson::SUCCESS);
  for (const dom::element value : values) {
    out += value.get_int64().value_unsafe();
    ++count;
  }
  EXPECT_EQ(count, expected);
  return out;
}

TEST(CliBytes, TheKeysOfTheResult) {
  with_json("--model gemma-3-27b --tokens 5000", [](dom::element root) {
    EXPECT_EQ(number(root, "/bytes_per_token"), 81920 + 425984);
    EXPECT_EQ(number(root, "/total_bytes"), 81920 * 5000 + 425984 * 1024);
    EXPECT_EQ(number(root, "/metadata_bytes"), 0);
    EXPECT_EQ(sum(root, "per_layer", 62), number(root, "/total_bytes"));
    EXPECT_EQ(number(root, "/cluster/total_bytes"), number(root, "/total_bytes"));
  });
  with_json("--model llama-3-70b --tp 16 --tokens 100 --format fp4", [](dom::element root) {
    EXPECT_EQ(number(root, "/bytes_per_token"), 40960 / 2 * 5625 / 10000);
    EXPECT_EQ(number(root, "/metadata_bytes"), 100 * 80 * 256 / 16);
    EXPECT_EQ(number(root, "/cluster/total_bytes"), 16 * number(root, "/total_bytes"));
    EXPECT_EQ(2 * number(root, "/cluster/replicated_bytes"), number(root, "/cluster/total_bytes"));
  });
  with_json("--model deepseek-v3 --pp 4 --tokens 10", [](dom::element root) {
    EXPECT_EQ(sum(root, "per_layer", 16), number(root, "/total_bytes")) << "the fullest stage";
    EXPECT_EQ(number(root, "/stages/2/layers"), 16);
    EXPECT_EQ(number(root, "/bytes_per_token_by_heads"), 4997120);
  });
  with_json("--model mistral-7b --tokens 9000 --policy streaming-llm:sink=4,recent=1020",
            [](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 131072 * 1024); });
  with_json("--model mistral-7b --tokens 9000 --policy window:window=6000",
            [](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 131072 * 4096); });
}

TEST(CliBytes, BudgetsOfPolicies) {
  // H2O: 20 tokens of each of 8 heads in 32 layers, with an accumulator of 4 bytes; with reuse 4 more for the map.
  with_json("--model llama-3-8b --tokens 1000 --policy h2o:hh=15,recent=5", [](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes"), 20 * 32 * 8 * (2 * 128 * 2 + 4));
    EXPECT_EQ(number(root, "/metadata_bytes"), 20 * 32 * 8 * 4);
  });
  with_json("--model llama-3-8b --tokens 1000 --policy h2o:hh=15,recent=5,placement=reuse",
            [](dom::element root) { EXPECT_EQ(number(root, "/metadata_bytes"), 20 * 32 * 8 * 8); });
  with_json("--model llama-3-8b --tokens 7 --policy h2o:hh=15,recent=5 --format int4 --tp 16",
            [](dom::element root) {
              EXPECT_EQ(number(root, "/total_bytes"), 7 * 32 * (128 + 2 * 4 * 4 + 4))
                  << "fewer tokens than the budget";
            });
  // Numbers that rise and fall, or depend on the prompt. Of 1000 tokens the ring has written 31 chunks, 992, and holds
  // 512; half of a prompt of 900 stays; 60 % of it with later tokens, 512 of it; of it 2 x 256 are dropped at once.
  const std::vector<std::pair<std::string, std::int64_t>> counted{
      {"seed-ring:window=512", 512 + 8},
      {"observed-attention:ratio=0.5", 450 + 100},
      {"keyformer", 540},
      {"r-kv:budget=512", 512 + 100},
      {"scissorhands:budget=512", 900 - 512 + 100}};
  for (const auto& each : counted)
    with_json("--model llama-3-8b --tokens 1000 --prompt 900 --policy " + each.first, [&](dom::element root) {
      EXPECT_EQ(number(root, "/total_bytes") - number(root, "/metadata_bytes"), each.second * 131'072)
          << each.first;
    });
  // TOVA: one set for a layer's heads, and with reuse one map.
  with_json("--model deepseek-v3 --tokens 1000 --policy tova:budget=100,placement=reuse",
            [](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 100 * 61 * (576 * 2 + 4)); });
  with_json("--model llama-3-8b --tokens 1000 --policy tova:budget=100,placement=reuse",
            [](dom::element root) { EXPECT_EQ(number(root, "/metadata_bytes"), 100 * 32 * 4); });
}

double decimal(dom::element root, const char* pointer) {
  double out = -1;
  EXPECT_EQ(root.at_pointer(pointer).get_double().get(out), simdjson::SUCCESS) << pointer;
  return out;
}

/// 32 layers of 8 heads of 128 channels. Of 1000 keys, 7 x 128 are encoded; of the values, all but 128.
TEST(CliBytes, RegionsOfCodecs) {
  with_json("--model llama-3-8b --tokens 1000 --prompt 900 --format kivi", [](dom::element root) {
    constexpr std::int64_t kChannels = 32 * 8 * 128;
    EXPECT_EQ(number(root, "/regions/K/codes"), kChannels * 896 / 4);
    EXPECT_EQ(number(root, "/regions/K/scales"), kChannels * 896 / 32 * 2);
    EXPECT_EQ(number(root, "/regions/K/zeros"), kChannels * 896 / 32 * 2);
    EXPECT_EQ(number(root, "/regions/K/exact"), kChannels * 104 * 2);
    EXPECT_EQ(number(root, "/regions/V/codes"), kChannels * 872 / 4);
    EXPECT_EQ(number(root, "/regions/V/scales"), kChannels * 872 / 32 * 2);
    EXPECT_EQ(number(root, "/regions/V/zeros"), kChannels * 872 / 32 * 2);
    EXPECT_EQ(number(root, "/regions/V/exact"), kChannels * 128 * 2);
    EXPECT_EQ(number(root, "/regions/V/index"), 0);
    EXPECT_EQ(number(root, "/total_bytes"), 36929536);
    EXPECT_EQ(decimal(root, "/bytes_per_token"), 36929.536);
    EXPECT_EQ(number(root, "/metadata_bytes"), kChannels * (896 + 872) / 32 * 4);
    EXPECT_EQ(sum(root, "per_layer", 32), 36929536);
    EXPECT_EQ(number(root, "/prompt_tokens"), 900);
    EXPECT_EQ(number(root, "/generated_tokens"), 100);
    EXPECT_TRUE(root["block_bytes"].is_null());
  });
  // The prompt is one append, later tokens one each: 4 bytes of scale for keys and for values.
  with_json("--model llama-3-8b --tokens 100 --prompt 60 --format int-tensor",
            [](dom::element root) { EXPECT_EQ(number(root, "/metadata_bytes"), 32 * 2 * 41 * 4); });
  with_json("--model llama-3-8b --tokens 100 --format int-tensor",
            [](dom::element root) { EXPECT_EQ(number(root, "/metadata_bytes"), 32 * 2 * 4); });
}

/// 32 layers of 8 heads of 128 channels: a channel of 900 keys has 4 outliers above and 4 below; 100 later keys have 1
/// % of all elements; and of the 1,024 numbers of a token's values, 5 are above and 5 below.
TEST(CliBytes, SharesOfKvquant) {
  with_json("--model llama-3-8b --tokens 1000 --prompt 900 --format kvquant", [](dom::element root) {
    const std::int64_t taken = 1024 * 8 + 1024;
    EXPECT_EQ(number(root, "/regions/K/exact"), 32 * 2 * taken);
    EXPECT_EQ(number(root, "/regions/K/index"), 32 * (2 * taken + 4 * 1000));
    EXPECT_EQ(number(root, "/regions/K/codes"), 32 * 1024 * 1000 * 3 / 8);
    EXPECT_EQ(number(root, "/regions/V/exact"), 32 * 2 * 10 * 1000);
    EXPECT_EQ(number(root, "/regions/V/scales"), 32 * 2 * 1000);
    std::string_view note;
    ASSERT_EQ(root.at_pointer("/notes/0").get_string().get(note), simdjson::SUCCESS);
    EXPECT_NE(note.find("`outliers`"), std::string_view::npos);
  });
}

TEST(CliBytes, TheFamilyFormatComesFirst) {
  for (const char* name : {"bf16", "fp16", "fp4", "fp8", "int4", "int8", "native"})
    with_json(std::string("--model llama-3-8b --tokens 10 --format ") + name, [](dom::element root) {
      dom::element regions;
      EXPECT_EQ(root["regions"].get(regions), simdjson::NO_SUCH_FIELD);
    });
  with_json("--model llama-3-8b --tokens 10 --format fp8:scale=amax", [](dom::element root) {
    EXPECT_EQ(number(root, "/regions/K/scales"), 32 * 4);
    EXPECT_EQ(number(root, "/total_bytes"), 10 * 65536 + 32 * 8);
  });
}

TEST(CliBytes, CodecsOnRanks) {
  // The tensor of each rank has its own scale; it has 2 of 8 heads.
  with_json("--model llama-3-8b --tokens 10 --tp 4 --format int-tensor:scale=static", [](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes"), 10 * 65536 / 4 + 32 * 8);
    EXPECT_EQ(number(root, "/cluster/total_bytes"), 10 * 65536 + 4 * 32 * 8);
    EXPECT_EQ(number(root, "/cluster/replicated_bytes"), 3 * 32 * 8);
  });
  with_json("--model llama-3-70b --tokens 100 --tp 16 --pp 4 --format int-token", [](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes"), 100 * 20 * 2 * (128 + 4));
    EXPECT_EQ(2 * number(root, "/cluster/replicated_bytes"), number(root, "/cluster/total_bytes"));
    EXPECT_EQ(decimal(root, "/bytes_per_token"), 20 * 2 * (128 + 4));
    EXPECT_EQ(decimal(root, "/cluster/bytes_per_token"), 16 * 80 * 2 * (128 + 4));
    EXPECT_EQ(sum(root, "per_layer", 20), number(root, "/total_bytes"));
  });
}

/// 2048 tokens in the first of 32 layers, half of them in the last; integers of 8 bits, and a scale for the prompt.
TEST(CliBytes, ACodecMayDifferByLayer) {
  const std::string start = "--model llama-3-8b --tokens 4000 --format pyramid-int8:scale=static";
  with_json(start, [](dom::element root) {
    EXPECT_EQ(number(root, "/per_layer/0"), 2048 * 8 * 2 * 128 + 8);
    EXPECT_EQ(number(root, "/per_layer/31"), 1024 * 8 * 2 * 128 + 8);
    EXPECT_EQ(number(root, "/groups/0/layers"), 1);
    EXPECT_EQ(number(root, "/groups/0/tokens"), 2048);
    EXPECT_EQ(sum(root, "per_layer", 32), number(root, "/total_bytes"));
  });
  with_json(start + ",layer=31,layers=32", [](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes"), 32 * (1024 * 8 * 2 * 128 + 8)) << "as it was given";
  });
  with_json("--model llama-3-8b --tokens 1000 --format full --policy pyramidkv:capacity=128,window=8",
            [](dom::element root) {
              EXPECT_GT(number(root, "/per_layer/0"), number(root, "/per_layer/31"));
              EXPECT_EQ(number(root, "/per_layer/0"), number(root, "/groups/0/tokens") * 4096);
            });
}

/// Layers that are stored together add up to the stored bytes; settings that would separate them are refused.
TEST(CliBytes, CodecsOfSeveralLayers) {
  const std::string start = "--model llama-3-8b --tokens 1000 --format ";
  constexpr std::int64_t kLayer = 1000 * 8 * 256 * 2;
  with_json(start + "minicache:share=0", [&](dom::element root) {
    EXPECT_EQ(number(root, "/per_layer/15"), kLayer);
    EXPECT_EQ(number(root, "/per_layer/16"), kLayer / 2 + 1000 * 8 * 2 * 2)
        << "half, and two lengths of a head";
    EXPECT_EQ(sum(root, "per_layer", 32), number(root, "/total_bytes"));
  });
  with_json(start + "cla:span=5", [&](dom::element root) {
    EXPECT_EQ(number(root, "/per_layer/5"), kLayer);
    EXPECT_EQ(number(root, "/per_layer/6"), 0);
    EXPECT_EQ(number(root, "/total_bytes"), 7 * kLayer);
  });
  with_json(start + "cla --policy window:window=10",
            [&](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 16 * kLayer / 100); });
  with_json(start + "minicache:share=0 --policy window:window=10", [&](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes"), 24 * kLayer / 100 + 16 * 10 * 8 * 2 * 2)
        << "of a prompt that is cut ten tokens are stored, and two lengths of each head";
  });
  with_json(start + "smaller-model:model_layers=16,heads=2,size=64",
            [&](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 16 * kLayer / 8); });
  with_json(start + "palu:rank=64,rank_v=128 --policy tova:budget=100", [&](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes") - number(root, "/policy_bytes"), 32 * 100 * 2 * (64 + 128) * 2);
  });
  for (const auto& [asked, why] : std::vector<std::pair<std::string, std::string>>{
           {"minicache --policy snapkv:capacity=100", "keeps different tokens in different layers"},
           {"minicache --pp 32", "stores layers 16 and 17 together, which are on different pipeline stages"},
           {"cla --pp 3", "on different pipeline stages"},
           {"minicache --prompt 900 --policy window:window=10", "depend on which tokens were evicted"},
           {"minicache:keep=near", "angles decide which tokens are merged"},
           {"palu --policy h2o:hh=8,recent=8", "keeps different tokens in different heads"},
           {"kvquant:outliers=0 --prompt 900 --policy h2o:hh=8,recent=8",
            "evicts different tokens in different heads while decoding, which kvquant stores"},
           {"smaller-model:model_layers=33", "at most the 32 layers"},
           {"lorc:file=nothing", "nothing"}}) {
    const auto ran = run_kvplan("bytes " + start + asked);
    EXPECT_EQ(ran.exit_code, 2) << asked;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  }
}

TEST(CliBytes, PoliciesBeforeCodecs) {
  // The prompt is cut to 200 tokens; 64 come after it.
  with_json(
      "--model llama-3-8b --tokens 1064 --prompt 1000 --policy snapkv:capacity=200,window=32 --format kivi",
      [](dom::element cut) {
        const std::int64_t total = number(cut, "/total_bytes");
        with_json("--model llama-3-8b --tokens 264 --prompt 200 --format kivi",
                  [&](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), total); });
      });
  with_json("--model llama-3-8b --tokens 1064 --prompt 1000 --policy snapkv:capacity=200,window=32",
            [](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 264 * 131072); });
  with_json("--model llama-3-8b --tokens 1000 --policy h2o:hh=15,recent=5 --format int-token",
            [](dom::element root) {
              EXPECT_EQ(number(root, "/total_bytes"), 20 * 32 * 8 * (2 * (128 + 4) + 4));
              EXPECT_EQ(number(root, "/policy_bytes"), 20 * 32 * 8 * 4);
              EXPECT_EQ(number(root, "/metadata_bytes"), 20 * 32 * 8 * (2 * 4 + 4));
            });
  // A window of 1024 in 52 of 62 layers.
  with_json("--model gemma-3-27b --tokens 5000 --format int-token", [](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes"), (52 * 1024 + 10 * 5000) * 16 * 2 * (128 + 4));
    EXPECT_EQ(decimal(root, "/bytes_per_token"), 62 * 16 * 2 * (128 + 4));
  });
  // Windows and budgets that drop prompt tokens only: the rest of the prompt is encoded.
  with_json("--model gemma-3-27b --tokens 5000 --format kivi", [](dom::element root) {
    EXPECT_EQ(number(root, "/groups/0/tokens"), 1024);
    EXPECT_EQ(number(root, "/regions/K/codes"), (52 * 1024 + 10 * 4992) * 16 * 128 / 4);
  });
  // Of a window's 1024 keys, in eight residuals, 100 were dropped after later steps, and with them three groups of 32.
  // Later keys are too few to be encoded. The newest 128 values are exact.
  with_json("--model gemma-3-27b --tokens 5000 --prompt 4900 --format kivi", [](dom::element root) {
    EXPECT_EQ(number(root, "/regions/K/codes"), (52 * 924 + 10 * 4992) * 16 * 128 / 4);
    EXPECT_EQ(number(root, "/regions/K/scales"), (52 * (32 - 3) + 10 * 156) * 16 * 128 * 2);
    EXPECT_EQ(number(root, "/regions/K/exact"), (52 * 100 + 10 * 8) * 16 * 128 * 2);
    EXPECT_EQ(number(root, "/regions/V/exact"), 62 * 128 * 16 * 128 * 2);
  });
  with_json("--model llama-3-8b --tokens 1000 --format kivi --policy window:window=256",
            [](dom::element root) { EXPECT_EQ(number(root, "/regions/K/codes"), 32 * 8 * 128 * 256 / 4); });
}

TEST(CliBytes, TextOfACodec) {
  const Outcome outcome = run_kvplan("bytes --model llama-3-8b --tokens 1000 --prompt 900 --format kivi");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"1,000 tokens (100 of them generated)", "36,929.54", "36,929,536 (35.2 MiB)",
                           "Bytes by layer", "codes", "scales", "exact", "metadata"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  EXPECT_EQ(outcome.out.find("A block of"), std::string::npos) << "its tokens take different bytes";
  EXPECT_EQ(outcome.out.find("centroids"), std::string::npos) << "it has none";
}

TEST(CliBytes, TextSaysWhatEachGroupTakes) {
  const Outcome outcome = run_kvplan("bytes --model gemma-3-27b --tokens 5000");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"52 layers, 16 heads of 128 + 128, window 1,024", "436,207,616 (416 MiB)", "845,807,616 (807 MiB)"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST(CliBytes, AFileIsAModel) {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"), kConfig);
  with_json("--model " + folder.file("config.json") + " --tokens 100", [](dom::element root) {
    EXPECT_EQ(number(root, "/bytes_per_token"), 4 * 2 * 2 * 8 * 2);
    EXPECT_EQ(number(root, "/total_bytes"), 4 * 2 * 2 * 8 * 2 * 32);
  });
}

TEST(CliBytes, ErrorsAreOneLine) {
  const auto error = [](const std::string& arguments) {
    const Outcome outcome = run_kvplan("bytes " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(error("--model llama-3-8 --tokens 1").substr(0, 69),
            "kvplan: --model: unknown model \"llama-3-8\"; did you mean \"llama-3-8b\"");
  EXPECT_EQ(error("--model nowhere.json --tokens 1"),
            "kvplan: nowhere.json: cannot open: No such file or directory\n");
  EXPECT_NE(error("--model llama-3-8b --format fp5 --tokens 1").find("--format: fp5: unknown format \"fp5\""),
            std::string::npos);
  EXPECT_EQ(error("--model llama-3-8b --format fp8_ds_mla --tokens 1"),
            "kvplan: fp8_ds_mla: expected a model with a latent vector of 512 and 64 rotary elements\n");
  EXPECT_NE(error("--model llama-3-8b").find("--tokens is required"), std::string::npos);
}

TEST(CliBytes, RefusalsOfCodecsSayWhatWouldTell) {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"), kConfig);
  const auto error = [](const std::string& arguments, const std::vector<std::string>& words) {
    const Outcome outcome = run_kvplan("bytes " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    for (const std::string& word : words)
      EXPECT_NE(outcome.err.find(word), std::string::npos) << arguments << ": " << outcome.err;
  };
  const std::string llama = "--model llama-3-8b --tokens 1000 ";
  error(llama + "--format kivi --policy streaming-llm:sink=0,recent=0", {"--policy: ", "at least one token"});
  error(llama + "--prompt 900 --format kvquant --policy h2o:hh=15,recent=5",
        {"kvquant: ", "which tokens were evicted", "`kvplan format --evict`"});
  error(llama + "--format minicache:keep=far",
        {"minicache: ", "cannot be computed from lengths", "angles", "`kvplan format`"});
  error(llama + "--format svd:energy=0.9",
        {"svd: ", "cannot be computed from lengths", "singular values decide the rank", "`kvplan format`"});
  error(llama + "--prompt 900 --format kivi --policy h2o:hh=15,recent=5",
        {"kivi: ", "which tokens were evicted", "`kvplan format --evict`"});
  error(llama + "--policy pyramidkv:capacity=128,window=8", {"--policy: ", "each layer", "family codec"});
  error(llama + "--policy 'duo-attention:gates=[[0.5]]'",
        {"--policy: ", "\"duo-attention\" keeps all tokens in some heads", "`kvplan run` counts"});
  error(llama + "--policy pyramidinfer", {"--policy: ", "each layer", "family codec"});
  error(llama + "--policy seed-threshold:threshold=0.1", {"--policy: ", "after a replay", "`kvplan evict`"});
  error("--model gemma-3-27b --tokens 5000 --prompt 4900 --format kvquant",
        {"kvquant: ", "window of 1024 tokens", "which tokens"});
  error("--model deepseek-v3 --tokens 10 --format kivi", {"kivi: ", "latent vector", "kvplan list format"});
  error("--model " + folder.file("config.json") + " --tokens 10 --format kivi",
        {"kivi:group: ", "divisor of the 8 channels", "32"});
  error("--model " + folder.file("config.json") + " --tokens 10 --format nvfp4",
        {"nvfp4: ", "multiple of 16"});
  error("--model llama-3-8b --tokens 20 --format kmeans", {"kmeans:recent", "the prompt's 20 tokens"});
  error("--model llama-3-8b --tokens 0 --format kivi", {"--tokens: ", "at least 1"});
  error(llama + "--prompt 0 --format kivi", {"--prompt: ", "at least 1"});
  error(llama + "--prompt 1001 --format kivi", {"--prompt: ", "at most --tokens (1000)", "1001"});
  error(llama + "--format kivy", {"--format: kivy: unknown format", "did you mean \"kivi\""});
  error(llama + "--format kivi:bit=2", {"--format: kivi: unknown parameter \"bit\""});
  error(llama + "--format int8:bits=2", {"--format: int8: unknown parameter \"bits\""});
  write_file(folder.file("wide.json"),
             R"({"num_hidden_layers":1,"hidden_size":262144,"num_attention_heads":4096})");
  error("--model " + folder.file("wide.json") + " --tokens 1099511627776 --format full",
        {"--tokens: ", "2^56 elements"});
}

TEST(ModelByPath, RunsCountFromTheScenariosFolder) {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"), kConfig);
  write_file(folder.file("bare"), kConfig);
  const std::string trace = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/chat.kvt";
  const auto run = [&](const std::string& model) {
    write_file(folder.file("s.json"), R"({"model": ")" + model + R"(", "workload": {"trace": ")" + trace +
                                          R"(", "limit": 20}, "memory": {"pool_tokens": 100000}})");
    return run_kvplan("run " + folder.file("s.json") + " --json -");
  };
  for (const char* model : {"config.json", "./config.json", "./bare"}) {
    const Outcome outcome = run(model);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    dom::parser parser;
    dom::element root;
    ASSERT_EQ(parser.parse(outcome.out).get(root), simdjson::SUCCESS);
    EXPECT_EQ(number(root, "/memory/capacity_bytes"), 256 * 100000) << "windows do not cut what a run holds";
    EXPECT_NE(outcome.out.find("4 of the model's 4 layers have a sliding window"), std::string::npos);
    EXPECT_NE(outcome.out.find(": 4 layers, 256 bytes per token."), std::string::npos);
  }
  const Outcome missing = run("nowhere.json");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err,
            "kvplan: " + folder.file("nowhere.json") + ": cannot open: No such file or directory\n");
  // A scenario that is written to another folder names the same file.
  EXPECT_EQ(run("./bare").exit_code, 0);
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(run_kvplan("run s.json --json -").exit_code, 0);
  EXPECT_EQ(run_kvplan("convert s.json t.json").exit_code, 0);
  std::filesystem::current_path(here);
  EXPECT_NE(read_file(folder.file("t.json")).find("\"./bare\""), std::string::npos);
}

TEST(ModelByPath, StepTimesSayWhatTheyMiss) {
  const TemporaryFolder folder;
  const std::string file = folder.file("c.json");
  write_file(file, R"({"num_hidden_layers":4,"hidden_size":64,"num_attention_heads":8})");
  const std::string run = "run " + std::string(KVPLAN_SOURCE_DIR) +
                          "/traces/samples/chat.kvt --set workload.limit=20 --set model=" + file;
  const Outcome roofline = run_kvplan(run);
  EXPECT_EQ(roofline.exit_code, 2);
  EXPECT_EQ(roofline.err,
            "kvplan: model: the weights of " + file + " cannot be counted: vocab_size is missing\n");
  const std::string affine = " --set latency=affine:base_ns=1,token_ns=1,context_ns=1 --json ";
  EXPECT_EQ(run_kvplan(run + affine + "-").exit_code, 0);
  const std::string before = read_file(file);
  EXPECT_EQ(run_kvplan(run + affine + file).exit_code, 2) << "an output over the model";
  EXPECT_EQ(read_file(file), before);
}

}  // namespace
}  // namespace kvplan
