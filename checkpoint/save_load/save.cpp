#include "checkpoint/save_load/save.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/catalog/piece.h"
#include "checkpoint/format/formats.h"
#include "checkpoint/read/exchange.h"
#include "checkpoint/read/made_once.h"
#include "checkpoint/read/rank_text.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/save_load/chunk_writer.h"
#include "checkpoint/save_load/local_record.h"
#include "checkpoint/save_load/rank_plan.h"
#include "checkpoint/save_load/save_plan.h"
#include "collectives/collectives.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/engine/run/known.h"
#include "core/engine/spread/world_spread.h"
#include "core/memory/data_mode.h"

namespace simmesh::checkpoint {

namespace {

// ChunkToWrite is a chunk that a rank writes: a box of a tensor of the catalog.
struct ChunkToWrite {
  std::size_t tensor = 0;
  Box box;
  std::size_t local = 0, piece = 0;  // indices of the rank's tensor and piece
};

// GlobalPlan has the chunks that all ranks write. It is made from the texts of all ranks.
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
      auto bytes = box.numel() * std::int64_t(bytes_per_element(tensor.dtype));
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

// FilePlan is one file of a rank, with the indices of the rank's chunks that it has.
struct FilePlan {
  std::string name;
  std::vector<std::size_t> chunks;
};

std::vector<FilePlan> files_of(const GlobalPlan& plan, std::size_t rank, SaveLayout layout) {
  std::map<std::string, FilePlan> files;
  for (std::size_t i = 0; i < plan.chunks[rank].size(); ++i) {
    std::string folder;
    if (layout == SaveLayout::modular)
      folder = part_of_name(plan.tensors[plan.chunks[rank][i].tensor].name);
    FilePlan& file = files[folder];
    file.name = joined(folder, file_name(std::int64_t(rank)));
    file.chunks.push_back(i);
  }
  std::vector<FilePlan> list;
  for (auto& [folder, file] : files) list.push_back(std::move(file));
  return list;
}

std::string chunk_name(const StoredTensor& tensor, const Box& box) {
  if (box == whole(tensor.shape)) return tensor.name;
  return fmt::format("{}@{}", tensor.name, join_text(box.offsets, ","));
}

// WrittenFile is a rank's report of a file: the begins of its chunks, and all hashes.
struct WrittenFile {
  ManifestFile file;
  std::vector<std::int64_t> begins;
  std::vector<std::uint64_t> hashes;
};

using OutputFiles = std::vector<std::unique_ptr<OutputFile>>;

// Writes some chunks of a rank into a new file, and leaves the sync to the caller.
WrittenFile write_file(Store& store, const std::string& folder, const std::string& name,
                       const std::vector<ChunkToWrite>& chunks, const GlobalPlan& plan,
                       const std::vector<LocalTensor>& locals, OutputFiles& files) {
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
  written.file = {name, layout.file_bytes(), std::int64_t(header.size()), bits_hash(header)};
  files.push_back(store.create(joined(folder, name)));
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

std::vector<ChunkToWrite> some_of(const std::vector<ChunkToWrite>& chunks,
                                  const std::vector<std::size_t>& indices) {
  std::vector<ChunkToWrite> some;
  for (std::size_t index : indices) some.push_back(chunks[index]);
  return some;
}

// RankFiles is a rank's report of all its files.
struct RankFiles {
  std::vector<WrittenFile> tensors;  // in the order of files_of
  std::vector<ManifestFile> others;  // the record and the replicas for a local resume
};

void add_file_to(RankTextWriter& writer, const ManifestFile& file) {
  writer.add(file.name);
  writer.add(file.bytes);
  writer.add(file.header_bytes);
  writer.add(std::int64_t(file.header_hash));
}

ManifestFile file_from(RankTextReader& reader) {
  ManifestFile file;
  file.name = reader.text();
  file.bytes = reader.number();
  file.header_bytes = reader.number();
  file.header_hash = std::uint64_t(reader.number());
  return file;
}

std::string files_text(const RankFiles& files) {
  RankTextWriter writer;
  writer.add(std::int64_t(files.tensors.size()));
  for (const WrittenFile& written : files.tensors) {
    add_file_to(writer, written.file);
    writer.add(std::int64_t(written.begins.size()));
    for (std::int64_t begin : written.begins) writer.add(begin);
    for (std::uint64_t hash : written.hashes) writer.add(std::int64_t(hash));
  }
  for (const ManifestFile& file : files.others) add_file_to(writer, file);
  return writer.text();
}

RankFiles parse_files(std::string_view text) {
  RankTextReader reader(text);
  RankFiles files;
  files.tensors.resize(std::size_t(reader.number()));
  for (WrittenFile& written : files.tensors) {
    written.file = file_from(reader);
    written.begins.resize(std::size_t(reader.number()));
    written.hashes.resize(written.begins.size());
    for (std::int64_t& begin : written.begins) begin = reader.number();
    for (std::uint64_t& hash : written.hashes) hash = std::uint64_t(reader.number());
  }
  while (!reader.at_end()) files.others.push_back(file_from(reader));
  return files;
}

StoredChunk stored_chunk(const GlobalPlan& plan, const ChunkToWrite& chunk,
                         const WrittenFile& written, std::size_t place) {
  std::int64_t bits = bits_per_element(plan.tensors[chunk.tensor].dtype);
  return {.box = chunk.box,
          .file = written.file.name,
          .begin = written.begins[place],
          .bytes = chunk.box.numel() * bits / 8,
          .hash = written.hashes[place]};
}

Manifest manifest_of(const GlobalPlan& plan, const std::vector<std::string>& told,
                     SaveLayout layout) {
  Manifest manifest;
  manifest.world = std::int64_t(told.size());
  std::vector<StoredTensor> tensors = plan.tensors;
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    std::vector<FilePlan> plans = files_of(plan, rank, layout);
    RankFiles files = parse_files(told[rank]);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      manifest.files.push_back(files.tensors[i].file);
      for (std::size_t place = 0; place < plans[i].chunks.size(); ++place) {
        const ChunkToWrite& chunk = plan.chunks[rank][plans[i].chunks[place]];
        tensors[chunk.tensor].chunks.push_back(stored_chunk(plan, chunk, files.tensors[i], place));
      }
    }
    manifest.files.insert(manifest.files.end(), files.others.begin(), files.others.end());
  }
  manifest.catalog.tensors = std::move(tensors);
  manifest.catalog.objects = plan.objects;
  return manifest;
}

// RankWriter writes all files of a rank. They survive a stop of the machine after `sync`.
class RankWriter {
 public:
  RankWriter(Store& store, std::string folder, const GlobalPlan& plan,
             const std::vector<LocalTensor>& locals, const ProcessGroup& group)
      : store_(store),
        folder_(std::move(folder)),
        plan_(plan),
        locals_(locals),
        world_(group.size()),
        rank_(group.rank()) {}

  RankFiles write(const StateDict& state, const SaveOptions& options) {
    const std::vector<ChunkToWrite>& own = plan_.chunks[std::size_t(rank_)];
    for (const FilePlan& file : files_of(plan_, std::size_t(rank_), options.layout))
      files_.tensors.push_back(write_chunks(file.name, some_of(own, file.chunks), written_));
    if (options.keeps_local) write_local(state);
    return std::move(files_);
  }

  void sync() {
    for (const std::unique_ptr<OutputFile>& file : written_) file->sync();
    written_.clear();
  }

 private:
  WrittenFile write_chunks(const std::string& name, const std::vector<ChunkToWrite>& chunks,
                           OutputFiles& files) {
    WrittenFile written = write_file(store_, folder_, name, chunks, plan_, locals_, files);
    for (std::size_t i = 0; i < chunks.size(); ++i)
      places_[{chunks[i].local, chunks[i].piece}] = stored_chunk(plan_, chunks[i], written, i);
    return written;
  }

  // Returns the boxes of this rank that another one stores.
  std::vector<ChunkToWrite> replicas() const {
    std::map<std::string, std::size_t> tensors;
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) tensors[plan_.tensors[i].name] = i;
    std::vector<ChunkToWrite> chunks;
    for (std::size_t local = 0; local < locals_.size(); ++local)
      for (std::size_t piece = 0; piece < locals_[local].pieces.size(); ++piece)
        if (!places_.contains({local, piece}))
          chunks.push_back(
              {tensors.at(locals_[local].name), locals_[local].pieces[piece].box, local, piece});
    return chunks;
  }

  void write_local(const StateDict& state) {
    if (std::vector<ChunkToWrite> chunks = replicas(); !chunks.empty()) {
      std::string name = fmt::format("rank_{:05}.replicas.safetensors", rank_);
      OutputFiles files;
      std::int64_t bytes = write_chunks(name, chunks, files).file.bytes;
      files.back()->sync();
      files.clear();
      keep_whole(name, read_file(store_, joined(folder_, name), bytes));
    }
    LocalRecord record = {world_, rank_, {std::string(simmesh_format.name), {}, {}}};
    for (std::size_t local = 0; local < locals_.size(); ++local) {
      const LocalTensor& tensor = locals_[local];
      record.catalog.tensors.push_back({tensor.name, stored_dtype(tensor.dtype), tensor.shape, {}});
      for (std::size_t piece = 0; piece < tensor.pieces.size(); ++piece)
        record.catalog.tensors.back().chunks.push_back(places_.at({local, piece}));
    }
    for (const StoredObject& object : plan_.objects)
      if (state.find(object.name) != nullptr) record.catalog.objects.push_back(object);
    std::string text = local_text(record), name = local_file(rank_);
    write_synced(store_, joined(folder_, name), text);
    keep_whole(name, gsl::as_bytes(gsl::span<const char>(text)));
  }

  // Adds a file for which the manifest has one hash.
  void keep_whole(const std::string& name, Bytes bytes) {
    auto count = std::int64_t(bytes.size());
    files_.others.push_back({name, count, count, bits_hash(bytes)});
  }

  Store& store_;
  std::string folder_;
  const GlobalPlan& plan_;
  const std::vector<LocalTensor>& locals_;
  std::int64_t world_, rank_;
  OutputFiles written_;
  RankFiles files_;
  std::map<std::pair<std::size_t, std::size_t>, StoredChunk> places_;  // by tensor and piece
};

SaveReport report_of(const GlobalPlan& plan, std::int64_t number) {
  SaveReport report = {.number = number};
  for (const std::vector<ChunkToWrite>& chunks : plan.chunks) {
    std::int64_t bytes = 0;
    for (const ChunkToWrite& chunk : chunks)
      bytes += chunk.box.numel() * bits_per_element(plan.tensors[chunk.tensor].dtype) / 8;
    report.tensor_bytes += bytes;
    report.most_of_a_rank = std::max(report.most_of_a_rank, bytes);
  }
  return report;
}

// True if only the owners of ranks write, in a run that is spread over processes.
bool only_owners_write(const Store& store) { return WorldSpread::active() && store.is_shared(); }

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
  std::vector<std::string> texts = all_gather_text(text, world);
  RankTextWriter key;
  for (const std::string& of_rank : texts) key.add(of_rank);
  std::shared_ptr<const GlobalPlan> shared_plan =
      made_once<GlobalPlan>(key.text(), [&] { return GlobalPlanner(texts).plan(); });
  const GlobalPlan& plan = *shared_plan;

  // Rank 0 makes the commit, and tells the others its folder.
  std::unique_ptr<Commit> commit;
  auto write_together = [&](const std::function<void()>& write) {
    together(world, [&] {
      if (!only_owners_write(*location.store)) return write();
      KnownScope untold;
      if (!DataMode::shapes_only()) write();
    });
  };
  write_together([&] {
    if (rank == 0) commit = std::make_unique<Commit>(location);
  });
  std::string folder = broadcast_object(commit ? commit->staging() : "", 0, world);
  std::string told;
  RankWriter writer(*location.store, folder, plan, locals, world);
  write_together([&] { told = files_text(writer.write(state, options)); });
  // All ranks write before the first one waits for its disk.
  write_together([&] { writer.sync(); });
  std::vector<std::string> files = all_gather_text(told, world);
  std::string number;
  write_together([&] {
    if (rank == 0)
      number = std::to_string(
          commit->finish(manifest_of(plan, files, options.layout), options.commit).number);
  });
  return report_of(plan, std::stoll(broadcast_object(number, 0, world)));
}

}  // namespace simmesh::checkpoint
