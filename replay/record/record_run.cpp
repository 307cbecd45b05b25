#include "replay/record/record_run.h"

#include "core/check/error.h"
#include "replay/record/finish_job.h"
#include "replay/record/rank_recorder.h"

namespace simmesh::replay {

namespace {

// Keeps the trace of a rank however its body ends.
class RankScope {
 public:
  RankScope(Rank& rank, RecordedRank& place)
      : recorder_(std::make_unique<RankRecorder>(rank)), place_(place) {}
  ~RankScope() { place_ = recorder_->finish(); }
  RankScope(const RankScope&) = delete;
  RankScope& operator=(const RankScope&) = delete;

 private:
  std::unique_ptr<RankRecorder> recorder_;  // the stack of a rank is small
  RecordedRank& place_;
};

}  // namespace

RunRecorder::RunRecorder(const WorldOptions& options) : ranks_(options.ranks) {
  if (options.fold)
    raise(ErrorKind::value_error, "replay/record",
          "expected a world that runs every rank, got a folded one of {} ranks", options.ranks);
}

std::function<void(Rank&)> RunRecorder::body(std::function<void(Rank&)> body) {
  return [this, body = std::move(body)](Rank& rank) {
    RankScope scope(rank, ranks_[rank.id()]);
    body(rank);
  };
}

TraceJob RunRecorder::finish() { return replay::finish_job(std::move(ranks_)); }

Recording record_run(World& world, const std::function<void(Rank&)>& body) {
  RunRecorder recorder(world.options());
  Recording recording;
  recording.outcome = world.run(recorder.body(body));
  recording.job = recorder.finish();
  return recording;
}

}  // namespace simmesh::replay
