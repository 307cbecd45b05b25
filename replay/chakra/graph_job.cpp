#include "replay/chakra/graph_job.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "replay/chakra/from_chakra.h"
#include "replay/chakra/read_chakra.h"
#include "replay/read/bad_trace.h"
#include "replay/read/read_execution_trace.h"
#include "replay/read/trace_form.h"
#include "replay/read/unpack.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

// Graph is one file, as it was read.
struct Graph {
  std::string file;
  ChakraTrace trace;
  std::int64_t rank = 0;
};

void read_graph(ByteSource& source, std::vector<Graph>& graphs, TraceJob& job) {
  try {
    bool is_json = form_of(source) == TraceForm::chakra_json;
    graphs.push_back({source.name(), is_json ? read_chakra_json(source) : read_chakra(source)});
  } catch (const BadTrace& bad) {
    job.findings.push_back(
        error_at(bad.rule(), {.rank = rank_in_name(source.name())}, std::string(bad.message())));
  }
}

void number_graphs(std::vector<Graph>& graphs) {
  bool are_named = std::all_of(graphs.begin(), graphs.end(), [](const Graph& graph) {
    return rank_in_name(graph.file).has_value();
  });
  std::int64_t next = 0;
  for (Graph& graph : graphs) graph.rank = are_named ? *rank_in_name(graph.file) : next++;
}

void add_graph(const Graph& graph, std::int64_t world_size, TraceJob& job) {
  if (const RankTrace* first = job.find(graph.rank)) {
    job.findings.push_back(error_at(
        "rank_twice", {.rank = graph.rank},
        fmt::format("expected one trace of a rank, got {} and {}", first->file, graph.file)));
    return;
  }
  std::string text = execution_trace_json(
      graph.trace, {.rank = graph.rank, .world_size = world_size}, job.findings);
  TextSource source(graph.file, text);
  job.ranks.push_back(
      {.rank = graph.rank, .file = graph.file, .trace = read_execution_trace(source)});
}

}  // namespace

void add_graphs(gsl::span<const std::string> paths, TraceJob& job) {
  std::vector<Graph> graphs;
  for (const std::string& path : paths)
    for_each_file(path, [&](ByteSource& source) {
      if (is_of_form(source, path, {TraceForm::chakra, TraceForm::chakra_json}))
        read_graph(source, graphs, job);
    });
  number_graphs(graphs);
  auto world_size = std::int64_t(graphs.size());
  for (const Graph& graph : graphs) world_size = std::max(world_size, graph.rank + 1);
  for (const Graph& graph : graphs) add_graph(graph, world_size, job);
  std::sort(job.ranks.begin(), job.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
}

}  // namespace simmesh::replay
