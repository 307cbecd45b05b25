#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "gate/runner.h"
#include "replay/chakra/chakra_order.h"
#include "replay/chakra/read_chakra.h"
#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"
#include "replay/read/unpack.h"
#include "replay/run/meetings.h"
#include "replay/run/replay_job.h"
#include "replay/run/serial_oracle.h"
#include "replay/trace/replay_list.h"
#include "replay/validate/validate_job.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

// Gates of each form of parallelism: uneven shards, uneven all-to-alls, messages, prefetches.
const std::vector<std::string> recorded_gates = {
    "tensor_parallel", "zero3", "mlp", "uneven", "expert_parallel", "hsdp", "context_parallel"};

struct RecordedGate {
  std::uint64_t data_hash = 0;
  std::map<std::string, std::uint64_t> calls;  // of rank 0
  std::map<std::string, std::string> files;
};

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

RecordedGate record_gate(const std::string& name, const std::string& schedule,
                         const testing::TemporaryFolder& folder, bool records = true) {
  GateFile gate = read_gate(SIMMESH_SOURCE_DIR "/examples/gates/" + name + ".toml");
  GateRunOptions options;
  options.schedule = schedule;
  options.threads = 2;
  std::string path = (folder.path() / fmt::format("{}-{}", name, schedule.substr(0, 3))).string();
  TraceFolders folders;
  if (records) folders = {.execution_traces = path, .chakra = path};
  GateRunner runner(gate, options, folders);
  GateRun run = runner.run({.schedule = runner.schedule_at(0), .is_traced = true});
  EXPECT_TRUE(run.outcome.ok()) << report(run.outcome);
  RecordedGate result;
  result.data_hash = run.outcome.data_hash;
  for (std::size_t op = 0; op < collective_op_count; ++op)
    if (run.ranks[0].calls[op] > 0)
      result.calls[name_of(CollectiveOp(op))] += run.ranks[0].calls[op];
  if (!records) return result;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    result.files[entry.path().filename()] = bytes_of_file(entry.path());
  return result;
}

// Returns the operation of a recorded name, in the words of collectives.h.
std::map<std::string, std::uint64_t> recorded_calls(const replay::ExecutionTrace& trace) {
  static const std::map<std::string_view, std::string> words = {
      {"allreduce", "all_reduce"},
      {"allreduce_coalesced", "all_reduce"},
      {"_allgather_base", "all_gather"},
      {"all_gather", "all_gather"},
      {"allgather_into_tensor_coalesced", "all_gather"},
      {"_reduce_scatter_base", "reduce_scatter"},
      {"reduce_scatter", "reduce_scatter"},
      {"reduce_scatter_tensor_coalesced", "reduce_scatter"},
      {"all_to_allv", "all_to_all"},
      {"all_to_all", "all_to_all_list"},
      {"broadcast", "broadcast"},
      {"barrier", "barrier"}};
  std::map<std::string, std::uint64_t> calls;
  for (const replay::TraceComm& comm : trace.comms) {
    auto word = words.find(trace.text(comm.name));
    if (word != words.end()) ++calls[word->second];
  }
  return calls;
}

// Joins operations that have one recorded name.
std::map<std::string, std::uint64_t> told_apart_by_name(
    std::map<std::string, std::uint64_t> calls) {
  for (auto [from, to] :
       {std::pair("all_gather_list", "all_gather"), std::pair("broadcast_object", "broadcast")}) {
    auto found = calls.find(from);
    if (found == calls.end()) continue;
    calls[to] += found->second;
    calls.erase(found);
  }
  return calls;
}

TEST(RecordGate, ChangesNothingAndIsTheSameUnderEverySchedule) {
  testing::TemporaryFolder folder;
  for (const std::string& name : recorded_gates) {
    std::uint64_t data_hash = record_gate(name, "fifo", folder, false).data_hash;
    RecordedGate first = record_gate(name, "fifo", folder);
    EXPECT_EQ(first.data_hash, data_hash) << name;
    for (const char* schedule : {"seeded:3", "pct:3"}) {
      RecordedGate other = record_gate(name, schedule, folder);
      EXPECT_EQ(other.data_hash, data_hash) << name;
      EXPECT_TRUE(other.files == first.files) << name << " under " << schedule;
    }
  }
}

// The trace of a run is one of a sound job, has all of its collectives, and replays as the serial
// oracle does.
TEST(RecordGate, CanBeReadCheckedAndReplayed) {
  testing::TemporaryFolder folder;
  for (const std::string& name : recorded_gates) {
    SCOPED_TRACE(name);
    RecordedGate recorded = record_gate(name, "fifo", folder);
    std::string path = (folder.path() / (name + "-fif")).string();
    replay::TraceJob job = replay::read_job({{path}});
    EXPECT_EQ(job.ranks.size() * 2, recorded.files.size());
    EXPECT_EQ(recorded_calls(job.ranks[0].trace), told_apart_by_name(recorded.calls));
    for (const replay::Finding& finding : replay::validate(job))
      EXPECT_NE(finding.severity, replay::Severity::error) << to_string(finding);
    const replay::ExecutionTrace& trace = job.ranks[0].trace;
    EXPECT_GT(replay_list(trace, tree_of(trace)).steps.size(), 0);
    replay::Findings findings;
    replay::ReplayProgram program =
        replay::make_program(job, replay::resolve_groups(job, findings));
    EXPECT_TRUE(program.warnings.empty()) << to_string(program.warnings.front());
    replay::JobReplay again = replay::replay_job(program);
    EXPECT_TRUE(again.outcome.ok()) << report(again.outcome);
    std::size_t compared = 0;
    EXPECT_EQ(
        replay::differences(program, replay::serial_oracle(program, replay::meetings_of(program)),
                            again.outputs, &compared),
        std::vector<std::string>());
    EXPECT_GT(compared, 0);
    for (const auto& [file, bytes] : recorded.files) {
      if (!file.ends_with(".et")) continue;
      replay::TextSource source(file, bytes);
      replay::ChakraTrace graph = replay::read_chakra(source);
      EXPECT_EQ(replay::chakra_order(graph).size(), graph.nodes.size()) << file;
    }
  }
}

}  // namespace
}  // namespace simmesh
