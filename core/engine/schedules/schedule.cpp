#include "core/engine/schedules/schedule.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <fmt/format.h>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/engine/schedules/random_stream.h"

namespace simmesh {

namespace {

// FifoPolicy keeps a ring of the runnable ranks, which grows when threads of ranks are added.
class FifoPolicy final : public SchedulePolicy {
 public:
  explicit FifoPolicy(std::size_t ranks) {
    std::size_t size = 1;
    while (size < ranks) size *= 2;
    ring_.resize(size);
  }
  void add(RankId rank) override {
    if (end_ - begin_ == ring_.size()) [[unlikely]]
      grow();
    ring_[end_++ & (ring_.size() - 1)] = rank;
  }
  RankId pick() override { return ring_[begin_++ & (ring_.size() - 1)]; }
  RankId foreseen() const override {
    return begin_ == end_ ? no_rank : ring_[begin_ & (ring_.size() - 1)];
  }

 private:
  void grow() {
    std::vector<RankId> larger(2 * ring_.size());
    std::size_t count = end_ - begin_;
    for (std::size_t i = 0; i < count; ++i) larger[i] = ring_[(begin_ + i) & (ring_.size() - 1)];
    ring_ = std::move(larger);
    begin_ = 0;
    end_ = count;
  }

  std::vector<RankId> ring_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class SeededPolicy final : public SchedulePolicy {
 public:
  SeededPolicy(std::size_t ranks, std::uint64_t seed) : random_(seed, 0x5EED) {
    runnable_.reserve(ranks);
  }
  void add(RankId rank) override { runnable_.push_back(rank); }
  RankId pick() override {
    std::size_t index = std::size_t(random_.below(runnable_.size()));
    RankId rank = runnable_[index];
    runnable_[index] = runnable_.back();
    runnable_.pop_back();
    return rank;
  }

 private:
  RandomStream random_;
  std::vector<RankId> runnable_;
};

class PctPolicy final : public SchedulePolicy {
 public:
  PctPolicy(std::size_t ranks, std::uint64_t seed, const Schedule::Pct& options)
      : random_(seed, 0x9C7), priorities_(ranks) {
    lowest_ = std::uint64_t(options.depth) + 1;
    for (std::size_t i = 0; i < ranks; ++i) priorities_[i] = lowest_ + i;
    for (std::size_t i = ranks; i > 1; --i)
      std::swap(priorities_[i - 1], priorities_[std::size_t(random_.below(i))]);
    std::uint64_t steps = options.steps ? options.steps : 16 * ranks;
    for (int i = 1; i < options.depth; ++i)
      drops_.push_back(random_.below(std::max<std::uint64_t>(steps, 1)));
    std::sort(drops_.begin(), drops_.end());
  }

  // A thread that a rank starts gets its priority when it is first added.
  void add(RankId rank) override {
    while (priorities_.size() <= rank)
      priorities_.push_back(lowest_ + random_.below(priorities_.size()));
    heap_.push_back({priorities_[rank], rank});
    std::push_heap(heap_.begin(), heap_.end());
  }

  // A drop happens to the rank that would run at that step: it goes below all others, and the next
  // best runs.
  RankId pick() override {
    while (next_drop_ < drops_.size() && drops_[next_drop_] == step_) {
      RankId dropped = pop();
      priorities_[dropped] = drops_.size() - next_drop_++;
      add(dropped);
    }
    ++step_;
    return pop();
  }

 private:
  struct Entry {
    std::uint64_t priority;
    RankId rank;
    bool operator<(const Entry& other) const {
      return priority != other.priority ? priority < other.priority : rank > other.rank;
    }
  };

  RankId pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    RankId rank = heap_.back().rank;
    heap_.pop_back();
    return rank;
  }

  RandomStream random_;
  std::vector<std::uint64_t> priorities_;
  std::vector<std::uint64_t> drops_;
  std::vector<Entry> heap_;
  std::uint64_t lowest_ = 0;
  std::size_t next_drop_ = 0;
  std::uint64_t step_ = 0;
};

class GuidedPolicy final : public SchedulePolicy {
 public:
  explicit GuidedPolicy(std::vector<RankId> turns) : turns_(std::move(turns)) {}

  void add(RankId rank) override { runnable_.push_back(rank); }

  RankId pick() override {
    auto chosen = runnable_.begin();
    while (next_ < turns_.size()) {
      auto found = std::find(runnable_.begin(), runnable_.end(), turns_[next_++]);
      if (found == runnable_.end()) continue;
      chosen = found;
      break;
    }
    RankId rank = *chosen;
    runnable_.erase(chosen);
    return rank;
  }

 private:
  std::vector<RankId> turns_;
  std::size_t next_ = 0;
  std::deque<RankId> runnable_;
};

template <class Integer>
bool parse_integer(std::string_view text, Integer& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Schedule Schedule::fifo() {
  return {"fifo",
          [](std::size_t ranks, std::uint64_t) { return std::make_unique<FifoPolicy>(ranks); }};
}

Schedule Schedule::seeded() {
  return {"seeded", [](std::size_t ranks, std::uint64_t seed) {
            return std::make_unique<SeededPolicy>(ranks, seed);
          }};
}

Schedule Schedule::seeded(std::uint64_t seed) {
  return {fmt::format("seeded:{}", seed), [seed](std::size_t ranks, std::uint64_t) {
            return std::make_unique<SeededPolicy>(ranks, seed);
          }};
}

Schedule Schedule::pct(Pct options) {
  if (options.depth < 1)
    raise(ErrorKind::value_error, "engine/schedule", "expected a depth of at least 1, got pct:{}",
          options.depth);
  return {fmt::format("pct:{}", options.depth), [options](std::size_t ranks, std::uint64_t seed) {
            return std::make_unique<PctPolicy>(ranks, seed, options);
          }};
}

Schedule Schedule::guided(std::vector<RankId> turns) {
  std::string name = "guided:" + choices_to_string(turns);
  return {std::move(name), [turns = std::move(turns)](std::size_t, std::uint64_t) {
            return std::make_unique<GuidedPolicy>(turns);
          }};
}

Schedule Schedule::custom(std::string name, MakePolicy make) {
  return {std::move(name), std::move(make)};
}

std::string choices_to_string(gsl::span<const RankId> choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size();) {
    std::size_t end = i + 1;
    while (end < choices.size() && choices[end] == choices[i]) ++end;
    text += text.empty() ? "" : ",";
    text +=
        end - i == 1 ? fmt::format("{}", choices[i]) : fmt::format("{}*{}", choices[i], end - i);
    i = end;
  }
  return text;
}

std::vector<RankId> choices_from_string(std::string_view text) {
  constexpr std::size_t choices_max = std::size_t(1) << 28;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::vector<RankId> choices;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    std::string_view rank_text = item.substr(0, item.find('*'));
    RankId rank = 0;
    std::size_t count = 1;
    bool good = parse_integer(rank_text, rank);
    if (rank_text.size() < item.size())
      good &= parse_integer(item.substr(rank_text.size() + 1), count);
    if (!good || count > choices_max - choices.size())
      raise(ErrorKind::value_error, "engine/replay",
            "expected choices such as 0,1,2*3, got '{}' after {} choices", item, choices.size());
    choices.insert(choices.end(), count, rank);
  }
  return choices;
}

}  // namespace simmesh
