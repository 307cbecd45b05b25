#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/native/commit.h"
#include "checkpoint/read/open.h"
#include "checkpoint/store/directory_store.h"
#include "checkpoint/tools/convert.h"
#include "checkpoint/tools/diff.h"
#include "checkpoint/tools/verify.h"
#include "core/check/append_text.h"
#include "core/check/counted.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/check/json_value.h"
#include "core/check/one_line.h"
#include "tools/commands.h"
#include "tools/watched_run.h"
#include "tools/whole_number.h"

namespace simmesh {

namespace {

struct CheckpointArguments {
  std::string path, other;
  std::string format = std::string(checkpoint::ConvertOptions().format.name);
  checkpoint::WriteOptions write;
  bool json = false, weights = false;
};

// Returns the checkpoint at a path, or the latest one in a folder of checkpoints.
checkpoint::Location located(const std::string& path) {
  auto store = std::make_shared<checkpoint::DirectoryStore>(path);
  if (auto latest = checkpoint::latest(store)) return *latest;
  return checkpoint::Directory(path);
}

JsonValue json_of(const checkpoint::StoredTensor& tensor) {
  JsonValue::List chunks;
  for (const checkpoint::StoredChunk& chunk : tensor.chunks)
    chunks.push_back(JsonValue::object(
        {{"offsets", std::vector(chunk.box.offsets.begin(), chunk.box.offsets.end())},
         {"sizes", std::vector(chunk.box.sizes.begin(), chunk.box.sizes.end())},
         {"file", chunk.file},
         {"begin", chunk.begin},
         {"bytes", chunk.bytes}}));
  return JsonValue::object({{"name", tensor.name},
                            {"dtype", dtype_name(tensor.dtype)},
                            {"shape", std::vector(tensor.shape.begin(), tensor.shape.end())},
                            {"chunks", std::move(chunks)}});
}

std::int64_t bytes_of(const checkpoint::Catalog& catalog) {
  std::int64_t bytes = 0;
  for (const checkpoint::StoredTensor& tensor : catalog.tensors) bytes += tensor.bytes();
  return bytes;
}

std::string contents_line(std::int64_t tensors, std::int64_t objects, std::int64_t bytes) {
  return fmt::format("{}, {}, {}\n", counted(tensors, "tensor"), counted(objects, "other value"),
                     counted(bytes, "byte"));
}

// Returns a text, or the begin of one that would fill the terminal.
std::string first_part(std::string text) {
  constexpr std::size_t shown_max = 1000;
  if (text.size() <= shown_max) return text;
  std::size_t shown = shown_max;
  while (shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xc0) == 0x80) --shown;
  return fmt::format("{}... ({} bytes)", text.substr(0, shown), text.size());
}

int inspect(const CheckpointArguments& arguments) {
  checkpoint::Location location = located(arguments.path);
  checkpoint::Catalog catalog = checkpoint::open(location).catalog;
  if (arguments.json) {
    JsonValue::List tensors, objects;
    for (const auto& tensor : catalog.tensors) tensors.push_back(json_of(tensor));
    for (const auto& object : catalog.objects)
      objects.push_back(
          JsonValue::object({{"name", object.name},
                             {"value", JsonValue::parse(checkpoint::value_text(object.value))}}));
    print_report(JsonValue::object({{"checkpoint", location.text()},
                                    {"format", catalog.format},
                                    {"tensors", std::move(tensors)},
                                    {"objects", std::move(objects)}})
                     .text_utf8() +
                 "\n");
    return 0;
  }
  std::string text = fmt::format("{}: {}\n", location.text(), catalog.format);
  for (const auto& tensor : catalog.tensors)
    text +=
        fmt::format("{} {}{} in {}\n", one_line(tensor.name), dtype_name(tensor.dtype),
                    to_string(tensor.shape), counted(std::int64_t(tensor.chunks.size()), "chunk"));
  for (const auto& object : catalog.objects)
    text += fmt::format("{} = {}\n", one_line(object.name),
                        first_part(checkpoint::value_text(object.value)));
  text += contents_line(std::int64_t(catalog.tensors.size()), std::int64_t(catalog.objects.size()),
                        bytes_of(catalog));
  print_report(text);
  return 0;
}

int verify_checkpoint(const CheckpointArguments& arguments) {
  checkpoint::Location location = located(arguments.path);
  if (!checkpoint::exists(location))
    raise(ErrorKind::value_error, "checkpoint/verify",
          "{}: expected a checkpoint, got no such "
          "file or folder",
          location.text());
  std::vector<std::string> problems = checkpoint::verify(location);
  if (arguments.json) {
    print_report(
        JsonValue::object({{"checkpoint", location.text()}, {"problems", problems}}).text_utf8() +
        "\n");
  } else {
    std::string text;
    for (const std::string& problem : problems) text += one_line(problem) + "\n";
    print_report(text + location.text() + ": " +
                 (problems.empty() ? "ok" : counted(std::int64_t(problems.size()), "problem")) +
                 "\n");
  }
  return problems.empty() ? 0 : 1;
}

// Returns different names in order, or the first of many.
std::string first_names(std::vector<std::string> names) {
  constexpr std::size_t named_max = 10;
  for (std::string& name : names) name = one_line(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::size_t count = std::min(names.size(), named_max);
  std::string text = join_text(gsl::span(names).first(count), ", ");
  return count == names.size() ? text : text + ", ...";
}

int convert_checkpoint(const CheckpointArguments& arguments) {
  checkpoint::Location from = located(arguments.path), to = checkpoint::Directory(arguments.other);
  checkpoint::ConvertReport report =
      checkpoint::convert(from, to,
                          {.format = checkpoint::written_format(arguments.format),
                           .write = arguments.write,
                           .weights_only = arguments.weights});
  std::string text = to.text() + ": " + contents_line(report.tensors, report.objects, report.bytes);
  if (!report.unread_classes.empty())
    append_text(text, "left out {} of classes that aren't read: {}\n",
                counted(std::int64_t(report.unread_classes.size()), "value"),
                first_names(report.unread_classes));
  if (!report.unheld_tensors.empty())
    append_text(text, "left out {} of dtypes that {} doesn't have: {}\n",
                counted(std::int64_t(report.unheld_tensors.size()), "tensor"), arguments.format,
                first_names(report.unheld_tensors));
  print_report(text);
  return 0;
}

int diff_checkpoints(const CheckpointArguments& arguments) {
  auto differences = checkpoint::diff(located(arguments.path), located(arguments.other));
  if (arguments.json) {
    JsonValue::List list;
    for (const auto& [name, text] : differences)
      list.push_back(JsonValue::object({{"name", name}, {"how", text}}));
    print_report(JsonValue::object({{"differences", std::move(list)}}).text_utf8() + "\n");
  } else {
    std::string text;
    for (const auto& [name, how] : differences)
      text += fmt::format("{}: {}\n", one_line(name), one_line(how));
    std::size_t count = differences.size();
    print_report(text + (count == 0 ? "no difference\n"
                                    : fmt::format("{} {}\n", counted(std::int64_t(count), "name"),
                                                  count == 1 ? "differs" : "differ")));
  }
  return differences.empty() ? 0 : 1;
}

}  // namespace

void add_checkpoint_command(CLI::App& program, int& status) {
  CLI::App* app = program.add_subcommand(
      "checkpoint", fmt::format("looks into, checks, converts and compares checkpoints: {}",
                                checkpoint::format_titles()));
  app->require_subcommand(1);
  auto arguments = std::make_shared<CheckpointArguments>();
  auto add = [&](const char* name, const char* what, int (*run)(const CheckpointArguments&)) {
    CLI::App* command = app->add_subcommand(name, what);
    command
        ->add_option("PATH", arguments->path,
                     "a checkpoint, or a folder of checkpoints, of which the latest counts")
        ->required();
    command->callback([arguments, &status, run] {
      try {
        status = run(*arguments);
      } catch (const Error& error) {
        // Messages have names from files. The place comes before them, in brackets.
        std::string_view text = error.what(), message = error.message();
        std::string_view where = text.substr(1, text.size() - message.size() - 3);
        throw Error(error.kind(), where, one_line(message));
      }
    });
    return command;
  };
  auto add_json = [&](CLI::App* command) {
    command->add_flag("--json", arguments->json, "print one JSON object instead of text");
  };
  add_json(add("inspect", "prints what a checkpoint holds", inspect));
  add_json(add("verify", "reads all of a checkpoint and prints what is wrong with it",
               verify_checkpoint));
  CLI::App* conversion =
      add("convert", "writes a checkpoint in another format", convert_checkpoint);
  conversion->add_option("TO", arguments->other, "the new checkpoint's folder")->required();
  conversion->add_option("--format", arguments->format, checkpoint::written_formats())
      ->capture_default_str();
  conversion
      ->add_option("--file-bytes", arguments->write.file_bytes,
                   "end a safetensors file once it has so many bytes")
      ->capture_default_str()
      ->check(whole_number(1));
  conversion->add_flag("--weights", arguments->weights,
                       "just the weights, under the model's own names");
  CLI::App* comparison =
      add("diff", "compares two checkpoints bit for bit, whatever their layouts", diff_checkpoints);
  comparison->add_option("OTHER", arguments->other, "the checkpoint to compare with")->required();
  add_json(comparison);
}

}  // namespace simmesh
