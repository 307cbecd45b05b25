#include "replay/run/serial_oracle.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>

namespace simmesh::replay {

namespace {

using Bytes = std::vector<std::byte>;

// The bytes that a member sends, by input.
struct SentBytes {
  gsl::span<const ProgramTensor> tensors;
  std::vector<Bytes> inputs;

  DType dtype(std::size_t input) const { return tensors[input].dtype; }
};

Bytes bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.data() + tensor.bytes()}; }

void append(Bytes& to, gsl::span<const std::byte> from) {
  to.insert(to.end(), from.begin(), from.end());
}

// True if any two tensors of a step share bytes.
bool any_overlap(gsl::span<const ProgramTensor> tensors) {
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> places;
  for (const ProgramTensor& tensor : tensors)
    places.push_back(
        {tensor.storage, tensor.begin_bytes,
         tensor.begin_bytes + tensor.elements * std::int64_t(bytes_per_element(tensor.dtype))});
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    if (std::get<0>(places[i]) == std::get<0>(places[i - 1]) &&
        std::get<1>(places[i]) < std::get<2>(places[i - 1]))
      return true;
  return false;
}

// Returns the contents of tensors after each has been given its bytes, one after another: where
// they share memory, the last one's.
std::vector<Bytes> as_held(gsl::span<const ProgramTensor> tensors, std::vector<Bytes> given) {
  if (!any_overlap(tensors)) return given;
  std::map<std::uint32_t, Bytes> memory;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Bytes& storage = memory[tensors[i].storage];
    std::size_t begin = std::size_t(tensors[i].begin_bytes);
    storage.resize(std::max(storage.size(), begin + given[i].size()));
    std::copy(given[i].begin(), given[i].end(), storage.begin() + std::ptrdiff_t(begin));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto begin = memory[tensors[i].storage].begin() + std::ptrdiff_t(tensors[i].begin_bytes);
    std::copy(begin, begin + std::ptrdiff_t(given[i].size()), given[i].begin());
  }
  return given;
}

template <class T>
T element_at(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// A left fold rounds after each addition; exact sums round once. Terms of the rules wide and small
// are multiples of 2^-20 below 2^4, of which double adds 2^29 without rounding.
template <class T>
T sum_of(const std::vector<T>& terms, bool is_exact) {
  if constexpr (std::is_same_v<T, bool>) {
    return std::any_of(terms.begin(), terms.end(), [](bool term) { return term; });
  } else if constexpr (std::is_integral_v<T>) {
    using Word = std::make_unsigned_t<T>;
    Word sum = 0;
    for (T term : terms) sum = Word(sum + Word(term));
    return T(sum);
  } else {
    double exact = 0;
    T folded = terms[0];
    for (std::size_t i = 0; i < terms.size(); ++i) {
      exact += double(terms[i]);
      if (i > 0) folded = rounded_to<T>(double(folded) + double(terms[i]));
    }
    return is_exact ? rounded_to<T>(exact) : folded;
  }
}

// Returns the contents of a step's inputs when it sends them.
std::vector<Bytes> sent_by(const RankProgram& rank, std::uint32_t step, const Payload& payload) {
  auto inputs = rank.tensors_in(rank.steps[step].inputs);
  std::vector<Bytes> sent;
  for (std::uint32_t i = 0; i < inputs.size(); ++i)
    sent.push_back(bytes_of(payload_of(rank, step, i, payload)));
  return as_held(inputs, std::move(sent));
}

// Returns the sum of one input over the members; nullopt where sizes or dtypes differ.
std::optional<Bytes> summed(const std::vector<SentBytes>& sent, std::size_t input, bool is_exact) {
  for (const SentBytes& member : sent)
    if (member.inputs.size() <= input || member.dtype(input) != sent[0].dtype(input) ||
        member.inputs[input].size() != sent[0].inputs[input].size())
      return std::nullopt;
  Bytes sum(sent[0].inputs[input].size());
  visit_dtype(sent[0].dtype(input), [&]<class T>(T) {
    std::vector<T> terms(sent.size());
    for (std::size_t i = 0; i < sum.size() / sizeof(T); ++i) {
      for (std::size_t member = 0; member < sent.size(); ++member)
        terms[member] = element_at<T>(sent[member].inputs[input], i);
      T value = sum_of(terms, is_exact);
      std::memcpy(sum.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return sum;
}

// MeetingOracle computes one collective. Each answer is the data that a member gets, as one row of
// bytes.
class MeetingOracle {
 public:
  MeetingOracle(const ReplayProgram& program, const Meeting& meeting, const OracleOptions& options)
      : program_(program), meeting_(meeting), is_exact_(options.arithmetic.is_exact()) {
    for (std::size_t member = 0; member < meeting.steps.size(); ++member) {
      sent_.push_back(
          {.tensors = rank_of(member).tensors_in(step_of(member).inputs),
           .inputs = sent_by(rank_of(member), *meeting.steps[member], options.payload)});
    }
  }

  std::optional<Bytes> received_by(std::size_t member) const;

  const ProgramStep& step_of(std::size_t member) const {
    return rank_of(member).steps[*meeting_.steps[member]];
  }
  const RankProgram& rank_of(std::size_t member) const {
    return program_.ranks[std::size_t(members_of(program_, meeting_)[member])];
  }

 private:
  std::optional<Bytes> reduced(bool is_list, std::size_t member) const;
  std::optional<Bytes> scattered(std::size_t member) const;
  std::optional<Bytes> gathered() const;
  std::optional<Bytes> exchanged(std::size_t member) const;
  std::optional<Bytes> all_sums() const;
  std::size_t root() const { return std::size_t(step_of(0).root); }

  const ReplayProgram& program_;
  const Meeting& meeting_;
  bool is_exact_;
  std::vector<SentBytes> sent_;
};

std::optional<Bytes> MeetingOracle::all_sums() const {
  Bytes all;
  for (std::size_t input = 0; input < sent_[0].inputs.size(); ++input) {
    std::optional<Bytes> sum = summed(sent_, input, is_exact_);
    if (!sum) return std::nullopt;
    append(all, *sum);
  }
  return all;
}

std::optional<Bytes> MeetingOracle::reduced(bool is_list, std::size_t member) const {
  if (is_list) return summed(sent_, member, is_exact_);
  Bytes mine;
  for (std::size_t input = 0; input < sent_[0].inputs.size(); ++input) {
    std::optional<Bytes> sum = summed(sent_, input, is_exact_);
    if (!sum) return std::nullopt;
    std::size_t length = sum->size() / sent_.size();
    append(mine, gsl::span(*sum).subspan(member * length, length));
  }
  return mine;
}

std::optional<Bytes> MeetingOracle::gathered() const {
  Bytes all;
  for (std::size_t input = 0; input < sent_[0].inputs.size(); ++input) {
    for (const SentBytes& member : sent_) {
      if (member.inputs.size() <= input) return std::nullopt;
      append(all, member.inputs[input]);
    }
  }
  return all;
}

std::optional<Bytes> MeetingOracle::scattered(std::size_t member) const {
  const std::vector<Bytes>& pieces = sent_.at(root()).inputs;
  if (pieces.size() == sent_.size()) return pieces[member];
  if (pieces.size() != 1) return std::nullopt;
  std::size_t item = bytes_per_element(sent_[root()].dtype(0));
  std::size_t length = pieces[0].size() / item / sent_.size() * item;
  Bytes mine;
  append(mine, gsl::span(pieces[0]).subspan(member * length, length));
  return mine;
}

std::optional<Bytes> MeetingOracle::exchanged(std::size_t member) const {
  Bytes mine;
  for (std::size_t from = 0; from < sent_.size(); ++from) {
    const ProgramStep& step = step_of(from);
    if (step.is_list) {
      if (sent_[from].inputs.size() != sent_.size()) return std::nullopt;
      append(mine, sent_[from].inputs[member]);
      continue;
    }
    auto splits = rank_of(from).numbers_in(step.in_split);
    if (splits.size() != sent_.size() || sent_[from].inputs.size() != 1) return std::nullopt;
    std::int64_t item = std::int64_t(bytes_per_element(sent_[from].dtype(0)));
    std::int64_t begin =
        std::accumulate(splits.begin(), splits.begin() + std::ptrdiff_t(member), std::int64_t(0));
    if (begin < 0 || splits[member] < 0 ||
        (begin + splits[member]) * item > std::int64_t(sent_[from].inputs[0].size()))
      return std::nullopt;
    append(mine, gsl::span(sent_[from].inputs[0])
                     .subspan(std::size_t(begin * item), std::size_t(splits[member] * item)));
  }
  return mine;
}

std::optional<Bytes> MeetingOracle::received_by(std::size_t member) const {
  const ProgramStep& step = step_of(member);
  auto sends = [](const SentBytes& sent) { return !sent.inputs.empty(); };
  if (std::none_of(sent_.begin(), sent_.end(), sends)) return std::nullopt;
  bool is_rooted = step.comm == CommKind::broadcast || step.comm == CommKind::reduce ||
                   step.comm == CommKind::gather || step.comm == CommKind::scatter;
  if (is_rooted && (step.root < 0 || root() >= sent_.size())) return std::nullopt;
  bool is_root = member == root();
  switch (step.comm) {
    case CommKind::all_reduce:
    case CommKind::all_reduce_coalesced: return all_sums();
    case CommKind::reduce: return is_root ? all_sums() : std::nullopt;
    case CommKind::gather: return is_root ? gathered() : std::nullopt;
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced: return gathered();
    case CommKind::broadcast: {
      Bytes all;
      for (const Bytes& input : sent_[root()].inputs) append(all, input);
      return all;
    }
    case CommKind::scatter: return scattered(member);
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced: return reduced(step.is_list, member);
    case CommKind::all_to_all:
    case CommKind::all_to_allv: return exchanged(member);
    default: return std::nullopt;
  }
}

// Cuts the data that a rank gets into the outputs of its step; nullopt where it doesn't fill them.
std::optional<CommOutput> cut_into_outputs(const RankProgram& rank, std::uint32_t step,
                                           const Bytes& received, bool keeps_bytes) {
  auto outputs = rank.tensors_in(rank.steps[step].outputs);
  std::vector<Bytes> parts;
  std::size_t begin = 0;
  for (const ProgramTensor& output : outputs) {
    std::size_t length = std::size_t(output.elements) * bytes_per_element(output.dtype);
    if (begin + length > received.size()) return std::nullopt;
    auto part = gsl::span(received).subspan(begin, length);
    parts.emplace_back(part.begin(), part.end());
    begin += length;
  }
  if (begin != received.size() || outputs.empty()) return std::nullopt;
  parts = as_held(outputs, std::move(parts));
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    tensors.push_back(empty({outputs[i].elements}, outputs[i].dtype));
    if (!parts[i].empty()) std::memcpy(tensors[i].mutable_data(), parts[i].data(), parts[i].size());
  }
  CommOutput output{.step = step, .hash = hash_outputs(tensors)};
  if (keeps_bytes) output.bytes = std::move(parts);
  return output;
}

std::string byte_difference(const CommOutput& expected, const CommOutput& got) {
  std::size_t kept = got.bytes.empty() ? 0 : expected.bytes.size();
  for (std::size_t output = 0; output < kept; ++output) {
    const Bytes& a = expected.bytes[output];
    if (output >= got.bytes.size() || got.bytes[output].size() != a.size())
      return fmt::format("output {}: the sizes differ", output);
    const Bytes& b = got.bytes[output];
    auto first = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
    if (first < std::ptrdiff_t(a.size()))
      return fmt::format("output {}: byte {} of {} is {:#04x}, expected {:#04x}", output, first,
                         a.size(), int(b[std::size_t(first)]), int(a[std::size_t(first)]));
  }
  return fmt::format("hash {:016x}, expected {:016x}", got.hash, expected.hash);
}

}  // namespace

std::vector<std::vector<CommOutput>> serial_oracle(const ReplayProgram& program,
                                                   const JobMeetings& meetings,
                                                   const OracleOptions& options) {
  std::vector<std::vector<CommOutput>> answers(program.ranks.size());
  auto add = [&](std::size_t rank, std::uint32_t step, const std::optional<Bytes>& received) {
    if (!received) return;
    if (auto output = cut_into_outputs(program.ranks[rank], step, *received, options.keeps_outputs))
      answers[rank].push_back(std::move(*output));
  };
  for (const Meeting& meeting : meetings.collectives) {
    if (!meeting.is_complete()) continue;
    MeetingOracle oracle(program, meeting, options);
    for (std::size_t member = 0; member < meeting.steps.size(); ++member)
      add(std::size_t(members_of(program, meeting)[member]), *meeting.steps[member],
          oracle.received_by(member));
  }
  for (const MessageMeeting& message : meetings.messages) {
    const RankProgram& from = program.ranks[message.sender.rank];
    if (program.ranks[message.receiver.rank].steps[message.receiver.step].takes_any_source)
      continue;
    Bytes sent;
    for (const Bytes& input : sent_by(from, message.sender.step, options.payload))
      append(sent, input);
    add(message.receiver.rank, message.receiver.step, sent);
  }
  for (auto& rank : answers)
    std::sort(rank.begin(), rank.end(),
              [](const CommOutput& a, const CommOutput& b) { return a.step < b.step; });
  return answers;
}

std::vector<std::string> differences(const ReplayProgram& program,
                                     const std::vector<std::vector<CommOutput>>& expected,
                                     const std::vector<std::vector<CommOutput>>& outputs,
                                     std::size_t* compared) {
  std::vector<std::string> lines;
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    for (const CommOutput& wanted : expected[rank]) {
      const auto& got = outputs[rank];
      auto found = std::find_if(got.begin(), got.end(), [&](const CommOutput& output) {
        return output.step == wanted.step;
      });
      if (compared) ++*compared;
      bool has_bytes = found != got.end() && !found->bytes.empty() && !wanted.bytes.empty();
      if (found != got.end() && found->hash == wanted.hash &&
          (!has_bytes || found->bytes == wanted.bytes))
        continue;
      const ProgramStep& step = program.ranks[rank].steps[wanted.step];
      lines.push_back(fmt::format(
          "rank {} node {} {}: {}", program.ranks[rank].rank, step.node,
          program.ranks[rank].texts[step.name],
          found == got.end() ? "has put out nothing" : byte_difference(wanted, *found)));
    }
  }
  return lines;
}

}  // namespace simmesh::replay
