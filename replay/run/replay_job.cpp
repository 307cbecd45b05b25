#include "replay/run/replay_job.h"

#include "core/check/error.h"
#include "core/engine/reports/shortage.h"

namespace simmesh::replay {

std::int64_t data_bytes(const ReplayProgram& program) {
  std::int64_t bytes = 0;
  for (const RankProgram& rank : program.ranks)
    for (const ProgramStorage& storage : rank.storages)
      if (storage.communicates) bytes += storage.bytes;
  return bytes;
}

JobReplay replay_job(const ReplayProgram& program, ReplayJobOptions options) {
  if (options.run.warm_up < 0 || options.run.iterations < 0)
    raise(ErrorKind::value_error, "replay/replay_job",
          "expected numbers of iterations of at least 0, got {} for warm-up and {}",
          options.run.warm_up, options.run.iterations);
  options.world.ranks = program.ranks.size();
  if (data_bytes(program) > options.data_bytes_max) options.world.shapes_only = true;
  if (options.world.device) options.world.device->checks_races = false;
  JobReplay replay;
  replay.outputs.resize(program.ranks.size());
  World world(options.world);
  replay.outcome = world.run([&](Rank& rank) {
    replay.outputs[rank.id()] = RankReplay(program, rank.id(), options.run).run();
  });
  raise_shortage(replay.outcome);
  return replay;
}

}  // namespace simmesh::replay
