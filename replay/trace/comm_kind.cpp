#include "replay/trace/comm_kind.h"

#include <array>
#include <string>

namespace simmesh::replay {

namespace {

// Spelling is a recorded name in lower case, without digits and signs.
struct Spelling {
  std::string_view letters;
  CommKind kind;
  bool takes_any_source = false;
};

constexpr std::array<Spelling, 32> spellings = {{
    {"allreduce", CommKind::all_reduce},
    {"allreducecoalesced", CommKind::all_reduce_coalesced},
    {"broadcast", CommKind::broadcast},
    {"broadcastoop", CommKind::broadcast},
    {"reduce", CommKind::reduce},
    {"reduceoop", CommKind::reduce},
    {"allgather", CommKind::all_gather},
    {"allgatherv", CommKind::all_gather},
    {"allgatherbase", CommKind::all_gather_base},
    {"allgatherintotensor", CommKind::all_gather_base},
    {"allgathercoalesced", CommKind::all_gather_coalesced},
    {"allgatherintotensorcoalesced", CommKind::all_gather_coalesced},
    {"reducescatter", CommKind::reduce_scatter},
    {"reducescatterv", CommKind::reduce_scatter},
    {"reducescatterbase", CommKind::reduce_scatter_base},
    {"reducescattertensor", CommKind::reduce_scatter_base},
    {"reducescattercoalesced", CommKind::reduce_scatter_coalesced},
    {"reducescattertensorcoalesced", CommKind::reduce_scatter_coalesced},
    {"alltoall", CommKind::all_to_all},
    {"alltoallv", CommKind::all_to_allv},
    {"alltoallbase", CommKind::all_to_allv},
    {"alltoallsingle", CommKind::all_to_allv},
    {"gather", CommKind::gather},
    {"scatter", CommKind::scatter},
    {"send", CommKind::send},
    {"isend", CommKind::send},
    {"recv", CommKind::recv},
    {"irecv", CommKind::recv},
    {.letters = "recvanysource", .kind = CommKind::recv, .takes_any_source = true},
    {"barrier", CommKind::barrier},
    {"wait", CommKind::wait},
    {"init", CommKind::init},
}};

std::string letters_of(std::string_view name) {
  std::string kept;
  for (char byte : name) {
    if (byte >= 'A' && byte <= 'Z') byte = char(byte - 'A' + 'a');
    if (byte >= 'a' && byte <= 'z') kept += byte;
  }
  return kept;
}

const Spelling* spelling_of(std::string_view recorded_name) {
  std::string letters = letters_of(recorded_name);
  for (const Spelling& known : spellings)
    if (letters == known.letters) return &known;
  return nullptr;
}

}  // namespace

CommKind comm_kind(std::string_view recorded_name) {
  const Spelling* known = spelling_of(recorded_name);
  return known ? known->kind : CommKind::unknown;
}

bool takes_any_source(std::string_view recorded_name) {
  const Spelling* known = spelling_of(recorded_name);
  return known && known->takes_any_source;
}

std::string_view to_string(CommKind kind) {
  constexpr std::array<std::string_view, 20> names = {"unknown",
                                                      "all_reduce",
                                                      "all_reduce_coalesced",
                                                      "broadcast",
                                                      "reduce",
                                                      "all_gather",
                                                      "all_gather_base",
                                                      "all_gather_into_tensor_coalesced",
                                                      "reduce_scatter",
                                                      "reduce_scatter_base",
                                                      "reduce_scatter_tensor_coalesced",
                                                      "all_to_all",
                                                      "all_to_allv",
                                                      "gather",
                                                      "scatter",
                                                      "send",
                                                      "recv",
                                                      "barrier",
                                                      "wait",
                                                      "init"};
  return names[std::size_t(kind)];
}

bool has_data(CommKind kind) {
  return kind != CommKind::unknown && kind != CommKind::barrier && kind != CommKind::wait &&
         kind != CommKind::init;
}

bool is_message(CommKind kind) { return kind == CommKind::send || kind == CommKind::recv; }

}  // namespace simmesh::replay
