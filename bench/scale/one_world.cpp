#include <charconv>
#include <cstring>
#include <ctime>
#include <fmt/core.h>
#include <fstream>
#include <string>
#include <string_view>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/engine/world.h"

// Runs one world, and prints its cost as a JSON object: `one_world KIND RANKS`. On every rank that
// runs, the program reduces 256 floats over all ranks and meets a barrier. The time is the
// processor's, from the making of the world to its end; the bytes are those by which the process
// grew at most. A process runs one world, so that its largest size is that of this world.
namespace simmesh {
namespace {

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// Returns the largest size of this program, without that of the process that started it.
std::int64_t largest_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stoll(line.substr(6));
  raise(ErrorKind::runtime_error, "bench/scale", "expected a VmHWM in /proc/self/status");
}

WorldOptions options_of(std::string_view kind, std::size_t ranks) {
  if (kind != "data" && kind != "shapes" && kind != "folded")
    raise(ErrorKind::value_error, "bench/scale", "expected data, shapes or folded, got '{}'", kind);
  return {.ranks = ranks, .shapes_only = kind != "data", .fold = kind == "folded"};
}

void run_rank(bool has_data, std::size_t ranks) {
  ProcessGroup group = ProcessGroup::world();
  Tensor sum = all_reduce(full({256}, DType::float32, 1), ReduceOp::sum, group);
  barrier(group);
  if (has_data &&
      (sum.values<float>()[0] != float(ranks) || sum.values<float>()[255] != float(ranks)))
    raise(ErrorKind::runtime_error, "bench/scale", "expected a sum of {}, got {}", ranks,
          sum.values<float>()[0]);
}

int run_world(std::string_view kind, std::size_t ranks) {
  WorldOptions options = options_of(kind, ranks);
  std::int64_t before = largest_bytes();
  double begin = processor_seconds();
  {
    World world(options);
    world.run([&](Rank&) { run_rank(!options.shapes_only, ranks); }).rethrow();
  }
  double seconds = processor_seconds() - begin;
  fmt::print("{{\"kind\": \"{}\", \"ranks\": {}, \"seconds\": {:.9f}, \"bytes\": {}}}\n", kind,
             ranks, seconds, largest_bytes() - before);
  return 0;
}

int run(int argc, char** argv) {
  if (argc != 3)
    raise(ErrorKind::value_error, "bench/scale", "expected a kind and a number of ranks");
  std::size_t ranks = 0;
  const char* end = argv[2] + std::strlen(argv[2]);
  if (std::from_chars(argv[2], end, ranks).ptr != end)
    raise(ErrorKind::value_error, "bench/scale", "expected a number of ranks, got '{}'", argv[2]);
  return run_world(argv[1], ranks);
}

}  // namespace
}  // namespace simmesh

int main(int argc, char** argv) {
  try {
    return simmesh::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
