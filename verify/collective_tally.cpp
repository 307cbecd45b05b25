#include "verify/collective_tally.h"

namespace simmesh {

Schema tally_schema(TalliedOps ops) {
  schema::Fields fields;
  for (CollectiveOp op : ops)
    fields.push_back(schema::expected(name_of(op), schema::integer({.min = 1})).or_absent());
  return schema::object(std::move(fields));
}

CollectiveTally tally_since(const std::array<std::uint32_t, Rank::counter_count>& before,
                            Rank& rank, TalliedOps ops) {
  CollectiveTally tally;
  for (CollectiveOp op : ops) {
    std::uint32_t count = rank.counters()[std::size_t(op)] - before[std::size_t(op)];
    if (count > 0) tally[name_of(op)] = count;
  }
  return tally;
}

CollectiveTally read_tally(const CaseField& field) {
  CollectiveTally tally;
  for (const std::string& name : field.keys()) tally[name] = field[name].integer();
  return without_zeros(std::move(tally));
}

CollectiveTally without_zeros(CollectiveTally tally) {
  std::erase_if(tally, [](const auto& entry) { return entry.second == 0; });
  return tally;
}

}  // namespace simmesh
