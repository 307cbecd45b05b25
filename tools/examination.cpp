#include "tools/examination.h"

#include <array>
#include <cerrno>
#include <fmt/core.h>
#include <fstream>
#include <sys/resource.h>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/self_check.h"
#include "core/check/bits_hash.h"
#include "core/check/repro.h"
#include "core/check/scarcity.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

// Hashes a sum of eight operands, whose bits must be the same on every machine.
std::string sum_hash(const Arithmetic& arithmetic, DType dtype) {
  std::vector<Tensor> operands;
  std::vector<const std::byte*> data;
  for (std::uint64_t i = 0; i < 8; ++i)
    operands.push_back(self_check_values(Dims{1000}, dtype, 100 + i));
  data.reserve(operands.size());
  for (const Tensor& operand : operands) data.push_back(operand.data());
  Tensor result = empty({1000}, dtype);
  compute(arithmetic, Reduction{.op = ReduceOp::avg,
                                .dtype = dtype,
                                .operands = data,
                                .count = 1000,
                                .result = result.mutable_data()});
  return fmt::format("{:016x}", bits_hash({result.data(), result.bytes()}));
}

struct OrderCheck {
  const char* arithmetic;
  DType dtype;
  const char* expected;
};

// These hashes are those of gcc 12 and of clang 14.
constexpr std::array<OrderCheck, 11> order_checks = {{
    {"canonical", DType::float64, "f24dda11c79ded99"},
    {"canonical", DType::float32, "aaf8c083b7c67c57"},
    {"canonical", DType::bfloat16, "0a8e39c5807ed56e"},
    {"canonical", DType::float16, "7e52a0430ef0ce06"},
    {"exact", DType::float32, "e65fee79ad769c16"},
    {"exact", DType::float64, "27887093402c2ff6"},
    {"exact", DType::bfloat16, "2131717410f77593"},
    {"exact", DType::float16, "70fa8c90ccdcc1f7"},
    {"as_nccl_ring", DType::float32, "a1adeb253dfefcbd"},
    {"as_nccl_tree", DType::float32, "20f5d4d13ca691d1"},
    {"as_gloo_ring", DType::float32, "c3bdff012d3be109"},
}};

std::string first_line_with(const char* path, const std::string& prefix) {
  std::ifstream file(path);
  if (!file && Scarcity::is_cause(errno)) Scarcity::note(fmt::format("can't open {}", path));
  std::string line;
  while (std::getline(file, line))
    if (line.compare(0, prefix.size(), prefix) == 0) {
      auto colon = line.find(':');
      auto begin = line.find_first_not_of(" \t", colon == line.npos ? 0 : colon + 1);
      return begin == line.npos ? "" : line.substr(begin);
    }
  return "unknown";
}

std::string stack_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

// Runs a world without collectives, to test that fibers can be made and switched.
std::string fibers_work() {
  World world({.ranks = 64});
  Outcome outcome = world.run([](Rank& rank) { rank.record(rank.id()); });
  return outcome.ok() ? "ok" : report(outcome);
}

}  // namespace

std::vector<Finding> examine() {
  std::vector<Finding> findings = {
      {"version", std::string(version()), ""},
      {"revision", std::string(revision()), ""},
      {"compiler", __VERSION__, ""},
      {"processor", first_line_with("/proc/cpuinfo", "model name"), ""},
      {"fused multiply-add", __builtin_cpu_supports("fma") ? "yes" : "no", ""},
      {"AVX2", __builtin_cpu_supports("avx2") ? "yes" : "no", ""},
      {"AVX-512", __builtin_cpu_supports("avx512f") ? "yes" : "no", ""},
      {"memory", first_line_with("/proc/meminfo", "MemTotal"), ""},
      {"stack limit", stack_limit(), ""},
      {"overcommit", first_line_with("/proc/sys/vm/overcommit_memory", ""), ""},
      {"mappings allowed", first_line_with("/proc/sys/vm/max_map_count", ""), ""},
      {"fibers", fibers_work(), "ok"},
  };
  for (const OrderCheck& check : order_checks)
    findings.push_back({fmt::format("{} {}", check.arithmetic, to_string(check.dtype)),
                        sum_hash(Arithmetic::parse(check.arithmetic), check.dtype),
                        check.expected});
  for (const SelfCheck& check : self_checks())
    for (InstructionSet set : available_instruction_sets())
      findings.push_back({fmt::format("{} {}", check.name, to_string(set)),
                          check.computed(set) == check.expected ? "ok" : "differs", "ok"});
  return findings;
}

}  // namespace simmesh
