#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/gate/gate_texts.h"

namespace simmesh::testing {
namespace {

// Combination is a mesh and the forms over its dims.
struct Combination {
  std::string mesh;
  std::string parallel;
};

std::string combined_gate(const Combination& one, const std::string& kind) {
  return "[mesh]\n" + one.mesh + "\n[model]\nkind = \"" + kind +
         "\"\nlayers = 2\nwidth = 8\nheads = 2\nhidden = 8\nvocabulary = 11\n"
         "init = { scale = 0.3 }\n" +
         (kind == "moe" ? "experts = 3\n" : "") + "[data]\nbatch = 16\nsequence = 8\n[parallel]\n" +
         one.parallel +
         "\n[train]\nsteps = 2\nmicro_batches = 2\noptimizer = { kind = \"adamw\" }\n"
         "clip_grad_norm = 0.1\n[arithmetic]\nmode = \"exact\"\n"
         "[expect]\nsame_as = [\"single_device\"]\nschedules = 2\n";
}

void expect_one_device(const Combination& one, const std::string& kind) {
  GateResult result = run_text(combined_gate(one, kind));
  EXPECT_EQ(result.failed(), 0) << one.mesh << "\n" << one.parallel << "\n" << text_of(result);
}

const std::string dp_tp = "shape = [2, 2]\nnames = [\"dp\", \"tp\"]";
const std::string ep_tp = "shape = [2, 2]\nnames = [\"ep\", \"tp\"]";
const std::string cp_tp = "shape = [2, 2]\nnames = [\"cp\", \"tp\"]";
const std::string dp_cp_tp = "shape = [2, 2, 2]\nnames = [\"dp\", \"cp\", \"tp\"]";
const std::string dp_ep_tp = "shape = [2, 2, 2]\nnames = [\"dp\", \"ep\", \"tp\"]";
const std::string sequence = "tensor = { mesh = \"tp\", sequence_parallel = true }\n";
const std::string plain = "tensor = { mesh = \"tp\" }\n";

// Replication adds up the pieces of split layers, and the parts of gradients of normalisations.
TEST(Combinations, TensorBesideReplicateAndContext) {
  for (const std::string& tensor : {plain, sequence}) {
    expect_one_device({dp_tp, "replicate = { mesh = \"dp\" }\n" + tensor}, "transformer");
    expect_one_device({cp_tp, "context = { mesh = \"cp\" }\n" + tensor}, "transformer");
    expect_one_device({dp_cp_tp,
                       "replicate = { mesh = \"dp\" }\ncontext = { mesh = \"cp\", "
                       "method = \"ulysses\" }\n" +
                           tensor},
                      "transformer");
  }
}

// Eight positions leave the last of five ranks none, and its gradients of normalisations nothing to
// cut. They are parts of a sum all the same.
TEST(Combinations, RanksWithoutPositions) {
  const std::string few =
      "context = { mesh = \"cp\", method = \"all_gather\", order = \"contiguous\" }\n" + sequence;
  expect_one_device({"shape = [5, 2]\nnames = [\"cp\", \"tp\"]", few}, "transformer");
  for (const char* form :
       {"replicate = { mesh = \"dp\" }\n", "fsdp = { mesh = \"dp\" }\n",
        "zero = { mesh = \"dp\", stage = 1 }\n", "zero = { mesh = \"dp\", stage = 3 }\n"})
    expect_one_device({"shape = [2, 5, 2]\nnames = [\"dp\", \"cp\", \"tp\"]", form + few},
                      "transformer");
}

// Six rows of a vocabulary leave the last of four ranks none, and its optimizer an empty tensor.
TEST(Combinations, RanksWithoutRowsOfTheVocabulary) {
  for (const char* form :
       {"fsdp = { mesh = \"dp\" }\n", "zero = { mesh = \"dp\", stage = 1 }\n",
        "zero = { mesh = \"dp\", stage = 2 }\n", "zero = { mesh = \"dp\", stage = 3 }\n"}) {
    std::string text =
        combined_gate({"shape = [2, 4]\nnames = [\"dp\", \"tp\"]", form + sequence}, "transformer");
    text.replace(text.find("heads = 2"), 9, "heads = 4");
    text.replace(text.find("vocabulary = 11"), 15, "vocabulary = 6");
    GateResult result = run_text(text);
    EXPECT_EQ(result.failed(), 0) << text_of(result);
  }
}

// fully_shard shards over the dim of sequences, which its own dims don't have.
TEST(Combinations, ContextBesideOtherDimsOfFsdp) {
  expect_one_device({"shape = [2, 2]\nnames = [\"dp\", \"cp\"]",
                     "fsdp = { mesh = \"dp\" }\ncontext = { mesh = \"cp\" }"},
                    "transformer");
  expect_one_device({"shape = [2, 2, 2, 2]\nnames = [\"r\", \"s\", \"cp\", \"tp\"]",
                     "fsdp = { mesh = [\"r\", \"s\"] }\ncontext = { mesh = \"cp\" }\n" + sequence},
                    "transformer");
}

// Experts are split by tensor, stay whole, or are spread over the ranks that split all else.
TEST(Combinations, ExpertBesideTensor) {
  for (const std::string& tensor : {plain, sequence}) {
    expect_one_device({ep_tp, "expert = { mesh = \"ep\" }\n" + tensor}, "moe");
    expect_one_device({ep_tp, "expert = { mesh = \"ep\", tensor_parallel = false }\n" + tensor},
                      "moe");
    expect_one_device(
        {dp_tp, "replicate = { mesh = \"dp\" }\nexpert = { mesh = \"tp\" }\n" + tensor}, "moe");
    expect_one_device({dp_ep_tp, "fsdp = { mesh = \"dp\" }\nexpert = { mesh = \"ep\" }\n" + tensor},
                      "moe");
    expect_one_device({dp_tp, "fsdp = { mesh = \"dp\" }\nexpert = { mesh = \"dp\" }\n" + tensor},
                      "moe");
    expect_one_device({dp_tp, "fsdp = { mesh = \"dp\" }\nexpert = { mesh = \"tp\" }\n" + tensor},
                      "moe");
  }
}

// Five dims at once.
TEST(Combinations, FiveDims) {
  expect_one_device({"shape = [2, 2, 2, 2, 2]\nnames = [\"r\", \"s\", \"cp\", \"ep\", \"tp\"]",
                     "fsdp = { mesh = [\"r\", \"s\"] }\ncontext = { mesh = \"cp\" }\n"
                     "expert = { mesh = \"ep\" }\n" +
                         plain},
                    "moe");
}

// A ZeRO engine trains the pieces of split layers, and counts in its norm each element once.
TEST(Combinations, ZeroBesideTensorAndContext) {
  for (int stage = 0; stage < 4; ++stage)
    for (const std::string& tensor : {plain, sequence}) {
      std::string zero = "zero = { mesh = \"dp\", stage = " + std::to_string(stage) + " }\n";
      expect_one_device({dp_tp, zero + tensor}, "transformer");
      expect_one_device(
          {dp_cp_tp, fmt::format("{}context = {{ mesh = \"cp\" }}\n{}", zero, tensor)},
          "transformer");
    }
}

// Experts have an engine of their own; the norm is one over both.
TEST(Combinations, ZeroBesideExpert) {
  for (int stage = 0; stage < 4; ++stage) {
    std::string zero = "zero = { mesh = \"dp\", stage = " + std::to_string(stage) + " }\n";
    expect_one_device(
        {"shape = [2, 2]\nnames = [\"dp\", \"ep\"]", zero + "expert = { mesh = \"ep\" }"}, "moe");
    expect_one_device({"shape = [2]", zero + "expert = { mesh = \"dp\" }"}, "moe");
    expect_one_device({dp_ep_tp, fmt::format("{}expert = {{ mesh = \"ep\" }}\n{}", zero, sequence)},
                      "moe");
    expect_one_device({dp_tp, fmt::format("{}expert = {{ mesh = \"tp\" }}\n{}", zero, plain)},
                      "moe");
  }
}

// Formats of ZeRO's checkpoints name one group of ranks.
TEST(Combinations, RefusesCheckpointsOfPartsOfAModel) {
  std::string gate = combined_gate({dp_tp, "zero = { mesh = \"dp\" }\n" + plain}, "transformer");
  expect_refused(gate + "[checkpoint]\n", "a run without zero beside tensor or expert");
}

}  // namespace
}  // namespace simmesh::testing
