#include "checkpoint/deepspeed/deepspeed_files.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using testing::add_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

MemoryStore store_with(const std::vector<std::string>& files) {
  MemoryStore store;
  for (const std::string& file : files) add_file(store, file, "");
  return store;
}

TEST(DeepSpeedFiles, AreInTheOrderOfRanks) {
  MemoryStore store = store_with({"run/zero_to_fp32.py", "run/s/mp_rank_00_model_states.pt"});
  for (int rank = 11; rank >= 0; --rank)
    add_file(store, fmt::format("run/s/bf16_zero_pp_rank_{}_mp_rank_00_optim_states.pt", rank), "");
  auto files = find_deepspeed_files(store, "run/s");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->folder, "run/s");
  EXPECT_THAT(files->model, ElementsAre("mp_rank_00_model_states.pt"));
  ASSERT_EQ(files->optimizer.size(), 12u);
  EXPECT_EQ(files->optimizer[2], "bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt");
  EXPECT_EQ(files->optimizer[11], "bf16_zero_pp_rank_11_mp_rank_00_optim_states.pt");
  // In a folder with several checkpoints, the file `latest` names the one that counts.
  EXPECT_FALSE(find_deepspeed_files(store, "run"));
  add_file(store, "run/latest", "s");
  ASSERT_TRUE(find_deepspeed_files(store, "run"));
  EXPECT_EQ(find_deepspeed_files(store, "run")->folder, "run/s");
  MemoryStore other = store_with({"run/latest", "a/s/mp_rank_00_model_states.pt", "b/x.pt"});
  EXPECT_FALSE(find_deepspeed_files(other, "run")) << "no name in it";
  add_file(other, "b/latest", "../a/s");
  EXPECT_FALSE(find_deepspeed_files(other, "b")) << "a name outside of the folder";
}

TEST(DeepSpeedFiles, ListsThoseOfAUniversalCheckpoint) {
  MemoryStore store = store_with({"run/u/mp_rank_00_model_states.pt", "run/u/zero/b/fp32.pt",
                                  "run/u/zero/a.b/step.pt", "run/u/zero/notes.txt"});
  EXPECT_FALSE(find_deepspeed_files(store, "run"));
  add_file(store, "run/latest_universal", "u");
  auto files = find_deepspeed_files(store, "run");
  ASSERT_TRUE(files);
  EXPECT_THAT(files->universal, ElementsAre("zero/a.b/step.pt", "zero/b/fp32.pt"));
  EXPECT_TRUE(files->optimizer.empty());
  add_file(store, "run/s/mp_rank_00_model_states.pt", "");
  add_file(store, "run/latest", "s");
  EXPECT_EQ(find_deepspeed_files(store, "run")->folder, "run/s") << "which training goes on from";
}

TEST(DeepSpeedFiles, RefusesWhatIsNotRead) {
  auto problem = [](const std::vector<std::string>& files) {
    return simmesh::testing::error_text([&] { find_deepspeed_files(store_with(files), "s"); });
  };
  std::string model = "s/mp_rank_00_model_states.pt";
  EXPECT_EQ(problem({model}), "");
  EXPECT_THAT(problem({model, "s/mp_rank_01_model_states.pt"}),
              HasSubstr("memory/s: mp_rank_01_model_states.pt is of model-parallel rank 1"));
  for (const char* file : {"layer_0_expert_1_mp_rank_00_model_states.pt",
                           "layer_01-model_states.pt", "expp_rank_0_mp_rank_00_optim_states.pt",
                           "zero_pp_rank_x_mp_rank_00_optim_states.pt", "mp_rank_00_states.pt"})
    EXPECT_THAT(problem({model, std::string("s/") + file}),
                HasSubstr("expected no files of experts or pipeline stages"));
  EXPECT_THAT(problem({model, "s/zero_pp_rank_1_mp_rank_00_optim_states.pt"}),
              HasSubstr("the optimiser states of rank 0 are missing"));
  EXPECT_THAT(problem({model, "s/zero_pp_rank_0_mp_rank_00_model_states.pt"}),
              HasSubstr("two files with the model states of rank 0"));
}

}  // namespace
}  // namespace simmesh::checkpoint
