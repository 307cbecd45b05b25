#include "checkpoint/read/fetch.h"

#include <algorithm>
#include <map>
#include <optional>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/read/chunk_reader.h"
#include "checkpoint/read/exchange.h"
#include "checkpoint/read/made_once.h"
#include "checkpoint/read/rank_text.h"
#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/engine/run/known.h"
#include "core/memory/ledger.h"
#include "core/tensor/stream_copy.h"

namespace simmesh::checkpoint {

namespace {

std::string wanted_text(const std::vector<WantedBox>& wanted) {
  RankTextWriter writer;
  for (const WantedBox& want : wanted) {
    writer.add(std::int64_t(want.tensor));
    writer.add(want.box);
  }
  return writer.text();
}

std::vector<WantedBox> parse_wanted(const std::string& text) {
  std::vector<WantedBox> wanted;
  for (RankTextReader reader(text); !reader.at_end();) {
    auto tensor = std::size_t(reader.number());
    wanted.push_back({tensor, reader.box(), {}});
  }
  return wanted;
}

// Need is the part of a chunk that a rank needs for one of its boxes.
struct Need {
  std::size_t rank = 0, want = 0;
  Box common;
};

// ChunkReads is a chunk with the ranks that need it and the rank that reads it.
struct ChunkReads {
  std::size_t tensor = 0, chunk = 0;
  std::vector<Need> needs;  // by rank
  std::size_t reader = 0;

  bool is_for_its_reader_alone() const {
    return needs.front().rank == reader && needs.back().rank == reader;
  }
  gsl::span<const Need> needs_of(std::size_t rank) const {
    auto first = std::lower_bound(needs.begin(), needs.end(), rank,
                                  [](const Need& need, std::size_t at) { return need.rank < at; });
    auto last = std::upper_bound(first, needs.end(), rank,
                                 [](std::size_t at, const Need& need) { return at < need.rank; });
    return {needs.data() + (first - needs.begin()), std::size_t(last - first)};
  }
};

// Block is a run of a chunk's elements, and its place in the bytes of its batch.
struct Block {
  const ChunkReads* reads = nullptr;
  Box box;
  std::size_t begin = 0, bytes = 0;
};

// Batch has the blocks that a rank reads between two exchanges. It is so small that the cache holds
// it until its elements are at their places.
struct Batch {
  std::vector<Block> blocks;
  std::size_t bytes = 0;
};

// FetchPlan assigns chunks to the ranks that read them, and their parts to the ranks that want
// them.
struct FetchPlan {
  std::vector<std::vector<WantedBox>> wanted;  // of each rank, without tensors
  std::vector<ChunkReads> chunks;
  std::vector<std::vector<Batch>> batches;  // of each rank
  Fetched fetched;
};

std::size_t width_of(const StoredTensor& tensor) {
  return std::size_t(bits_per_element(tensor.dtype) / 8);
}

std::vector<Box> blocks_of(const StoredTensor& tensor, const ChunkReads& reads) {
  return contiguous_blocks(tensor.chunks[reads.chunk].box,
                           std::int64_t(cached_bytes / width_of(tensor)));
}

// FetchPlanner makes the plan of all ranks from the boxes that each of them wants.
class FetchPlanner {
 public:
  FetchPlanner(const Catalog& catalog, const std::vector<std::string>& texts) : catalog_(catalog) {
    for (const std::string& text : texts) plan_.wanted.push_back(parse_wanted(text));
  }

  FetchPlan plan() {
    find_needs();
    assign_readers();
    batch();
    return std::move(plan_);
  }

 private:
  void find_needs();
  void assign_readers();
  void batch();

  const Catalog& catalog_;
  FetchPlan plan_;
};

void FetchPlanner::find_needs() {
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> wants_of_tensor;
  for (std::size_t rank = 0; rank < plan_.wanted.size(); ++rank)
    for (std::size_t want = 0; want < plan_.wanted[rank].size(); ++want)
      wants_of_tensor[plan_.wanted[rank][want].tensor].emplace_back(rank, want);
  for (const auto& [index, wants] : wants_of_tensor) {
    const StoredTensor& stored = catalog_.tensors[index];
    if (bits_per_element(stored.dtype) % 8 != 0)
      raise(ErrorKind::value_error, "checkpoint/load", "'{}': elements of {} can't be loaded",
            stored.name, to_string(stored.dtype));
    for (std::size_t chunk = 0; chunk < stored.chunks.size(); ++chunk) {
      ChunkReads reads = {index, chunk, {}, 0};
      for (const auto& [rank, want] : wants)
        if (auto common = intersection(stored.chunks[chunk].box, plan_.wanted[rank][want].box))
          reads.needs.push_back({rank, want, *common});
      if (!reads.needs.empty()) plan_.chunks.push_back(std::move(reads));
    }
  }
}

void FetchPlanner::assign_readers() {
  std::vector<std::int64_t> load(plan_.wanted.size(), 0);
  for (ChunkReads& reads : plan_.chunks) {
    const StoredTensor& stored = catalog_.tensors[reads.tensor];
    std::int64_t bytes = stored.chunks[reads.chunk].bytes;
    reads.reader =
        std::min_element(reads.needs.begin(), reads.needs.end(), [&](const auto& a, const auto& b) {
          return std::pair(load[a.rank], a.rank) < std::pair(load[b.rank], b.rank);
        })->rank;
    load[reads.reader] += bytes;
    plan_.fetched.bytes_read += bytes;
    // Replicas need the same elements, so only different boxes are counted.
    std::vector<Box> seen;
    for (const Need& need : reads.needs)
      if (std::find(seen.begin(), seen.end(), need.common) == seen.end()) {
        seen.push_back(need.common);
        plan_.fetched.bytes_needed += need.common.numel() * std::int64_t(width_of(stored));
      }
  }
}

// Puts the chunks that ranks exchange into batches, for each reader.
void FetchPlanner::batch() {
  plan_.batches.resize(plan_.wanted.size());
  for (const ChunkReads& reads : plan_.chunks) {
    if (reads.is_for_its_reader_alone()) continue;
    const StoredTensor& stored = catalog_.tensors[reads.tensor];
    std::vector<Batch>& batches = plan_.batches[reads.reader];
    for (Box& box : blocks_of(stored, reads)) {
      std::size_t bytes = std::size_t(box.numel()) * width_of(stored);
      if (batches.empty() || batches.back().bytes + bytes > cached_bytes) batches.emplace_back();
      Batch& last = batches.back();
      last.blocks.push_back({&reads, std::move(box), last.bytes, bytes});
      last.bytes += bytes;
    }
  }
}

// Returns the plan that all ranks share. It depends on the checkpoint and on the wanted boxes
// alone.
std::shared_ptr<const FetchPlan> fetch_plan(const SharedCheckpoint& checkpoint,
                                            const std::vector<std::string>& texts) {
  RankTextWriter key;
  key.add(std::int64_t(checkpoint.hash));
  for (const std::string& text : texts) key.add(text);
  return made_once<FetchPlan>(
      key.text(), [&] { return FetchPlanner(checkpoint.opened.catalog, texts).plan(); });
}

// Fetch is the work of one rank.
class Fetch {
 public:
  Fetch(const Store& store, const SharedCheckpoint& checkpoint, const ProcessGroup& group,
        const std::vector<WantedBox>& wanted)
      : store_(store),
        checkpoint_(checkpoint.opened),
        group_(group),
        rank_(std::size_t(group.rank())),
        wanted_(wanted),
        plan_(fetch_plan(checkpoint, all_gather_text(wanted_text(wanted), group))) {}

  Fetched run();

 private:
  // A part of a need, in one block.
  struct Part {
    const Block& block;
    const Need& need;
    Box box;
  };

  const StoredTensor& tensor(std::size_t index) const { return checkpoint_.catalog.tensors[index]; }
  const StoredChunk& chunk(const ChunkReads& reads) const {
    return tensor(reads.tensor).chunks[reads.chunk];
  }
  std::size_t width(std::size_t index) const { return width_of(tensor(index)); }
  std::size_t bytes_of(const Part& part) const {
    return std::size_t(part.box.numel()) * width(part.block.reads->tensor);
  }
  void read_alone(const ChunkReads& reads);
  void read(const Batch& batch, std::byte* to);
  template <class F>
  void for_each_part(const Batch& batch, std::size_t rank, const F& f) const;
  BoxCopy copy_of(const Part& part, const Strides& from, const Strides& to) const {
    return {part.box.sizes, width(part.block.reads->tensor), from, to};
  }
  const std::byte* in_block(const Part& part, const std::byte* batch, const Strides& strides) const;
  void place(const Part& part, const std::byte* from, const Strides& from_strides);
  Tensor for_rank(std::size_t rank, const Batch& batch, const Tensor& bytes) const;
  void exchange(std::size_t round);

  const Store& store_;
  const OpenCheckpoint& checkpoint_;
  const ProcessGroup& group_;
  std::size_t rank_;
  std::vector<WantedBox> wanted_;          // of this rank
  std::shared_ptr<const FetchPlan> plan_;  // shared with the other ranks
  std::vector<std::byte*> to_;             // the begin of each wanted tensor
  std::optional<ChunkReader> open_;        // the chunk that is being read
  std::optional<Error> error_;
};

Fetched Fetch::run() {
  together(group_, [&] {
    for (WantedBox& want : wanted_)
      to_.push_back(want.to.has_elements() ? want.to.mutable_data() : nullptr);
    for (const ChunkReads& reads : plan_->chunks)
      if (reads.reader == rank_ && reads.is_for_its_reader_alone()) read_alone(reads);
  });
  std::size_t rounds = 0;
  for (const std::vector<Batch>& batches : plan_->batches)
    rounds = std::max(rounds, batches.size());
  for (std::size_t round = 0; round < rounds; ++round) exchange(round);
  together(group_, [&] {
    if (error_) throw *error_;
  });
  return plan_->fetched;
}

void Fetch::read_alone(const ChunkReads& reads) {
  ChunkReader reader(store_, checkpoint_, tensor(reads.tensor), chunk(reads));
  const Need& need = reads.needs.front();
  const WantedBox& want = wanted_[need.want];
  if (!want.to.has_elements()) return;
  if (reads.needs.size() == 1 && need.common == chunk(reads).box) {
    Tensor part = part_of(want.to, relative_to(need.common, want.box));
    return reader.read_all(part);
  }
  std::vector<std::byte> bytes;
  for (Box& box : blocks_of(tensor(reads.tensor), reads)) {
    std::size_t count = std::size_t(box.numel()) * width(reads.tensor);
    bytes.resize(std::max(bytes.size(), count));
    reader.read({bytes.data(), count});
    Batch batch = {{{&reads, std::move(box), 0, count}}, count};
    for_each_part(batch, rank_, [&](const Part& part) {
      Strides strides = contiguous_strides(part.block.box.sizes);
      place(part, in_block(part, bytes.data(), strides), strides);
    });
  }
}

// Calls f with each part of a batch that a rank needs, in an order that all ranks know.
template <class F>
void Fetch::for_each_part(const Batch& batch, std::size_t rank, const F& f) const {
  for (const Block& block : batch.blocks)
    for (const Need& need : block.reads->needs_of(rank))
      if (auto common = intersection(block.box, need.common))
        f(Part{block, need, std::move(*common)});
}

// Returns the begin of a part in the bytes of its batch.
const std::byte* Fetch::in_block(const Part& part, const std::byte* batch,
                                 const Strides& strides) const {
  std::int64_t offset = element_offset(relative_to(part.box, part.block.box).offsets, strides);
  return batch + part.block.begin + std::size_t(offset) * width(part.block.reads->tensor);
}

// Copies a part to its place on this rank. Its elements are at the strides.
void Fetch::place(const Part& part, const std::byte* from, const Strides& from_strides) {
  const WantedBox& want = wanted_[part.need.want];
  if (!want.to.has_elements()) return;
  const Strides& strides = want.to.strides();
  std::int64_t offset = element_offset(relative_to(part.box, want.box).offsets, strides);
  BoxCopy copy = copy_of(part, from_strides, strides);
  copy.past_caches = std::size_t(plan_->fetched.bytes_needed) >= past_cache_bytes_min;
  copy_box(copy, from, to_[part.need.want] + std::size_t(offset) * width(part.block.reads->tensor));
}

void Fetch::read(const Batch& batch, std::byte* to) {
  for (const Block& block : batch.blocks) {
    // The blocks of a chunk follow each other.
    if (block.box.offsets == chunk(*block.reads).box.offsets) {
      const ChunkReads& reads = *block.reads;
      open_.emplace(store_, checkpoint_, tensor(reads.tensor), chunk(reads));
    }
    open_->read({to + block.begin, block.bytes});
  }
}

// Returns the parts of a batch that a rank needs, one after the other: the batch itself if it needs
// everything.
Tensor Fetch::for_rank(std::size_t rank, const Batch& batch, const Tensor& bytes) const {
  std::size_t count = 0, whole_blocks = 0, parts = 0;
  for_each_part(batch, rank, [&](const Part& part) {
    count += bytes_of(part);
    ++parts;
    whole_blocks += part.box == part.block.box;
  });
  if (parts == batch.blocks.size() && whole_blocks == parts && count == batch.bytes) return bytes;
  Tensor packed = empty({std::int64_t(count)}, DType::uint8);
  if (count == 0 || !packed.has_elements()) return packed;
  std::byte* to = packed.mutable_data();
  for_each_part(batch, rank, [&](const Part& part) {
    Strides strides = contiguous_strides(part.block.box.sizes);
    copy_box(copy_of(part, strides, contiguous_strides(part.box.sizes)),
             in_block(part, bytes.data(), strides), to);
    to += bytes_of(part);
  });
  return packed;
}

// Reads this rank's next batch, and exchanges the parts that ranks need. A rank that failed to read
// sends nothing from then on.
void Fetch::exchange(std::size_t round) {
  Ledger::Uncharged host;
  std::vector<Tensor> to_ranks(plan_->wanted.size(), empty({0}, DType::uint8));
  const std::vector<Batch>& own = plan_->batches[rank_];
  if (!error_ && round < own.size()) {
    const Batch& batch = own[round];
    Tensor bytes = empty({std::int64_t(batch.bytes)}, DType::uint8);
    try {
      known_text("a read of a checkpoint", [&] {
        read(batch, bytes.mutable_data());
        return std::string();
      });
      for (std::size_t rank = 0; rank < to_ranks.size(); ++rank)
        if (rank != rank_) to_ranks[rank] = for_rank(rank, batch, bytes);
      if (bytes.has_elements())
        for_each_part(batch, rank_, [&](const Part& part) {
          Strides strides = contiguous_strides(part.block.box.sizes);
          place(part, in_block(part, bytes.data(), strides), strides);
        });
    } catch (const Error& error) {
      error_ = error;
    }
  }
  std::vector<Tensor> from_ranks = all_to_all_list(to_ranks, group_);
  for (std::size_t rank = 0; rank < from_ranks.size(); ++rank) {
    if (rank == rank_ || from_ranks[rank].bytes() == 0 || !from_ranks[rank].has_elements())
      continue;
    const std::byte* from = from_ranks[rank].data();
    for_each_part(plan_->batches[rank][round], rank_, [&](const Part& part) {
      place(part, from, contiguous_strides(part.box.sizes));
      from += bytes_of(part);
    });
  }
}

}  // namespace

Fetched fetch(const Store& store, const SharedCheckpoint& checkpoint,
              const std::vector<WantedBox>& wanted, const ProcessGroup& group) {
  return Fetch(store, checkpoint, group, wanted).run();
}

}  // namespace simmesh::checkpoint
