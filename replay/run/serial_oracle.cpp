#include "replay/run/serial_oracle.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <type_traits>

namespace simmesh::replay {

namespace {

using Bytes = std::vector<std::byte>;

// What a member sends: the bytes of each input, which have one dtype.
struct SentBytes {
  DType dtype = DType::uint8;
  std::vector<Bytes> inputs;
};

Bytes bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.data() + tensor.bytes()}; }

void append(Bytes& to, gsl::span<const std::byte> from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
T element_at(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// A left fold rounds after each addition; exact sums round once. Those of rule wide and small are
// multiples of 2^-20 below 2^4 a term, of which double adds 2^29 without rounding.
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

// The sum of one input over the members; nullopt where sizes or dtypes differ.
std::optional<Bytes> summed(const std::vector<SentBytes>& sent, std::size_t input, bool is_exact) {
  for (const SentBytes& member : sent)
    if (member.inputs.size() <= input || member.dtype != sent[0].dtype ||
        member.inputs[input].size() != sent[0].inputs[input].size())
      return std::nullopt;
  Bytes sum(sent[0].inputs[input].size());
  visit_dtype(sent[0].dtype, [&]<class T>(T) {
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

// MeetingOracle answers one collective. Each answer is what a member gets, as one row of bytes.
class MeetingOracle {
 public:
  MeetingOracle(const ReplayProgram& program, const Meeting& meeting, const OracleOptions& options)
      : program_(program), meeting_(meeting), is_exact_(options.arithmetic.is_exact()) {
    for (std::size_t member = 0; member < meeting.steps.size(); ++member)
      sent_.push_back(sent_by(member, options));
  }

  std::optional<Bytes> received_by(std::size_t member) const;

  const ProgramStep& step_of(std::size_t member) const {
    return rank_of(member).steps[*meeting_.steps[member]];
  }
  const RankProgram& rank_of(std::size_t member) const {
    return program_.ranks[std::size_t(members_of(program_, meeting_)[member])];
  }

 private:
  SentBytes sent_by(std::size_t member, const OracleOptions& options) const;
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

SentBytes MeetingOracle::sent_by(std::size_t member, const OracleOptions& options) const {
  SentBytes sent;
  const RankProgram& rank = rank_of(member);
  auto inputs = rank.tensors_in(step_of(member).inputs);
  if (!inputs.empty()) sent.dtype = inputs[0].dtype;
  for (std::uint32_t i = 0; i < inputs.size(); ++i)
    sent.inputs.push_back(bytes_of(payload_of(rank, *meeting_.steps[member], i, options.payload)));
  return sent;
}

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
  std::size_t item = bytes_per_element(sent_[root()].dtype);
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
    std::int64_t item = std::int64_t(bytes_per_element(sent_[from].dtype));
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

// Cuts what a rank gets into the outputs of its step; nullopt where it doesn't fill them. An output
// that is the same memory as a later one holds what that one got.
std::optional<CommOutput> cut_into_outputs(const RankProgram& rank, std::uint32_t step,
                                           const Bytes& received, bool keeps_bytes) {
  auto outputs = rank.tensors_in(rank.steps[step].outputs);
  std::vector<Tensor> parts;
  std::size_t begin = 0;
  for (const ProgramTensor& output : outputs) {
    Tensor part = empty({output.elements}, output.dtype);
    if (begin + part.bytes() > received.size()) return std::nullopt;
    if (part.bytes() > 0) std::memcpy(part.mutable_data(), received.data() + begin, part.bytes());
    begin += part.bytes();
    for (std::size_t earlier = 0; earlier < parts.size(); ++earlier)
      if (outputs[earlier] == output) parts[earlier] = part;
    parts.push_back(part);
  }
  if (begin != received.size() || outputs.empty()) return std::nullopt;
  CommOutput output{.step = step, .hash = hash_outputs(parts)};
  if (keeps_bytes)
    for (const Tensor& part : parts) output.bytes.push_back(bytes_of(part));
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
    for (std::uint32_t i = 0; i < from.steps[message.sender.step].inputs.size(); ++i)
      append(sent, bytes_of(payload_of(from, message.sender.step, i, options.payload)));
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
