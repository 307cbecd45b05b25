#include "checkpoint/native/save_layout.h"

#include <gmock/gmock.h>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/read/open.h"
#include "checkpoint/tools/convert.h"
#include "checkpoint/tools/diff.h"
#include "checkpoint/tools/verify.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run_world;
using testing::sample_whole;

// Returns a state with values of all parts, sharded by rows over two ranks.
StateDict state_of_parts(std::uint64_t round) {
  DeviceMesh mesh = init_device_mesh({2});
  StateDict state;
  for (const char* name : {"model.w", "model.b", "master.w", "optim.w.exp_avg", "ema.w", "scale"}) {
    Tensor whole = round == 0 ? zeros({5, 3}, DType::float32)
                              : sample_whole({5, 3}, DType::float32, round + std::uint64_t(*name));
    state.add(name,
              distribute_tensor(whole, mesh, {Shard(0)}, {.from_first_rank = false}).as_tensor());
  }
  state.add("optim.lr", 0.5);
  state.add("step", std::int64_t(round));
  return state;
}

Location saved_parts(SaveLayout layout) {
  Location location = {std::make_shared<MemoryStore>(), "state"};
  run_world(2, [&] { save(state_of_parts(3), location, {.layout = layout}); });
  return location;
}

Location part(const Location& location, const char* name) {
  return {location.store, joined(location.name, name)};
}

TEST(SaveLayout, KnowsThePartsOfNames) {
  EXPECT_EQ(part_of_name("model.w"), "model_state");
  EXPECT_EQ(part_of_name("models"), "other_state");
  for (const char* name : {"model.w", "master.w", "optim.w", "ema.w", "step"})
    EXPECT_TRUE(is_part_folder(part_of_name(name)));
  EXPECT_FALSE(is_part_folder("model"));
}

TEST(SaveLayout, KeepsPartsInFoldersOfTheirOwn) {
  Location location = saved_parts(SaveLayout::modular);
  EXPECT_THAT(
      location.store->files("state"),
      ElementsAre("commit.json", "ema_state/rank_00000.safetensors",
                  "ema_state/rank_00001.safetensors", "manifest.json",
                  "master_weight/rank_00000.safetensors", "master_weight/rank_00001.safetensors",
                  "model_state/rank_00000.safetensors", "model_state/rank_00001.safetensors",
                  "optimizer_state/rank_00000.safetensors",
                  "optimizer_state/rank_00001.safetensors", "other_state/rank_00000.safetensors",
                  "other_state/rank_00001.safetensors"));
  EXPECT_THAT(verify(location), IsEmpty());
}

// The layout changes no bit, and a checkpoint of either layout is whole.
TEST(SaveLayout, HoldsWhatOneFileHolds) {
  Location parts = saved_parts(SaveLayout::modular), one = saved_parts(SaveLayout::one_file);
  EXPECT_THAT(diff(parts, one), IsEmpty());
  Location converted = {parts.store, "converted"};
  convert(parts, converted, {});
  EXPECT_THAT(diff(converted, one), IsEmpty());
  for (std::int64_t ranks : {1, 2, 3})
    run_world(ranks, [&] {
      StateDict state;
      state.add("model.w", zeros({5, 3}, DType::float32));
      load(state, parts, {.allow_unexpected = true});
      EXPECT_TRUE(same_bits(std::get<Tensor>(*state.find("model.w")),
                            sample_whole({5, 3}, DType::float32, 3 + 'm')));
    });
}

// Each part is loaded, read and checked alone.
TEST(SaveLayout, LoadsAPartAlone) {
  Location location = saved_parts(SaveLayout::modular);
  for (const char* name : {"model_state", "master_weight", "ema_state"})
    for (const std::string& file : location.store->files(joined("state", name)))
      EXPECT_THAT(file, HasSubstr("rank_"));
  run_world(3, [&] {
    StateDict model;
    model.add("model.w", zeros({5, 3}, DType::float32));
    model.add("model.b", zeros({5, 3}, DType::float32));
    load(model, part(location, "model_state"));
    EXPECT_TRUE(same_bits(std::get<Tensor>(*model.find("model.b")),
                          sample_whole({5, 3}, DType::float32, 3 + 'm')));
    StateDict rates;
    rates.add("optim.w.exp_avg", zeros({5, 3}, DType::float32));
    rates.add("optim.lr", 0.0);
    load(rates, part(location, "optimizer_state"));
    EXPECT_EQ(*std::get<JsonValue>(*rates.find("optim.lr")).get<double>(), 0.5);
    StateDict more;
    more.add("step", std::int64_t{0});
    EXPECT_THAT(error_text([&] { load(more, part(location, "model_state")); }),
                HasSubstr("only in the checkpoint: model.b, model.w"));
  });
  EXPECT_EQ(open(part(location, "ema_state")).catalog.tensors.size(), 1u);
  EXPECT_THAT(verify(part(location, "ema_state")), IsEmpty());
  Location model = {location.store, "model"};
  convert(part(location, "model_state"), model, {.format = safetensors_format});
  EXPECT_THAT(diff(part(location, "model_state"), model), IsEmpty());
}

// A problem of one part is reported for that part and for the whole.
TEST(SaveLayout, ChecksAPartAlone) {
  Location location = saved_parts(SaveLayout::modular);
  auto& store = static_cast<MemoryStore&>(*location.store);
  std::string file = "state/master_weight/rank_00001.safetensors";
  store.flip(file, *store.size(file) - 1, 2);
  EXPECT_THAT(verify(part(location, "master_weight")), ElementsAre(HasSubstr("is corrupt")));
  EXPECT_THAT(verify(location), ElementsAre(HasSubstr("is corrupt")));
  EXPECT_THAT(verify(part(location, "model_state")), IsEmpty());
  testing::add_file(store, "state/model_state/more", "");
  EXPECT_THAT(verify(part(location, "model_state")),
              Contains(HasSubstr("model_state/more: not a file of the checkpoint")));
  store.remove("state/commit.json");
  EXPECT_THAT(error_text([&] { open(part(location, "ema_state")); }),
              HasSubstr("the checkpoint was never finished"));
}

}  // namespace
}  // namespace simmesh::checkpoint
