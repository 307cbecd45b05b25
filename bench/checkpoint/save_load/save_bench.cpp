#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <unistd.h>
#include <vector>

#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/store/directory_store.h"
#include "collectives/collectives.h"
#include "core/check/check.h"
#include "core/engine/world.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t ranks = 4;
constexpr int rounds = 5;

// Float32 tensors that four ranks hold, cut by rows.
struct Work {
  const char* name;
  std::int64_t tensors, rows, columns;

  std::int64_t bytes() const { return tensors * rows * columns * 4; }
};
constexpr Work gibibyte = {"1GiB", 64, 4096, 1024}, many = {"4096_tensors", 4096, 4, 256},
               many_larger = {"256MiB", 4096, 64, 256};

// Medium is where the files are: in a folder of the disk, or in memory.
struct Medium {
  const char* name;
  const char* folder;  // the folder for temporary files where it is null
};
constexpr Medium disk = {"disk", nullptr}, memory = {"memory", "/dev/shm"};

// A folder of its own for the benchmark, removed at the end.
struct Folder {
  fs::path path;
  explicit Folder(const Medium& medium)
      : path((medium.folder ? fs::path(medium.folder) : fs::temp_directory_path()) /
             fmt::format("simmesh_bench_{}", ::getpid())) {
    fs::create_directories(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
};

template <class Body>
double time_of(const Body& body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

StateDict state_on(const DeviceMesh& mesh, const Work& work, std::int64_t dim, double value) {
  StateDict state;
  Shape local = {work.rows, work.columns};
  local[std::size_t(dim)] /= ranks;
  for (std::int64_t i = 0; i < work.tensors; ++i)
    state.add(fmt::format("layer.{}", i),
              from_local(full(local, DType::float32, value), mesh, {Shard(dim)},
                         {.shape = Shape{work.rows, work.columns}})
                  .as_tensor());
  return state;
}

bool has_only_ones(const Tensor& tensor) {
  auto values = tensor.values<float>();
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 1; });
}

bool has_only_ones(const StateDict& state) {
  for (const StateDict::Entry& entry : state.entries())
    if (!has_only_ones(std::get<Tensor>(entry.value).local_part())) return false;
  return true;
}

// Runs a part of a World's work on all ranks, which then hold ones. Returns its seconds: from when
// the first rank begins until all have done it, before any rank reads the result.
template <class Body>
double timed_on_ranks(const Work& work, std::int64_t dim, double value, const Body& body) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> started, ended;
  World world({.ranks = std::size_t(ranks)});
  world
      .run([&](Rank&) {
        DeviceMesh mesh = init_device_mesh({ranks});
        StateDict state = state_on(mesh, work, dim, value);
        barrier(ProcessGroup::world());
        if (!started) started = Clock::now();
        body(state);
        barrier(ProcessGroup::world());
        if (!ended) ended = Clock::now();
        SIMMESH_CHECK(has_only_ones(state), "{}: other values were loaded", work.name);
      })
      .rethrow();
  return std::chrono::duration<double>(*ended - *started).count();
}

// PlainFile is a file of as many bytes, with the fastest way to handle it: it is copied or written
// in blocks, and the program waits until they are on disk; or it is read into one block.
class PlainFile {
 public:
  PlainFile(const fs::path& folder, std::int64_t bytes)
      : source_((folder / "source").string()),
        target_((folder / "target").string()),
        bytes_(bytes),
        block_(std::size_t(4) << 20, std::byte{1}) {
    int file = open_or_fail(source_, O_WRONLY | O_CREAT);
    write_blocks(file);
    ::close(file);
  }

  double seconds_of_copying() {
    return seconds_to_target([&](int to) {
      int from = open_or_fail(source_, O_RDONLY);
      while (ssize_t count = ::read(from, block_.data(), block_.size()))
        write_block(to, std::size_t(count));
      ::close(from);
    });
  }
  double seconds_of_writing() {
    return seconds_to_target([&](int to) { write_blocks(to); });
  }
  double seconds_of_reading() {
    return time_of([&] {
      int from = open_or_fail(source_, O_RDONLY);
      while (::read(from, block_.data(), block_.size()) > 0) continue;
      ::close(from);
    });
  }

 private:
  static int open_or_fail(const std::string& path, int flags) {
    int file = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    SIMMESH_CHECK(file >= 0, "can't open {}", path);
    return file;
  }
  template <class Body>
  double seconds_to_target(const Body& body) {
    double taken = time_of([&] {
      int to = open_or_fail(target_, O_WRONLY | O_CREAT);
      body(to);
      SIMMESH_CHECK(::fsync(to) == 0, "can't sync {}", target_);
      ::close(to);
    });
    fs::remove(target_);
    return taken;
  }
  void write_blocks(int file) {
    for (std::int64_t at = 0; at < bytes_; at += std::int64_t(block_.size()))
      write_block(file, std::min(block_.size(), std::size_t(bytes_ - at)));
  }
  void write_block(int file, std::size_t bytes) {
    SIMMESH_CHECK(::write(file, block_.data(), bytes) == ssize_t(bytes), "can't write {} bytes",
                  bytes);
  }

  std::string source_, target_;
  std::int64_t bytes_;
  std::vector<std::byte> block_;
};

// Seconds of each round.
struct Seconds {
  std::vector<double> of_rounds;

  double least() const { return *std::min_element(of_rounds.begin(), of_rounds.end()); }
  double median() const {
    std::vector<double> sorted = of_rounds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

struct Measured {
  Seconds copy, write, read, save, load, other_layout;
};

// Each round measures everything once, so that all of it meets the same noise; files that others
// write are written before. Files are in the page cache when they are read.
Measured measure(const Work& work, const Medium& medium) {
  Folder folder(medium);
  PlainFile plain(folder.path, work.bytes());
  Measured measured;
  for (int round = 0; round < rounds; ++round) {
    Location location = Directory((folder.path / fmt::format("round_{}", round)).string());
    auto loaded = [&](StateDict& state) { load(state, location); };
    if (!medium.folder) ::sync();
    measured.write.of_rounds.push_back(plain.seconds_of_writing());
    measured.copy.of_rounds.push_back(plain.seconds_of_copying());
    measured.save.of_rounds.push_back(
        timed_on_ranks(work, 0, 1, [&](StateDict& state) { save(state, location); }));
    measured.read.of_rounds.push_back(plain.seconds_of_reading());
    measured.load.of_rounds.push_back(timed_on_ranks(work, 0, 0, loaded));
    measured.other_layout.of_rounds.push_back(timed_on_ranks(work, 1, 0, loaded));
    location.store->remove(location.name);
  }
  return measured;
}

// Measures the figures of one work on one medium together, for several benchmarks; nullptr where
// there is no such medium.
const Measured* measured(const Work& work, const Medium& medium) {
  static std::map<std::pair<const Work*, const Medium*>, Measured> known;
  if (medium.folder) {
    std::error_code error;
    fs::space_info space = fs::space(medium.folder, error);
    if (error || space.available < std::uintmax_t{3} << 30) return nullptr;
  }
  auto found = known.find({&work, &medium});
  if (found == known.end())
    found = known.emplace(std::pair(&work, &medium), measure(work, medium)).first;
  return &found->second;
}

// The time is the least of the rounds; ratios are those of medians.
void show(benchmark::State& state, const Work& work, const Medium& medium,
          Seconds Measured::*figure) {
  const Measured* all = measured(work, medium);
  if (!all) {
    state.SkipWithError("no /dev/shm with room for 3 GiB");
    return;
  }
  while (state.KeepRunning()) state.SetIterationTime((all->*figure).least());
  double median = (all->*figure).median();
  bool is_bound = work.bytes() >= std::int64_t{1} << 30;
  if (figure == &Measured::save || figure == &Measured::load) {
    state.counters["of_copy"] = all->copy.median() / median;
    if (is_bound) state.counters["least"] = 0.8;
  }
  if (figure == &Measured::load) state.counters["of_read"] = all->read.median() / median;
  if (figure == &Measured::other_layout) {
    state.counters["of_load"] = median / all->load.median();
    if (is_bound) state.counters["most"] = 1.3;
  }
}

void once(benchmark::internal::Benchmark* figure) {
  figure->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
}

// Saves from and loads to four ranks, beside a plain copy of as many bytes, synced to disk:
// "of_copy" is the share of its speed, at least 0.8 for 1 GiB; "of_read" the share of the speed of
// reading the bytes from the page cache; "of_load" how much longer a load takes that cuts along the
// other dim, at most 1.3 times for 1 GiB.
void show_all(const Work& work, const Medium& medium) {
  struct Figure {
    const char* name;
    Seconds Measured::*seconds;
  };
  for (const Figure& figure :
       {Figure{"copy", &Measured::copy}, Figure{"write", &Measured::write},
        Figure{"read", &Measured::read}, Figure{"save", &Measured::save},
        Figure{"load", &Measured::load}, Figure{"load_other_layout", &Measured::other_layout}}) {
    std::string name = fmt::format("checkpoint/{}/{}/{}", figure.name, work.name, medium.name);
    benchmark::RegisterBenchmark(name.c_str(), [&work, &medium,
                                                seconds = figure.seconds](benchmark::State& state) {
      show(state, work, medium, seconds);
    })->Apply(once);
  }
}

const bool are_registered = [] {
  for (const Work* work : {&gibibyte, &many_larger, &many})
    for (const Medium* medium : {&disk, &memory}) show_all(*work, *medium);
  return true;
}();

}  // namespace
}  // namespace simmesh::checkpoint
