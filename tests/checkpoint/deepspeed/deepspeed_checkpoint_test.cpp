#include "checkpoint/deepspeed/deepspeed_checkpoint.h"

#include <gmock/gmock.h>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/catalog/training_state.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "checkpoint/save_load/load.h"
#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/tools/convert.h"
#include "checkpoint/tools/diff.h"
#include "checkpoint/tools/verify.h"
#include "checkpoint/torch_file/zip_archive.h"
#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "core/nn/normalization.h"
#include "core/optim/adam.h"
#include "testing/gtest.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/checkpoint/zero_engine.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using ::testing::HasSubstr;
using testing::text_of;

const std::string recorded_deepspeed = SIMMESH_SOURCE_DIR "/tests/cases/checkpoint/deepspeed";

Location recorded_run(const std::string& name) {
  return {std::make_shared<DirectoryStore>(recorded_deepspeed), name};
}

// Returns a recorded checkpoint in memory, whose files tests can change.
Location run_in_memory(const std::string& name) {
  Location recorded = recorded_run(name);
  auto store = std::make_shared<MemoryStore>();
  for (const std::string& file : recorded.store->files(name))
    add_file(*store, joined(name, file),
             text_of(read_file(*recorded.store, joined(name, file), 1 << 20)));
  return {store, name};
}

// Replaces bytes of the pickle in a file of a checkpoint. The archive's checksums stay right.
void change_pickle(const Location& location, const std::string& file, const std::string& from,
                   const std::string& to) {
  std::string path = joined(location.name, file);
  std::vector<ZipMember> members = read_zip(read_file(*location.store, path, 1 << 20));
  for (ZipMember& member : members) {
    if (!member.name.ends_with("data.pkl")) continue;
    std::string pickle = text_of(member.bytes);
    std::size_t at = pickle.find(from);
    ASSERT_NE(at, pickle.npos) << from;
    member.bytes = testing::bytes_of(pickle.replace(at, from.size(), to));
  }
  location.store->remove(path);
  add_file(*location.store, path, text_of(zip_of(members, 64)));
}

// Returns a rank's third of a tensor of the catalog.
FlatShard third_of(const StoredTensor& tensor, std::int64_t rank, std::int64_t ranks) {
  std::int64_t count = numel(tensor.shape);
  FlatRange range = {count * rank / ranks, count * (rank + 1) / ranks};
  return {zeros({range.numel()}, *tensor_dtype(tensor.dtype)), tensor.shape, range};
}

// Three ranks load their parts of what other ranks of DeepSpeed saved. Only needed bytes are read,
// except in chunks that two ranks share.
SIMMESH_TEST(DeepSpeedCheckpoint, LoadsOnOtherRanks, {.mesh = {3}, .schedules = 6}) {
  for (const char* name : {"z1_bf16_w2", "z2_fp32_w3_frozen_tied", "z2_bf16_w3_round_robin",
                           "z3_fp32_w2_groups", "z3_bf16_w3_frozen_tied"}) {
    Location location = recorded_run(name);
    OpenCheckpoint opened = open(location);
    StateDict state;
    for (const StoredTensor& tensor : opened.catalog.tensors)
      state.add(tensor.name, third_of(tensor, ProcessGroup::world().rank(), 3));
    for (const StoredObject& object : opened.catalog.objects) state.add(object.name, JsonValue());
    LoadReport report = load(state, location);
    EXPECT_LE(report.bytes_read, report.bytes_needed) << name;
    for (const StoredTensor& tensor : opened.catalog.tensors) {
      const auto& shard = std::get<FlatShard>(*state.find(tensor.name));
      std::vector<std::byte> all = read_tensor(*location.store, opened, tensor);
      auto width = std::size_t(bits_per_element(tensor.dtype) / 8);
      std::vector<std::byte> expected(
          all.begin() + std::ptrdiff_t(std::size_t(shard.range.begin) * width),
          all.begin() + std::ptrdiff_t(std::size_t(shard.range.end) * width));
      EXPECT_EQ(packed(shard.values), expected) << name << ' ' << tensor.name;
    }
    EXPECT_EQ(state.number("global_steps"), 3);
  }
}

// RecordedNet is the module of the recorded runs.
struct RecordedNet final : nn::Module {
  RecordedNet() {
    register_child("embed",
                   std::make_shared<nn::Embedding>(nn::Embedding::Options{.count = 7, .width = 3}));
    register_child("norm", std::make_shared<nn::LayerNorm>(nn::LayerNorm::Options{.width = 3}));
    register_child("body", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 3, .out = 5}));
    register_child(
        "out", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 5, .out = 3, .bias = false}));
    register_child("head", std::make_shared<nn::Linear>(
                               nn::Linear::Options{.in = 3, .out = 7, .bias = false}));
    register_buffer("scale", zeros({2}, DType::float32));
    register_buffer("count", zeros({}, DType::int64));
  }
  nn::Tensors forward(const nn::Tensors& inputs) override { return inputs; }
};

// The engine continues a run of DeepSpeed, in another stage and on other ranks.
SIMMESH_TEST(DeepSpeedCheckpoint, LoadsIntoTheEngine, {.mesh = {3}, .schedules = 4}) {
  for (int stage : {1, 3}) {
    RecordedNet net;
    zero::Engine engine = testing::adamw_engine(net, stage, false);
    Location location = recorded_run("z3_fp32_w1");
    OpenCheckpoint opened = open(location);
    load(state_dict(engine), location, {.allow_unexpected = true});
    engine.masters_changed();
    auto expect_stored = [&](const std::string& stored, const Tensor& tensor) {
      EXPECT_EQ(read_tensor(*location.store, opened, *opened.catalog.find(stored)), packed(tensor))
          << stored;
    };
    for (const char* name : {"embed.weight", "norm.bias", "body.bias", "out.weight"}) {
      expect_stored(std::string("model.") + name, engine.safe_get_full_fp32_param(name));
      for (const char* key : {"exp_avg", "exp_avg_sq"})
        expect_stored(fmt::format("optim.{}.{}", name, key),
                      engine.safe_get_full_optimizer_state(name, key));
    }
    EXPECT_EQ(engine.optimizer().steps(0), 3);
    EXPECT_EQ(engine.optimizer().learning_rates(), std::vector<double>{0.01});
  }
}

// A universal checkpoint that ds_to_universal made has the values of the original.
TEST(DeepSpeedCheckpoint, ReadsUniversalOnes) {
  auto store = std::make_shared<DirectoryStore>(recorded_deepspeed + "_universal");
  for (const char* name : {"z1_fp32_w2_groups", "z2_fp16_w2", "z3_bf16_w3_frozen_tied"}) {
    Location universal = {store, name};
    EXPECT_THAT(diff(recorded_run(name), universal), ::testing::IsEmpty()) << name;
    EXPECT_THAT(verify(universal), ::testing::IsEmpty()) << name;
  }
}

// Every format holds its values, and the weights alone have the model's own names.
TEST(DeepSpeedCheckpoint, IsConverted) {
  auto store = std::make_shared<MemoryStore>();
  Location from = recorded_run("z2_bf16_w3_round_robin");
  for (const Format* format : {&simmesh_format, &dcp_format}) {
    Location to = {store, std::string(format->name)};
    convert(from, to, {.format = *format});
    EXPECT_TRUE(diff(from, to).empty());
  }
  Location weights = {store, "weights"};
  ConvertReport report =
      convert(from, weights, {.format = safetensors_format, .weights_only = true});
  EXPECT_EQ(report.objects, 0);
  std::vector<std::string> names;
  for (const StoredTensor& tensor : open(weights).catalog.tensors) names.push_back(tensor.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("embed.weight", "body.bias", "norm.weight",
                                                     "out.weight", "norm.bias", "head.weight",
                                                     "scale", "count", "body.weight"));
  Location letters = {store, "weights"}, none = {store, "none"};
  EXPECT_THAT(error_text([&] { convert(letters, none, {.weights_only = true}); }),
              HasSubstr("memory/weights: expected tensors under 'model.' or 'master.', got none"));
}

// A flipped byte of any tensor is found, in any file of any rank.
TEST(DeepSpeedCheckpoint, VerifyFindsEveryFile) {
  Location location = run_in_memory("z2_fp32_w3_frozen_tied");
  auto& store = dynamic_cast<MemoryStore&>(*location.store);
  EXPECT_TRUE(verify(location).empty());
  OpenCheckpoint opened = open(location);
  for (const StoredTensor& tensor : opened.catalog.tensors)
    for (const StoredChunk& chunk : tensor.chunks) {
      std::string path = joined(opened.folder, chunk.file);
      store.flip(path, chunk.begin + chunk.bytes - 1, 3);
      std::vector<std::string> problems = verify(location);
      ASSERT_EQ(problems.size(), 1u);
      EXPECT_THAT(problems[0], HasSubstr(chunk.file));
      EXPECT_THAT(problems[0], HasSubstr("is corrupt"));
      store.flip(path, chunk.begin + chunk.bytes - 1, 3);
    }
}

TEST(DeepSpeedCheckpoint, RefusesWhatDoesNotFit) {
  const std::string model = "global_step3/mp_rank_00_model_states.pt",
                    optimizer = "global_step3/zero_pp_rank_0_mp_rank_00_optim_states.pt";
  auto problem = [&](const std::string& file, const std::string& from, const std::string& to) {
    Location location = run_in_memory("z2_fp32_w3_frozen_tied");
    change_pickle(location, file, from, to);
    return error_text([&] { open(location); });
  };
  EXPECT_EQ(problem(optimizer, "LossScaler", "EvilScaler"), "") << "any class is taken";
  EXPECT_THAT(problem(optimizer, "single_partition", "double_partition"),
              HasSubstr("without the key 'single_partition_of_fp32_groups'"));
  EXPECT_THAT(problem(model, "buffer_names", "buffer_nanes"),
              HasSubstr("without the key 'buffer_names'"));
  EXPECT_THAT(problem(model, "param_shapes", "param_shapez"),
              HasSubstr("1 flat groups, expected 0"));
  EXPECT_THAT(problem(optimizer, "K\x02\x85qHR", ")qHR"),
              HasSubstr("zero_stage: expected 1 number, got 0"));
  Location fewer = run_in_memory("z2_fp32_w3_frozen_tied");
  fewer.store->remove(joined(fewer.name, "global_step3/zero_pp_rank_2_mp_rank_00_optim_states.pt"));
  EXPECT_THAT(error_text([&] { open(fewer); }),
              HasSubstr("expected the optimiser states of 3 ranks, got 2"));
  Location universal = run_in_memory("z3_fp32_w1");
  universal.store->remove(
      joined(universal.name, "global_step3/zero_pp_rank_0_mp_rank_00_optim_states.pt"));
  EXPECT_THAT(error_text([&] { open(universal); }),
              HasSubstr("the optimiser states of the ranks are missing"));
  Location cut = run_in_memory("z2_fp32_w3_frozen_tied");
  std::string path = joined(cut.name, optimizer);
  std::string text = text_of(read_file(*cut.store, path, 1 << 20));
  cut.store->remove(path);
  add_file(*cut.store, path, text.substr(0, text.size() / 2));
  EXPECT_THAT(error_text([&] { open(cut); }), HasSubstr("it is no zip archive"));
}

}  // namespace
}  // namespace simmesh::checkpoint
