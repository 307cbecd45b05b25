#include "checkpoint/read/fetch.h"

#include <algorithm>
#include <map>
#include <optional>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/read/chunk_reader.h"
#include "checkpoint/read/exchange.h"
#include "checkpoint/read/made_once.h"
#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/memory/ledger.h"
#include "core/tensor/stream_copy.h"

namespace simmesh::checkpoint {

namespace {

std::string wanted_text(const std::vector<WantedBox>& wanted) {
  std::string text;
  for (const WantedBox& want : wanted) {
    text += fmt::format("{} {}", want.tensor, want.box.sizes.size());
    for (std::int64_t number : want.box.offsets) text += fmt::format(" {}", number);
    for (std::int64_t number : want.box.sizes) text += fmt::format(" {}", number);
    text += ' ';
  }
  return text;
}

std::vector<WantedBox> parse_wanted(const std::string& text) {
  std::vector<WantedBox> wanted;
  const char* at = text.c_str();
  auto number = [&] {
    char* end = nullptr;
    std::int64_t value = std::strtoll(at, &end, 10);
    at = end + 1;
    return value;
  };
  while (at < text.c_str() + text.size()) {
    WantedBox want;
    want.tensor = std::size_t(number());
    auto dims = std::size_t(number());
    for (std::size_t i = 0; i < dims; ++i) want.box.offsets.push_back(number());
    for (std::size_t i = 0; i < dims; ++i) want.box.sizes.push_back(number());
    wanted.push_back(std::move(want));
  }
  return wanted;
}

// What a rank needs of a chunk for one of the boxes it wants.
struct Need {
  std::size_t rank = 0, want = 0;
  Box common;
};

// A chunk, who needs which of its elements, and who reads it.
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

// Block is a run of a chunk's elements, and where it lies in the bytes of its batch.
struct Block {
  const ChunkReads* reads = nullptr;
  Box box;
  std::size_t begin = 0, bytes = 0;
};

// Batch is what a rank reads between two exchanges: so little that it is in the cache until its
// elements are where they are wanted.
struct Batch {
  std::vector<Block> blocks;
  std::size_t bytes = 0;
};

// FetchPlan says who reads what, for whom.
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

// FetchPlanner makes the plan of all ranks from what each of them wants.
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
    // Replicas need the same elements: those of different boxes are counted.
    std::vector<Box> seen;
    for (const Need& need : reads.needs)
      if (std::find(seen.begin(), seen.end(), need.common) == seen.end()) {
        seen.push_back(need.common);
        plan_.fetched.bytes_needed += need.common.numel() * std::int64_t(width_of(stored));
      }
  }
}

// Chunks that ranks exchange, in the batches in which their readers read them.
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

// All ranks have the same plan of one catalog.
std::shared_ptr<const FetchPlan> fetch_plan(const Catalog& catalog,
                                            const std::vector<std::string>& texts) {
  std::string key = fmt::format("{}\n{}", fmt::ptr(&catalog), fmt::join(texts, "\n"));
  return made_once<FetchPlan>(key, [&] { return FetchPlanner(catalog, texts).plan(); });
}

// Fetch is the work of one rank.
class Fetch {
 public:
  Fetch(const Store& store, const OpenCheckpoint& checkpoint, const ProcessGroup& group,
        const std::vector<WantedBox>& wanted)
      : store_(store),
        checkpoint_(checkpoint),
        group_(group),
        rank_(std::size_t(group.rank())),
        wanted_(wanted),
        plan_(fetch_plan(checkpoint.catalog, all_gather_text(wanted_text(wanted), group))) {}

  Fetched run();

 private:
  // A part of a need that lies in a block.
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
  std::shared_ptr<const FetchPlan> plan_;  // with the other ranks
  std::vector<std::byte*> to_;             // where the elements of its own begin
  std::optional<ChunkReader> open_;        // the chunk of which a part was read
  std::optional<Error> error_;
};

Fetched Fetch::run() {
  together(group_, [&] {
    for (WantedBox& want : wanted_) to_.push_back(want.to.mutable_data());
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
  ChunkReader reader(store_, checkpoint_.folder, tensor(reads.tensor), chunk(reads));
  const Need& need = reads.needs.front();
  const WantedBox& want = wanted_[need.want];
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

// Calls f with each part of what a rank needs of a batch, in an order that all ranks know.
template <class F>
void Fetch::for_each_part(const Batch& batch, std::size_t rank, const F& f) const {
  for (const Block& block : batch.blocks)
    for (const Need& need : block.reads->needs_of(rank))
      if (auto common = intersection(block.box, need.common))
        f(Part{block, need, std::move(*common)});
}

// Where a part begins in the bytes of its batch.
const std::byte* Fetch::in_block(const Part& part, const std::byte* batch,
                                 const Strides& strides) const {
  std::int64_t offset = element_offset(relative_to(part.box, part.block.box).offsets, strides);
  return batch + part.block.begin + std::size_t(offset) * width(part.block.reads->tensor);
}

// Copies a part to where this rank wants it; elements lie at the strides.
void Fetch::place(const Part& part, const std::byte* from, const Strides& from_strides) {
  const WantedBox& want = wanted_[part.need.want];
  const Strides& strides = want.to.strides();
  std::int64_t offset = element_offset(relative_to(part.box, want.box).offsets, strides);
  BoxCopy copy = copy_of(part, from_strides, strides);
  copy.past_caches = std::size_t(plan_->fetched.bytes_needed) >= past_cache_bytes_min;
  copy_box(copy, from, to_[part.need.want] + std::size_t(offset) * width(part.block.reads->tensor));
}

void Fetch::read(const Batch& batch, std::byte* to) {
  for (const Block& block : batch.blocks) {
    // Blocks of a chunk come one after the other.
    if (block.box.offsets == chunk(*block.reads).box.offsets) {
      const ChunkReads& reads = *block.reads;
      open_.emplace(store_, checkpoint_.folder, tensor(reads.tensor), chunk(reads));
    }
    open_->read({to + block.begin, block.bytes});
  }
}

// What a rank needs of a batch, one part after the other. All of it isn't copied.
Tensor Fetch::for_rank(std::size_t rank, const Batch& batch, const Tensor& bytes) const {
  std::size_t count = 0, whole_blocks = 0, parts = 0;
  for_each_part(batch, rank, [&](const Part& part) {
    count += bytes_of(part);
    ++parts;
    whole_blocks += part.box == part.block.box;
  });
  if (parts == batch.blocks.size() && whole_blocks == parts && count == batch.bytes) return bytes;
  Tensor packed = empty({std::int64_t(count)}, DType::uint8);
  if (count == 0) return packed;
  std::byte* to = packed.mutable_data();
  for_each_part(batch, rank, [&](const Part& part) {
    Strides strides = contiguous_strides(part.block.box.sizes);
    copy_box(copy_of(part, strides, contiguous_strides(part.box.sizes)),
             in_block(part, bytes.data(), strides), to);
    to += bytes_of(part);
  });
  return packed;
}

// Every rank reads its next batch and sends each rank what that needs of it. One that couldn't read
// sends nothing from then on.
void Fetch::exchange(std::size_t round) {
  Ledger::Uncharged host;
  std::vector<Tensor> to_ranks(plan_->wanted.size(), empty({0}, DType::uint8));
  const std::vector<Batch>& own = plan_->batches[rank_];
  if (!error_ && round < own.size()) {
    const Batch& batch = own[round];
    Tensor bytes = empty({std::int64_t(batch.bytes)}, DType::uint8);
    try {
      read(batch, bytes.mutable_data());
      for (std::size_t rank = 0; rank < to_ranks.size(); ++rank)
        if (rank != rank_) to_ranks[rank] = for_rank(rank, batch, bytes);
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
    if (rank == rank_ || from_ranks[rank].bytes() == 0) continue;
    const std::byte* from = from_ranks[rank].data();
    for_each_part(plan_->batches[rank][round], rank_, [&](const Part& part) {
      place(part, from, contiguous_strides(part.box.sizes));
      from += bytes_of(part);
    });
  }
}

}  // namespace

Fetched fetch(const Store& store, const OpenCheckpoint& checkpoint,
              const std::vector<WantedBox>& wanted, const ProcessGroup& group) {
  return Fetch(store, checkpoint, group, wanted).run();
}

}  // namespace simmesh::checkpoint
