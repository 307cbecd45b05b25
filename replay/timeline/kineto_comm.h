#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh::replay {

// kineto_ranks_max bounds the ranks of a job.
inline constexpr std::int64_t kineto_ranks_max = 10'000'000;

// KinetoComm is the description of a communication in a profiler's event: an operator
// "record_param_comms", an annotation "nccl:all_reduce" or, since PyTorch 2.3, the kernel itself.
struct KinetoComm {
  std::string name;  // "allreduce"
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::string dtype;  // in c10's words: "Float"
  std::vector<std::int64_t> in_split;
  std::vector<std::int64_t> out_split;
  std::int64_t group_size = 0;
  std::string group;                  // its name on this rank
  std::vector<std::int64_t> members;  // global ranks; empty where unknown
  std::int64_t rank = -1;             // within the group; of send and recv the peer
  std::string comms_id;

  bool is_known() const { return !name.empty(); }
};

// kineto_numbers reads a list of integers as the profiler writes it: "[1, 2, 3]". nullopt where it
// is cut ("[1, 2, ...]") or isn't one.
std::optional<std::vector<std::int64_t>> kineto_numbers(std::string_view text);

// kineto_ranks reads the ranks of a group of `size`. A list that was cut, as those of more than 30
// ranks are, continues by the distance of its first two; where that contradicts the size, or the
// last rank if the list has it, nothing is known and the result is empty.
std::vector<std::int64_t> kineto_ranks(std::string_view text, std::int64_t size);

// dtype_bytes returns the bytes of an element, for c10's name of a dtype; 0 for an unknown one.
std::int64_t dtype_bytes(std::string_view c10_name);

}  // namespace simmesh::replay
