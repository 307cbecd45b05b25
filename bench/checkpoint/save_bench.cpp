#include <benchmark/benchmark.h>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>
#include <vector>

#include "checkpoint/load.h"
#include "checkpoint/save.h"
#include "checkpoint/store/directory_store.h"
#include "core/engine/world.h"
#include "core/memory/ledger.h"
#include "sharding/dtensor.h"

namespace simmesh::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t ranks = 4, saved_tensors = 64, rows = 4096, columns = 1024;
constexpr std::int64_t total_bytes = saved_tensors * rows * columns * 4;  // 1 GiB

template <class Body>
double time_of(const Body& body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A folder of its own for the benchmark, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("simmesh_bench_{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

StateDict state_on(const DeviceMesh& mesh, const Placement& placement) {
  StateDict state;
  for (std::int64_t i = 0; i < saved_tensors; ++i) {
    bool by_rows = placement.dim() == 0;
    Tensor local =
        zeros({by_rows ? rows / ranks : rows, by_rows ? columns : columns / ranks}, DType::float32);
    state.add(fmt::format("layer.{}", i),
              from_local(local, mesh, {placement}, {.shape = Shape{rows, columns}}).as_tensor());
  }
  return state;
}

// Runs a part of a World's work on all ranks and returns its seconds.
template <class Body>
double timed_on_ranks(const Placement& placement, const Body& body) {
  double seconds = 0;
  World world({.ranks = std::size_t(ranks)});
  world
      .run([&](Rank& rank) {
        DeviceMesh mesh = init_device_mesh({ranks});
        StateDict state = state_on(mesh, placement);
        double own = time_of([&] { body(state); });
        if (rank.id() == 0) seconds = own;
      })
      .rethrow();
  return seconds;
}

// What writing as many bytes costs at least: one file, synced; and what reading them does.
double plain_write(const fs::path& path) {
  std::vector<std::byte> bytes(std::size_t(total_bytes / ranks), std::byte{1});
  fs::remove(path);
  DirectoryStore store(path.parent_path().string());
  return time_of([&] {
    auto file = store.create(path.filename().string());
    for (std::int64_t i = 0; i < ranks; ++i) file->append(bytes);
    file->sync();
  });
}

double plain_read(const fs::path& path) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(total_bytes / ranks));
  DirectoryStore store(path.parent_path().string());
  return time_of([&] {
    for (std::int64_t i = 0; i < ranks; ++i)
      store.read(path.filename().string(), i * (total_bytes / ranks), bytes);
  });
}

// 1 GiB from and to four ranks, beside plain files: "save" and "load" are shares of the speed of
// those, at least 0.8; "other_layout" is how much longer a load takes that cuts along the other
// dim, at most 1.3.
void save_and_load(benchmark::State& state) {
  Folder folder;
  double write = 0, read = 0, saved = 0, loaded = 0, elsewhere = 0;
  int round = 0;
  for (auto _ : state) {
    Location location = Directory((folder.path / fmt::format("round_{}", round++)).string());
    write += plain_write(folder.path / "plain");
    saved += timed_on_ranks(Shard(0), [&](StateDict& values) { save(values, location); });
    read += plain_read(folder.path / "plain");
    loaded += timed_on_ranks(Shard(0), [&](StateDict& values) { load(values, location); });
    elsewhere += timed_on_ranks(Shard(1), [&](StateDict& values) { load(values, location); });
    fs::remove_all(folder.path / location.name);
  }
  state.counters["save"] = write / saved;
  state.counters["load"] = read / loaded;
  state.counters["least"] = 0.8;
  state.counters["other_layout"] = elsewhere / loaded;
  state.counters["most"] = 1.3;
}
BENCHMARK(save_and_load)->Name("checkpoint/1GiB")->Unit(benchmark::kMillisecond)->Iterations(2);

}  // namespace
}  // namespace simmesh::checkpoint
