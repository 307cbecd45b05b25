#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/search/search_part.h"
#include "core/shards/job_shard.h"

namespace simmesh {

// SearchState is a search between two runs: all that is needed to go on with it.
struct SearchState {
  std::uint64_t program = 0;  // names the program and its options
  JobShard shard;
  KnownOrders known;
  SearchFindings findings;
  std::uint64_t given_up = 0;
  bool has_begun = false;       // the first class was run, whose data hash all others must have
  std::uint64_t data_hash = 0;  // of that class
  bool has_touches = false;     // it uses what depends on the order
  std::vector<SearchPart> parts = {};

  // to_text writes a state so that search_state_from reads it.
  std::string to_text() const;
};

// search_state_from reads a state. Raises a ValueError that names the line for a text that isn't
// one.
SearchState search_state_from(std::string_view text);

// united puts the shards of a search together: the search goes on with what waits in any of them.
// Where a shard knows more than another one, the search begins again with what they know together.
// Raises a ValueError if the states are not the shards of one search.
SearchState united(std::vector<SearchState> shards);

}  // namespace simmesh
