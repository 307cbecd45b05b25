#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/shards/job_result.h"
#include "core/shards/shard_request.h"
#include "python/bindings/bindings.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// KeptShard is the results of a shard, and the file that they are for.
struct KeptShard {
  ShardRequest request;
  ShardResults results;

  std::vector<std::uint64_t> jobs_of(std::uint64_t count) {
    results.jobs = count;
    std::vector<std::uint64_t> jobs;
    for (std::uint64_t i = 0; i < results.shard.jobs_of(count); ++i)
      jobs.push_back(results.shard.job(i));
    return jobs;
  }
};

std::optional<KeptShard> begin_shard(const std::string& command, const std::string& asked,
                                     const std::string& shard, const std::string& file) {
  ShardRequest request{.command = command, .shard = shard, .file = file};
  std::optional<ShardResults> results = request.begin(asked);
  if (!results) return std::nullopt;
  return KeptShard{request, *results};
}

std::vector<std::string> merged_results(const std::vector<std::string>& paths) {
  ShardResults all = united_from(paths);
  std::vector<std::string> texts;
  for (std::uint64_t job = 0; job < all.jobs; ++job)
    texts.push_back(result_of_job(all, job).text_utf8());
  return texts;
}

}  // namespace

void bind_shards(nb::module_& module) {
  nb::class_<KeptShard>(module, "KeptShard", "The results of a shard of a command's jobs.")
      .def(
          "set_inputs",
          [](KeptShard& shard, const std::vector<std::string>& paths, const std::string& facts) {
            shard.results.inputs = input_hash(paths);
            shard.results.about = JsonValue::parse(facts);
          },
          "paths"_a, "facts"_a,
          "Says what the command reads, in order, and as JSON what holds for all jobs. Shards with "
          "other\ninputs or facts aren't merged. Raises ValueError for a file that can't be read.")
      .def("jobs_of", &KeptShard::jobs_of, "count"_a,
           "Returns the numbers of the shard's jobs, of so many jobs of all shards.")
      .def(
          "add",
          [](KeptShard& shard, std::uint64_t job, const std::string& result) {
            shard.results.results.emplace(job, JsonValue::parse(result));
          },
          "job"_a, "result"_a, "Adds the result of a job, as JSON.")
      .def(
          "write", [](const KeptShard& shard) { shard.request.write(shard.results); },
          "Writes the file, and says on standard error where it is.");
  module.def("begin_shard", &begin_shard, "command"_a, "asked"_a, "shard"_a, "file"_a,
             "Returns what a shard such as \"2/8\" of a command keeps; None without a shard. "
             "`asked` are the\narguments that decide what is done and printed. Without a file it "
             "is COMMAND.2-of-8.jsonl. Raises\nValueError for a text that is no shard, for a file "
             "without one, and for one that can't be written.");
  module.def("merged_results", &merged_results, "paths"_a,
             "Returns the results of all jobs, as JSON, from the files of all shards. Raises "
             "ValueError for\nfiles that aren't all shards of one run.");
  module.def("command_of_shard", &command_of_shard, "path"_a,
             "Returns the command whose results a file has; \"\" for any other file.");
}

}  // namespace simmesh::python
