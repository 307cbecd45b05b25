// Writes a checkpoint from four ranks, with tensors of every dtype and many layouts, and beside it
// the bytes of each whole tensor, for programs of other systems to compare with.
//
//   interop_samples FOLDER     writes FOLDER/ours, FOLDER/expected.json and FOLDER/expected/N.bin

#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/save_load/save.h"
#include "core/engine/world.h"
#include "mesh/device_mesh.h"
#include "tests/checkpoint/sample_state.h"

namespace simmesh::checkpoint {
namespace {

constexpr std::uint64_t sample_round = 3;

std::vector<testing::SampleTensor> interop_tensors() {
  std::vector<testing::SampleTensor> samples;
  auto add = [&](const std::string& name, Shape shape, DType dtype, Placements placements) {
    samples.push_back({name, std::move(shape), dtype, std::move(placements)});
  };
  for (DType dtype : all_dtypes) {
    std::string name(to_string(dtype));
    add(name + ".rows", {5, 3}, dtype, {Shard(0), Replicate()});
    add(name + ".both", {6, 5}, dtype, {Shard(0), Shard(1)});
    add(name + ".twice", {7}, dtype, {Shard(0), Shard(0)});
    add(name + ".strided", {8, 3}, dtype, {StridedShard(0, 2), Shard(0)});
    add(name + ".few", {1, 4}, dtype, {Shard(0), Shard(0)});
    add(name + ".none", {0, 3}, dtype, {Shard(0), Replicate()});
    add(name + ".scalar", {}, dtype, {});
  }
  return samples;
}

void write_expected(const std::filesystem::path& folder) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::filesystem::create_directories(folder / "expected");
  for (const testing::SampleTensor& sample : interop_tensors()) {
    std::string file = fmt::format("expected/{}.bin", list.size());
    std::vector<std::byte> bytes =
        packed(testing::sample_whole(sample.shape, sample.dtype, sample_round));
    std::ofstream(folder / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    list.push_back({{"name", sample.name},
                    {"dtype", std::string(to_string(sample.dtype))},
                    {"shape", std::vector(sample.shape.begin(), sample.shape.end())},
                    {"file", file}});
  }
  std::ofstream(folder / "expected.json") << list.dump(1) << "\n";
}

int write_samples(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  World world({.ranks = 4});
  auto outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2, 2}, {"dp", "tp"});
    StateDict state = testing::sample_state(mesh, interop_tensors(), sample_round);
    state.add("rate", 0.1);
    state.add("note", "from four ranks");
    save(state, Directory((folder / "ours").string()));
  });
  if (!outcome.ok()) {
    fmt::print(stderr, "{}\n", report(outcome));
    return 1;
  }
  write_expected(folder);
  return 0;
}

}  // namespace
}  // namespace simmesh::checkpoint

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: interop_samples FOLDER\n");
    return 2;
  }
  return simmesh::checkpoint::write_samples(arguments[1]);
}
