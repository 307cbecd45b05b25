#include "tools/shard_options.h"

#include "core/check/error.h"
#include "core/check/repro.h"

namespace simmesh {

void ShardOptions::add_to(CLI::App& app, const std::string& jobs) {
  app_ = &app;
  app.add_option("--shard", shard_, "only one of several shares of the " + jobs + ", such as 2/8")
      ->type_name("I/N")
      ->configurable(false);
  app.add_option("--results", file_,
                 "file for the results of a shard, for simmesh merge; default: " + app.get_name() +
                     ".I-of-N.jsonl")
      ->type_name("FILE")
      ->configurable(false);
}

ShardRequest ShardOptions::request() const {
  return {.command = app_->get_name(), .shard = shard_, .file = file_};
}

std::optional<ShardResults> ShardOptions::begin() const {
  return request().begin(app_->config_to_str());
}

ShardResults ShardOptions::begin_in_crew() const {
  if (!shard_.empty() || !file_.empty())
    raise(ErrorKind::value_error, "tools/shard",
          "expected no --shard and no --results in processes of MPI, got one");
  return {.command = app_->get_name(),
          .asked = app_->config_to_str(),
          .revision = std::string(revision())};
}

void ShardOptions::write(const ShardResults& results) const { request().write(results); }

}  // namespace simmesh
