#include "checkpoint/fetch.h"

#include <algorithm>
#include <map>

#include "checkpoint/exchange.h"
#include "checkpoint/read_tensor.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// Chunks are read in rounds; after each, ranks exchange what they read.
constexpr std::int64_t round_bytes = 64 << 20;

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

// A chunk, who needs which of its elements, and who reads it.
struct ChunkReads {
  std::size_t tensor = 0, chunk = 0;
  struct Need {
    std::size_t rank = 0, want = 0;
    Box common;
  };
  std::vector<Need> needs;
  std::size_t reader = 0;
};

// Fetch is the work of one rank. What is planned is the same on all of them.
class Fetch {
 public:
  Fetch(const Store& store, const OpenCheckpoint& checkpoint, const ProcessGroup& group)
      : store_(store), checkpoint_(checkpoint), group_(group), rank_(std::size_t(group.rank())) {}

  Fetched run(const std::vector<WantedBox>& wanted);

 private:
  const StoredTensor& tensor(std::size_t index) const { return checkpoint_.catalog.tensors[index]; }
  std::size_t width(std::size_t index) const {
    return std::size_t(bits_per_element(tensor(index).dtype) / 8);
  }
  void plan();
  void assign_readers();
  void run_round(const std::vector<const ChunkReads*>& round);
  void place(const ChunkReads& reads, const ChunkReads::Need& need, const std::byte* from,
             const Strides& from_strides);
  void send(const ChunkReads& reads, const std::vector<std::byte>& bytes,
            std::vector<std::vector<std::byte>>& to_ranks);
  void receive(const ChunkReads& reads, const std::vector<std::vector<std::byte>>& from_ranks,
               std::vector<std::size_t>& taken);

  const Store& store_;
  const OpenCheckpoint& checkpoint_;
  const ProcessGroup& group_;
  std::size_t rank_;
  std::vector<std::vector<WantedBox>> wanted_;  // of each rank
  std::vector<ChunkReads> chunks_;
  Fetched fetched_;
};

void Fetch::plan() {
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> wants_of_tensor;
  for (std::size_t rank = 0; rank < wanted_.size(); ++rank)
    for (std::size_t want = 0; want < wanted_[rank].size(); ++want)
      wants_of_tensor[wanted_[rank][want].tensor].emplace_back(rank, want);
  for (const auto& [index, wants] : wants_of_tensor) {
    const StoredTensor& stored = tensor(index);
    if (bits_per_element(stored.dtype) % 8 != 0)
      raise(ErrorKind::value_error, "checkpoint/load", "'{}': elements of {} can't be loaded",
            stored.name, to_string(stored.dtype));
    for (std::size_t chunk = 0; chunk < stored.chunks.size(); ++chunk) {
      ChunkReads reads = {index, chunk, {}, 0};
      for (const auto& [rank, want] : wants)
        if (auto common = intersection(stored.chunks[chunk].box, wanted_[rank][want].box))
          reads.needs.push_back({rank, want, *common});
      if (!reads.needs.empty()) chunks_.push_back(std::move(reads));
    }
  }
  assign_readers();
}

void Fetch::assign_readers() {
  std::vector<std::int64_t> load(wanted_.size(), 0);
  for (ChunkReads& reads : chunks_) {
    std::int64_t bytes = tensor(reads.tensor).chunks[reads.chunk].bytes;
    reads.reader =
        std::min_element(reads.needs.begin(), reads.needs.end(), [&](const auto& a, const auto& b) {
          return std::pair(load[a.rank], a.rank) < std::pair(load[b.rank], b.rank);
        })->rank;
    load[reads.reader] += bytes;
    fetched_.bytes_read += bytes;
    // Replicas need the same elements: those of different boxes are counted.
    std::vector<Box> seen;
    for (const ChunkReads::Need& need : reads.needs)
      if (std::find(seen.begin(), seen.end(), need.common) == seen.end()) {
        seen.push_back(need.common);
        fetched_.bytes_needed += need.common.element_count() * std::int64_t(width(reads.tensor));
      }
  }
}

Fetched Fetch::run(const std::vector<WantedBox>& wanted) {
  for (const std::string& text : all_gather_text(wanted_text(wanted), group_))
    wanted_.push_back(parse_wanted(text));
  plan();
  for (const WantedBox& want : wanted)
    fetched_.bytes.emplace_back(std::size_t(want.box.element_count()) * width(want.tensor));
  std::vector<const ChunkReads*> round;
  std::int64_t bytes = 0;
  for (const ChunkReads& reads : chunks_) {
    round.push_back(&reads);
    bytes += tensor(reads.tensor).chunks[reads.chunk].bytes;
    if (bytes < round_bytes * group_.size()) continue;
    run_round(round);
    round.clear();
    bytes = 0;
  }
  if (!round.empty()) run_round(round);
  return std::move(fetched_);
}

// Copies what a need has of a chunk into this rank's box; elements lie at the strides.
void Fetch::place(const ChunkReads& reads, const ChunkReads::Need& need, const std::byte* from,
                  const Strides& from_strides) {
  const Box& box = wanted_[rank_][need.want].box;
  Strides strides = contiguous_strides(box.sizes);
  Dims inner = relative_to(need.common, box).offsets;
  std::int64_t begin = element_offset(inner, strides);
  copy_box({.sizes = need.common.sizes,
            .element_bytes = width(reads.tensor),
            .from_strides = from_strides,
            .to_strides = strides},
           from, fetched_.bytes[need.want].data() + std::size_t(begin) * width(reads.tensor));
}

void Fetch::send(const ChunkReads& reads, const std::vector<std::byte>& bytes,
                 std::vector<std::vector<std::byte>>& to_ranks) {
  const Box& box = tensor(reads.tensor).chunks[reads.chunk].box;
  Strides strides = contiguous_strides(box.sizes);
  for (const ChunkReads::Need& need : reads.needs) {
    Dims inner = relative_to(need.common, box).offsets;
    std::int64_t begin = element_offset(inner, strides);
    const std::byte* from = bytes.data() + std::size_t(begin) * width(reads.tensor);
    if (need.rank == rank_) {
      place(reads, need, from, strides);
      continue;
    }
    std::vector<std::byte>& out = to_ranks[need.rank];
    std::size_t at = out.size();
    out.resize(at + std::size_t(need.common.element_count()) * width(reads.tensor));
    copy_box({.sizes = need.common.sizes,
              .element_bytes = width(reads.tensor),
              .from_strides = strides,
              .to_strides = contiguous_strides(need.common.sizes)},
             from, out.data() + at);
  }
}

void Fetch::receive(const ChunkReads& reads, const std::vector<std::vector<std::byte>>& from_ranks,
                    std::vector<std::size_t>& taken) {
  if (reads.reader == rank_) return;
  for (const ChunkReads::Need& need : reads.needs) {
    if (need.rank != rank_) continue;
    std::size_t& at = taken[reads.reader];
    place(reads, need, from_ranks[reads.reader].data() + at, contiguous_strides(need.common.sizes));
    at += std::size_t(need.common.element_count()) * width(reads.tensor);
  }
}

void Fetch::run_round(const std::vector<const ChunkReads*>& round) {
  std::vector<std::vector<std::byte>> to_ranks(wanted_.size());
  together(group_, [&] {
    for (const ChunkReads* reads : round) {
      if (reads->reader != rank_) continue;
      const StoredTensor& stored = tensor(reads->tensor);
      send(*reads, read_chunk(store_, checkpoint_.folder, stored, stored.chunks[reads->chunk]),
           to_ranks);
    }
  });
  std::vector<std::vector<std::byte>> from_ranks = all_to_all_bytes(to_ranks, group_);
  std::vector<std::size_t> taken(wanted_.size(), 0);
  for (const ChunkReads* reads : round) receive(*reads, from_ranks, taken);
}

}  // namespace

Fetched fetch(const Store& store, const OpenCheckpoint& checkpoint,
              const std::vector<WantedBox>& wanted, const ProcessGroup& group) {
  return Fetch(store, checkpoint, group).run(wanted);
}

}  // namespace simmesh::checkpoint
