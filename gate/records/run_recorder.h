#pragma once

#include <optional>
#include <vector>

#include "collectives/comm_event.h"
#include "core/engine/ranks/observer_scope.h"
#include "core/engine/world.h"
#include "core/ops/op_span.h"
#include "gate/records/memory_samples.h"
#include "gate/records/sharding_pictures.h"

namespace simmesh {

struct RunRecords;

// RecordLimits bound what a report has of one run.
struct RecordLimits {
  std::size_t spans = 200'000;
  std::size_t curves = 8;
  std::size_t shardings = 40;

  // each returns the limits of one of several runs in a report.
  static RecordLimits each(std::size_t runs);
};

// RunRecorder keeps what a report shows of a run and its results lack: the timeline, memory over
// the operations, and shardings. It is made for one run, and changes neither its data nor its
// schedule.
//
//   RunRecorder recorder(4, RecordLimits());
//   RunObserver observer([&](const RunRecords& run) { recorder.see(run); });
//   world.run([&](Rank& rank) {
//     RunRecorder::OfRank of_rank(recorder, std::size_t(rank.id()), rank);
//   });
//   JsonValue::List sections = recorder.sections();
class RunRecorder {
 public:
  RunRecorder(std::size_t ranks, const RecordLimits& limits);

  // OfRank records the memory of its rank while it lives; index counts the ranks that run. Ranks
  // after the first few thousand aren't recorded.
  class OfRank {
   public:
    OfRank(RunRecorder& recorder, std::size_t index, Rank& rank);

   private:
    struct Scopes {
      Scopes(MemorySamples& samples, Rank& rank);

      ObserverScope<OpSpanEvent> ops;
      ObserverScope<CommEvent> comms;
      Watch watch;
    };
    std::optional<Scopes> scopes_;
  };

  // see_model adds the shardings of the model of the first rank, and see_plans those of
  // redistributions.
  void see_model(nn::Module& model) { shardings_.add_model(model); }
  void see_plans(const PlanCache& cache) { shardings_.add_plans(cache); }
  void see(const RunRecords& run);

  // sections returns the recorded sections of a report: shardings, timeline, memory.
  JsonValue::List sections() const;

 private:
  RecordLimits limits_;
  std::vector<MemorySamples> memory_;
  ShardingPictures shardings_;
  JsonValue timeline_;
};

}  // namespace simmesh
