#include "checkpoint/deepspeed/deepspeed_checkpoint.h"
#include "checkpoint/format/formats.h"

namespace simmesh::checkpoint {

namespace {

std::optional<OpenCheckpoint> open_deepspeed(const Location& location) {
  auto files = find_deepspeed_files(*location.store, location.name);
  if (!files) return std::nullopt;
  return OpenCheckpoint{read_deepspeed(*location.store, *files), files->folder};
}

std::vector<std::string> problems_of_deepspeed(const Location& location,
                                               const OpenCheckpoint& opened) {
  return deepspeed_problems(*location.store, *find_deepspeed_files(*location.store, opened.folder));
}

}  // namespace

const Format deepspeed_format = {.name = "deepspeed",
                                 .title = "DeepSpeed's",
                                 .marks = "*_states.pt",
                                 .opens = open_deepspeed,
                                 .problems = problems_of_deepspeed};

}  // namespace simmesh::checkpoint
