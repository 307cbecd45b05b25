#include "checkpoint/save.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "checkpoint/chunk_writer.h"
#include "checkpoint/exchange.h"
#include "checkpoint/manifest.h"
#include "checkpoint/piece.h"
#include "checkpoint/rank_plan.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/save_plan.h"
#include "collectives/collectives.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// One chunk that a rank writes: a box of a tensor of the catalog.
struct ChunkToWrite {
  std::size_t tensor = 0;
  Box box;
  std::size_t local = 0, piece = 0;  // of the rank
};

// GlobalPlan is what all ranks write. Every rank makes the same one from the same texts.
struct GlobalPlan {
  std::vector<StoredTensor> tensors;  // without chunks
  std::vector<StoredObject> objects;
  std::vector<std::vector<ChunkToWrite>> chunks;  // of each rank
};

class GlobalPlanner {
 public:
  explicit GlobalPlanner(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) plans_.push_back(parse_plan(text));
  }

  GlobalPlan plan() {
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      items_.emplace_back();
      places_.emplace_back();
      add_tensors(rank);
      add_objects(rank);
    }
    assign();
    return std::move(plan_);
  }

 private:
  void add_tensors(std::size_t rank);
  void add_objects(std::size_t rank);
  void assign();

  std::vector<RankPlan> plans_;
  GlobalPlan plan_;
  std::map<std::string, std::size_t> tensors_, objects_;
  std::vector<std::vector<SaveItem>> items_;
  std::vector<std::vector<ChunkToWrite>> places_;  // of each item
};

void GlobalPlanner::add_tensors(std::size_t rank) {
  for (std::size_t local = 0; local < plans_[rank].tensors.size(); ++local) {
    const RankTensor& tensor = plans_[rank].tensors[local];
    auto [found, is_new] = tensors_.emplace(tensor.name, plan_.tensors.size());
    if (is_new)
      plan_.tensors.push_back({tensor.name, stored_dtype(tensor.dtype), tensor.shape, {}});
    const StoredTensor& known = plan_.tensors[found->second];
    if (known.shape != tensor.shape || known.dtype != stored_dtype(tensor.dtype))
      raise(ErrorKind::value_error, "checkpoint/save",
            "'{}' is {}{} on rank {}, but {}{} on a lower one", tensor.name,
            to_string(tensor.dtype), to_string(tensor.shape), rank, dtype_name(known.dtype),
            to_string(known.shape));
    for (std::size_t piece = 0; piece < tensor.boxes.size(); ++piece) {
      const Box& box = tensor.boxes[piece];
      auto bytes = box.element_count() * std::int64_t(bytes_per_element(tensor.dtype));
      items_[rank].push_back({tensor.name, box, bytes});
      places_[rank].push_back({found->second, box, local, piece});
    }
  }
}

void GlobalPlanner::add_objects(std::size_t rank) {
  for (const auto& [name, text] : plans_[rank].objects) {
    if (tensors_.contains(name))
      raise(ErrorKind::value_error, "checkpoint/save",
            "'{}' is a tensor on one rank and none on rank {}", name, rank);
    if (objects_.emplace(name, plan_.objects.size()).second)
      plan_.objects.push_back({name, parse_value(text), {}});
  }
}

void GlobalPlanner::assign() {
  SavePlan assigned = plan_save(items_);
  std::vector<StoredTensor> covered = plan_.tensors;
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    plan_.chunks.emplace_back();
    for (std::size_t item : assigned.items[rank]) {
      const ChunkToWrite& chunk = places_[rank][item];
      plan_.chunks.back().push_back(chunk);
      covered[chunk.tensor].chunks.push_back({.box = chunk.box});
    }
  }
  for (const StoredTensor& tensor : covered) check_chunks(tensor);
}

std::string file_name(std::int64_t rank) { return fmt::format("rank_{:05}.safetensors", rank); }

std::string chunk_name(const StoredTensor& tensor, const Box& box) {
  if (box == whole(tensor.shape)) return tensor.name;
  return fmt::format("{}@{}", tensor.name, fmt::join(box.offsets, ","));
}

// WrittenFile is what a rank tells of its file: where its chunks begin, and all hashes.
struct WrittenFile {
  ManifestFile file;
  std::vector<std::int64_t> begins;
  std::vector<std::uint64_t> hashes;

  std::string text() const {
    return fmt::format("{} {} {} {} {}", file.bytes, file.header_bytes, file.header_hash,
                       fmt::join(begins, " "), fmt::join(hashes, " "));
  }
  static WrittenFile parse(const std::string& text, std::int64_t rank, std::size_t chunks) {
    WrittenFile written;
    std::vector<std::uint64_t> numbers;
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t space = std::min(text.find(' ', begin), text.size());
      if (space > begin) numbers.push_back(std::stoull(text.substr(begin, space - begin)));
      begin = space + 1;
    }
    written.file = {file_name(rank), std::int64_t(numbers[0]), std::int64_t(numbers[1]),
                    numbers[2]};
    written.begins.assign(numbers.begin() + 3, numbers.begin() + 3 + std::ptrdiff_t(chunks));
    written.hashes.assign(numbers.begin() + 3 + std::ptrdiff_t(chunks), numbers.end());
    return written;
  }
};

using OutputFiles = std::vector<std::unique_ptr<OutputFile>>;

// Writes a rank's file, which is to be synced.
WrittenFile write_file(Store& store, const std::string& folder, std::int64_t rank,
                       const GlobalPlan& plan, const std::vector<LocalTensor>& locals,
                       OutputFiles& files) {
  const std::vector<ChunkToWrite>& chunks = plan.chunks[std::size_t(rank)];
  std::vector<SafetensorsEntry> entries;
  for (const ChunkToWrite& chunk : chunks) {
    const StoredTensor& tensor = plan.tensors[chunk.tensor];
    entries.push_back({chunk_name(tensor, chunk.box), tensor.dtype, chunk.box.sizes, 0, 0});
  }
  SafetensorsLayout layout = lay_out_safetensors(entries);
  WrittenFile written;
  written.begins.resize(chunks.size());
  written.hashes.resize(chunks.size());
  std::vector<std::byte> header = safetensors_header_bytes(layout);
  written.file = {file_name(rank), layout.file_bytes(), std::int64_t(header.size()),
                  bits_hash(header)};
  files.push_back(store.create(joined(folder, written.file.name)));
  ChunkWriter writer(*files.back());
  writer.append(header);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::size_t place = layout.order[i];
    const ChunkToWrite& chunk = chunks[place];
    written.begins[place] = layout.header.data_begin() + layout.header.tensors[i].begin;
    written.hashes[place] = writer.append(locals[chunk.local].pieces[chunk.piece].part);
  }
  writer.flush();
  return written;
}

Manifest manifest_of(GlobalPlan plan, const std::vector<std::string>& told) {
  Manifest manifest;
  manifest.world = std::int64_t(told.size());
  manifest.catalog = {"simmesh", std::move(plan.tensors), std::move(plan.objects)};
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    const std::vector<ChunkToWrite>& chunks = plan.chunks[rank];
    if (chunks.empty()) continue;
    WrittenFile written = WrittenFile::parse(told[rank], std::int64_t(rank), chunks.size());
    manifest.files.push_back(written.file);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      StoredTensor& tensor = manifest.catalog.tensors[chunks[i].tensor];
      std::int64_t bytes = chunks[i].box.element_count() * bits_per_element(tensor.dtype) / 8;
      tensor.chunks.push_back({.box = chunks[i].box,
                               .file = written.file.name,
                               .begin = written.begins[i],
                               .bytes = bytes,
                               .hash = written.hashes[i]});
    }
  }
  return manifest;
}

SaveReport report_of(const GlobalPlan& plan, std::int64_t number) {
  SaveReport report = {.number = number};
  for (const std::vector<ChunkToWrite>& chunks : plan.chunks) {
    std::int64_t bytes = 0;
    for (const ChunkToWrite& chunk : chunks)
      bytes += chunk.box.element_count() * bits_per_element(plan.tensors[chunk.tensor].dtype) / 8;
    report.tensor_bytes += bytes;
    report.most_of_a_rank = std::max(report.most_of_a_rank, bytes);
  }
  return report;
}

}  // namespace

SaveReport save(const StateDict& state, const Location& location, const SaveOptions& options) {
  ProcessGroup world = ProcessGroup::world();
  std::int64_t rank = world.rank();
  std::vector<LocalTensor> locals;
  std::string text;
  together(world, [&] {
    locals = local_tensors(state);
    text = plan_text(rank_plan(state, locals));
  });
  GlobalPlan plan = GlobalPlanner(all_gather_text(text, world)).plan();

  // Rank 0 makes the commit; the others know where to write.
  std::unique_ptr<Commit> commit;
  together(world, [&] {
    if (rank == 0) commit = std::make_unique<Commit>(location);
  });
  std::string folder = broadcast_object(commit ? commit->staging() : "", 0, world);
  std::string told;
  OutputFiles written;
  together(world, [&] {
    if (!plan.chunks[std::size_t(rank)].empty())
      told = write_file(*location.store, folder, rank, plan, locals, written).text();
  });
  // While a rank waits for its disk, the others' bytes are on their way too.
  together(world, [&] {
    for (const std::unique_ptr<OutputFile>& file : written) file->sync();
    written.clear();
  });
  std::vector<std::string> files = all_gather_text(told, world);
  std::string number;
  together(world, [&] {
    if (rank == 0)
      number = std::to_string(commit->finish(manifest_of(plan, files), options.commit).number);
  });
  return report_of(plan, std::stoll(broadcast_object(number, 0, world)));
}

}  // namespace simmesh::checkpoint
