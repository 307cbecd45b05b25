#include "replay/report/all_to_all_matrix.h"

#include <string>
#include <utility>

namespace simmesh::replay {

namespace {

// Returns the elements that one member sends to each, by its splits, else by its list of tensors,
// else in equal parts.
std::vector<std::int64_t> sent(const RankProgram& rank, const ProgramStep& step,
                               std::size_t members) {
  auto splits = rank.numbers_in(step.in_split);
  if (splits.size() == members) return {splits.begin(), splits.end()};
  std::vector<std::int64_t> elements;
  auto inputs = rank.tensors_in(step.inputs);
  if (step.is_list && inputs.size() == members) {
    for (const ProgramTensor& tensor : inputs) elements.push_back(tensor.elements);
    return elements;
  }
  std::int64_t all = inputs.empty() ? 0 : inputs[0].elements;
  elements.assign(members, all / std::int64_t(members));
  return elements;
}

}  // namespace

std::vector<AllToAllMatrix> all_to_all_matrices(const ReplayProgram& program,
                                                const JobMeetings& meetings) {
  std::vector<AllToAllMatrix> matrices;
  for (const Meeting& meeting : meetings.collectives) {
    if (!meeting.is_complete()) continue;
    const auto& members = members_of(program, meeting);
    AllToAllMatrix matrix{.name = {}, .members = members, .elements = {}};
    for (std::size_t member = 0; member < members.size(); ++member) {
      const RankProgram& rank = program.ranks[std::size_t(members[member])];
      const ProgramStep& step = rank.steps[*meeting.steps[member]];
      if (step.comm != CommKind::all_to_all && step.comm != CommKind::all_to_allv) break;
      if (member == 0) {
        matrix.name = rank.texts[step.name];
        matrix.node = step.node;
        auto inputs = rank.tensors_in(step.inputs);
        if (!inputs.empty()) matrix.item_bytes = std::int64_t(bytes_per_element(inputs[0].dtype));
      }
      matrix.elements.push_back(sent(rank, step, members.size()));
    }
    if (matrix.elements.size() == members.size()) matrices.push_back(std::move(matrix));
  }
  return matrices;
}

}  // namespace simmesh::replay
