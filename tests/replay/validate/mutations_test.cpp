#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "replay/trace/comm_kind.h"
#include "replay/validate/validate_job.h"
#include "tests/replay/made_job.h"

// The real job of DLRM, and one of four ranks with sub-groups, roots and messages, broken in one
// place at a time: each communication of each rank. Each break must be found, at the rank and node
// where it is, and nowhere else.
namespace simmesh::replay {
namespace {

constexpr const char* cases = SIMMESH_SOURCE_DIR "/tests/cases/replay/";

TraceJob job_of(const std::string& path) {
  std::vector<std::string> paths = {cases + path};
  return read_job(paths);
}

// Broken is the job with one trace that was changed; the sound one comes back at the end.
class Broken {
 public:
  Broken(TraceJob& job, std::size_t position)
      : trace_(job.ranks[position].trace), sound_(trace_), rank_(job.ranks[position].rank) {}
  ~Broken() { trace_ = std::move(sound_); }
  Broken(const Broken&) = delete;
  Broken& operator=(const Broken&) = delete;

  ExecutionTrace& trace() { return trace_; }
  std::int64_t rank() const { return rank_; }

 private:
  ExecutionTrace& trace_;
  ExecutionTrace sound_;
  std::int64_t rank_;
};

std::vector<std::uint32_t> comm_nodes(const ExecutionTrace& trace) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i)
    if (trace.nodes[i].comm) nodes.push_back(i);
  return nodes;
}

CommKind kind_at(const ExecutionTrace& trace, std::uint32_t node) {
  return comm_kind(trace.text(trace.comm_of(trace.nodes[node])->name));
}

// A Break breaks a rule and returns its name; empty where it can't at this node.
using Break = std::function<std::string(ExecutionTrace& trace, std::uint32_t node)>;

void expect_found(const TraceJob& job, const std::string& rule, std::int64_t rank,
                  std::optional<std::int64_t> node) {
  Findings findings = validate(job);
  std::string where = fmt::format("{} rank {} node {}", rule, rank, node.value_or(-1));
  bool is_found = false;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::note) continue;
    EXPECT_EQ(finding.rank, rank) << where << ": " << to_string(finding);
    is_found |= finding.rule == rule && finding.rank == rank && (!node || finding.node == node);
  }
  EXPECT_TRUE(is_found) << where << " not in:\n" << testing::findings_text(findings);
}

// Makes the break at each communication of each rank, and returns how many could be made.
int break_each(const std::string& path, const Break& make) {
  TraceJob job = job_of(path);
  int count = 0;
  for (std::size_t position = 0; position < job.ranks.size(); ++position) {
    for (std::uint32_t node : comm_nodes(job.ranks[position].trace)) {
      Broken broken(job, position);
      std::int64_t id = broken.trace().nodes[node].id;
      std::string rule = make(broken.trace(), node);
      if (rule.empty()) continue;
      ++count;
      expect_found(job, rule, broken.rank(), id);
    }
  }
  return count;
}

TraceComm& comm_at(ExecutionTrace& trace, std::uint32_t node) {
  return trace.comms[*trace.nodes[node].comm];
}

TEST(BrokenJob, RealTracesAreSound) {
  EXPECT_EQ(testing::findings_text(validate(job_of("dlrm_pytorch_et.tar.gz"))), "");
  EXPECT_EQ(testing::findings_text(validate(job_of("generated/comms4"))), "");
  EXPECT_EQ(testing::findings_text(validate(job_of("generated/gloo2"))), "");
  Findings alone = validate(job_of("resnet_2gpu_et.1.1.0.json.gz"));
  EXPECT_EQ(testing::findings_text(alone),
            "warning rank_missing: expected traces of 2 ranks, got 1; there is none of rank 0, so "
            "that nothing is compared across ranks\n");
}

TEST(BrokenJob, FindsEachSplitThatChanges) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    TraceRange split = comm_at(trace, node).in_split;
    if (split.size() == 0) return "";
    trace.numbers[split.begin + node % split.size()] += 1;
    return "split_sum";
  };
  EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 4);
  EXPECT_EQ(break_each("generated/comms4", change), 4 * 2);
}

// The sum stays, so only the other ranks' splits tell.
TEST(BrokenJob, FindsEachPairOfSplitsThatChange) {
  for (bool is_input : {true, false}) {
    Break change = [&](ExecutionTrace& trace, std::uint32_t node) -> std::string {
      const TraceComm& comm = comm_at(trace, node);
      TraceRange split = is_input ? comm.in_split : comm.out_split;
      if (split.size() == 0) return "";
      std::uint32_t first = split.begin, second = split.begin + 1 + node % (split.size() - 1);
      if (trace.numbers[second] == 0) std::swap(first, second);
      trace.numbers[first] += 1;
      trace.numbers[second] -= 1;
      return trace.numbers[second] < 0 ? "split_sum" : "split_transpose";
    };
    EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 4);
  }
}

void change_type(ExecutionTrace& trace, TraceRange tensors) {
  for (std::uint32_t i = tensors.begin; i < tensors.end; ++i) {
    trace.tensors[i].type = trace.texts.id_of("double");
    trace.tensors[i].item_bytes = 8;
  }
}

TEST(BrokenJob, FindsEachDtypeThatChanges) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    TraceComm& comm = comm_at(trace, node);
    if (!comm.has_tensors() || trace.text(comm.dtype) == "Double") return "";
    change_type(trace, trace.nodes[node].inputs);
    change_type(trace, trace.nodes[node].outputs);
    comm.dtype = trace.texts.id_of("Double");
    return "dtype";
  };
  EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 8);
}

TEST(BrokenJob, FindsEachDtypeThatChangesOnOneSide) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    if (!comm_at(trace, node).has_tensors()) return "";
    change_type(trace, trace.nodes[node].outputs);
    return "dtype";
  };
  EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 8);
}

TEST(BrokenJob, FindsEachGroupThatChanges) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    TraceComm& comm = comm_at(trace, node);
    if (comm.group.address == 0) return "";
    comm.group.address += 64;
    return "unknown_group";
  };
  EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 8);
}

// Group 3 has the members of group 0, so that only the order of both tells.
TEST(BrokenJob, FindsEachGroupThatIsSwapped) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    TraceComm& comm = comm_at(trace, node);
    CommKind kind = kind_at(trace, node);
    if (kind == CommKind::wait || is_message(kind)) return "";
    std::string_view name = trace.text(comm.group.name_and_description->first);
    comm.group.name_and_description->first = trace.texts.id_of(name == "0" ? "3" : "0");
    return name == "0" || name == "3" ? "count" : "group_identity";
  };
  EXPECT_EQ(break_each("generated/comms4", change), 4 * 22);
}

TEST(BrokenJob, FindsEachSizeThatChanges) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    TraceComm& comm = comm_at(trace, node);
    if (!comm.has_tensors()) return "";
    for (TraceRange side : {trace.nodes[node].inputs, trace.nodes[node].outputs}) {
      TraceTensor& tensor = trace.tensors[side.begin];
      tensor.elements += 8;
      trace.numbers[tensor.shape.begin] += 8;
    }
    comm.in_elements += 8;
    comm.out_elements += 8;
    return comm.in_split.size() > 0 ? "split_sum" : "size_relation";
  };
  EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 8);
}

TEST(BrokenJob, FindsEachRankAndRootThatChanges) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    TraceComm& comm = comm_at(trace, node);
    CommKind kind = kind_at(trace, node);
    bool is_rooted = kind == CommKind::broadcast || kind == CommKind::reduce;
    bool has_group = comm.group.address != 0 || comm.group.name_and_description;
    bool is_dangling = !has_group && comm.request.sequence < 147;
    if (is_message(kind) || is_dangling) return "";
    comm.rank = comm.rank == 0 ? 1 : 0;
    return is_rooted ? "root" : "own_rank";
  };
  EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 11);
  EXPECT_EQ(break_each("generated/comms4", change), 4 * 26);
}

TEST(BrokenJob, FindsEachNameThatChanges) {
  Break change = [](ExecutionTrace& trace, std::uint32_t node) -> std::string {
    TraceComm& comm = comm_at(trace, node);
    CommKind kind = kind_at(trace, node);
    if (kind == CommKind::wait || is_message(kind)) return "";
    comm.name = trace.texts.id_of(kind == CommKind::all_reduce ? "barrier" : "allreduce");
    return "order";
  };
  EXPECT_EQ(break_each("dlrm_pytorch_et.tar.gz", change), 8 * 8);
}

// The finding is at the collective that comes instead, if one does, and names the one that is gone
// on another rank.
TEST(BrokenJob, FindsEachCollectiveThatIsDropped) {
  TraceJob job = job_of("dlrm_pytorch_et.tar.gz");
  int count = 0;
  for (std::size_t position = 0; position < job.ranks.size(); ++position) {
    std::vector<std::uint32_t> nodes = comm_nodes(job.ranks[position].trace);
    std::erase_if(nodes, [&](std::uint32_t node) {
      return kind_at(job.ranks[position].trace, node) == CommKind::wait;
    });
    const ExecutionTrace& other = job.ranks[position == 0 ? 1 : 0].trace;
    std::vector<std::uint32_t> others = comm_nodes(other);
    std::erase_if(others,
                  [&](std::uint32_t node) { return kind_at(other, node) == CommKind::wait; });
    for (std::size_t k = 0; k < nodes.size(); ++k, ++count) {
      Broken broken(job, position);
      std::vector<TraceNode>& all = broken.trace().nodes;
      std::optional<std::int64_t> next;
      if (k + 1 < nodes.size()) next = all[nodes[k + 1]].id;
      all.erase(all.begin() + nodes[k]);
      expect_found(job, "count", broken.rank(), next);
      std::string gone =
          fmt::format("rank {} node {} ", position == 0 ? 1 : 0, other.nodes[others[k]].id);
      EXPECT_NE(testing::findings_text(validate(job)).find(gone), std::string::npos) << gone;
    }
  }
  EXPECT_EQ(count, 8 * 8);
}

TEST(BrokenJob, FindsEachMessageThatIsDropped) {
  TraceJob job = job_of("generated/comms4");
  int count = 0;
  for (std::size_t position = 0; position < job.ranks.size(); ++position)
    for (std::uint32_t node : comm_nodes(job.ranks[position].trace)) {
      if (!is_message(kind_at(job.ranks[position].trace, node))) continue;
      Broken broken(job, position);
      broken.trace().nodes.erase(broken.trace().nodes.begin() + node);
      Findings findings = validate(job);
      ASSERT_EQ(worst(findings), "error");
      EXPECT_NE(testing::findings_text(findings).find(fmt::format("rank {} never", broken.rank())),
                std::string::npos)
          << testing::findings_text(findings);
      ++count;
    }
  EXPECT_EQ(count, 4 * 4);
}

TEST(BrokenJob, TakesEachWaitThatIsDropped) {
  TraceJob job = job_of("dlrm_pytorch_et.tar.gz");
  for (std::size_t position = 0; position < job.ranks.size(); ++position)
    for (std::uint32_t node : comm_nodes(job.ranks[position].trace)) {
      if (kind_at(job.ranks[position].trace, node) != CommKind::wait) continue;
      Broken broken(job, position);
      broken.trace().nodes.erase(broken.trace().nodes.begin() + node);
      EXPECT_EQ(worst(validate(job)), "ok");
    }
}

TEST(BrokenJob, FindsEachRankThatIsMissing) {
  for (std::size_t position = 0; position < 8; ++position) {
    TraceJob job = job_of("dlrm_pytorch_et.tar.gz");
    job.ranks.erase(job.ranks.begin() + std::ptrdiff_t(position));
    // Leaves what a file that was cut leaves.
    job.findings.push_back({.severity = Severity::error,
                            .rule = "json",
                            .rank = std::nullopt,
                            .node = std::nullopt,
                            .field = "",
                            .message = "ends early"});
    std::string text = testing::findings_text(validate(job));
    EXPECT_NE(text.find("error json"), std::string::npos);
    EXPECT_NE(text.find(fmt::format("there is none of rank {}\n", position)), std::string::npos)
        << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  }
}

// Any number in any place that the validator reads, small ones, large ones and those at the ends of
// 64 bits: it must end.
TEST(BrokenJob, NonsenseNeverCrashes) {
  std::mt19937_64 random(7);
  TraceJob job = job_of("generated/comms4");
  auto number = [&]() -> std::int64_t {
    constexpr std::int64_t ends[] = {0, -1, 1, 2, INT64_MAX, INT64_MIN, 1 << 20, INT64_MAX / 8};
    return random() % 2 == 0 ? ends[random() % std::size(ends)] : std::int64_t(random() % 64);
  };
  int errors = 0;
  for (int round = 0; round < 300; ++round) {
    Broken broken(job, random() % job.ranks.size());
    ExecutionTrace& trace = broken.trace();
    for (std::size_t edit = 0; edit < 1 + random() % 5; ++edit) {
      TraceComm& comm = trace.comms[random() % trace.comms.size()];
      TraceNode& node = trace.nodes[random() % trace.nodes.size()];
      TraceTensor& tensor = trace.tensors[random() % trace.tensors.size()];
      std::int64_t* places[] = {&comm.rank,
                                &comm.in_elements,
                                &comm.out_elements,
                                &comm.group_size,
                                &comm.global_rank_start,
                                &comm.global_rank_stride,
                                &comm.request.sequence,
                                &comm.group.address,
                                &node.parent,
                                &tensor.elements,
                                &tensor.offset,
                                &tensor.item_bytes,
                                &tensor.storage,
                                &trace.numbers[random() % trace.numbers.size()],
                                &trace.process_groups[random() % 3].size};
      *places[random() % std::size(places)] = number();
      if (random() % 8 == 0) comm.name = TextId(random() % trace.texts.size());
      if (random() % 8 == 0) comm.group.name_and_description.reset();
      if (random() % 8 == 0) std::swap(comm.in_split, comm.out_split);
      if (random() % 8 == 0)
        std::swap(trace.process_groups[0].ranks, trace.process_groups[1].ranks);
    }
    errors += worst(validate(job)) == "error";
  }
  EXPECT_GT(errors, 200);
}

}  // namespace
}  // namespace simmesh::replay
