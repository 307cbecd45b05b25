#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <ctime>
#include <fstream>
#include <malloc.h>
#include <simdjson.h>
#include <string>
#include <vector>

#include "replay/read/read_execution_trace.h"
#include "replay/read/unpack.h"
#include "replay/trace/trace_summary.h"

namespace simmesh::replay {
namespace {

const std::string packed_trace =
    SIMMESH_SOURCE_DIR "/tests/cases/replay/resnet_2gpu_et.1.1.0.json.gz";

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

template <class Body>
double seconds_of(const Body& body) {
  double start = processor_seconds();
  body();
  return processor_seconds() - start;
}

// Returns the bytes of a file, unpacked, followed by the padding that simdjson needs.
std::vector<char> unpacked_bytes() {
  std::vector<char> bytes(1 << 20);
  std::size_t count = 0;
  for_each_file(packed_trace, [&](ByteSource& source) {
    while (std::size_t more = source.read(gsl::span(bytes).subspan(
               count, bytes.size() - count - simdjson::SIMDJSON_PADDING))) {
      count += more;
      if (bytes.size() - count == simdjson::SIMDJSON_PADDING) bytes.resize(2 * bytes.size());
    }
  });
  bytes.resize(count + simdjson::SIMDJSON_PADDING);
  return bytes;
}

// Reads and summarises a trace of 12 MB, beside unpacking it and parsing it with simdjson alone,
// whose parser keeps its memory from one run to the next; "ratio" is at most 2. Both are measured
// in processor time. The time of an iteration is wall time: unpacking runs beside parsing.
void read_and_summarize(benchmark::State& state) {
  double ours = 1e9, parsing = 1e9, wall = 1e9;
  simdjson::dom::parser parser;
  for ([[maybe_unused]] auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    ours = std::min(ours, seconds_of([&] {
                      ExecutionTrace trace = read_execution_trace(packed_trace);
                      benchmark::DoNotOptimize(summarize(trace).operators);
                    }));
    wall = std::min(
        wall, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    parsing = std::min(parsing, seconds_of([&] {
                         std::vector<char> bytes = unpacked_bytes();
                         simdjson::dom::element root = parser.parse(
                             bytes.data(), bytes.size() - simdjson::SIMDJSON_PADDING, false);
                         benchmark::DoNotOptimize(root.is_object());
                       }));
    state.SetIterationTime(wall);
  }
  state.counters["ratio"] = ours / parsing;
  state.counters["limit"] = 2;
}
BENCHMARK(read_and_summarize)
    ->Name("execution_trace/read_and_summarize")
    ->UseManualTime()
    ->Iterations(15)
    ->Unit(benchmark::kMillisecond);

// Returns the most memory that this process had since the last call; -1 where the system doesn't
// tell.
double peak_bytes_since_last() {
  double kibibytes = -1;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) kibibytes = std::stod(line.substr(6));
  std::ofstream("/proc/self/clear_refs") << "5";
  return 1024 * kibibytes;
}

// Measures the memory that a reader adds at most, beside the size of the unpacked file; "ratio" is
// at most 2.
void memory_of_reading(benchmark::State& state) {
  auto file_bytes = double(unpacked_bytes().size());
  double ratio = 0;
  for ([[maybe_unused]] auto _ : state) {
    malloc_trim(0);
    peak_bytes_since_last();
    double before = peak_bytes_since_last();
    ExecutionTrace trace = read_execution_trace(packed_trace);
    benchmark::DoNotOptimize(summarize(trace).operators);
    ratio = (peak_bytes_since_last() - before) / file_bytes;
  }
  state.counters["ratio"] = ratio;
  state.counters["limit"] = 2;
}
BENCHMARK(memory_of_reading)->Name("execution_trace/memory")->Iterations(1);

}  // namespace
}  // namespace simmesh::replay
