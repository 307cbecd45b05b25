#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "checkpoint/zero_cost/copy_schedule.h"
#include "checkpoint/zero_cost/moving_average.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

using checkpoint::CopyRange;
using checkpoint::CopySchedule;
using checkpoint::MovingAverage;

Schema paddle_ema_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema bits = object({expected("shape", shape_schema()), expected("hash", hash())});
  Schema copy = tuple_by({{"optimizer", {count, count}}, {"params", {text(), count, count}}});
  Schema hook =
      object({expected("copies", list(copy)), expected("dumped", flag()), expected("done", flag()),
              expected("status", integer({.min = 0, .max = 1}))});
  Schema step = object({required("step", integer({.min = 1})), required("loss", number()),
                        required("dump", flag()), required("hooks", list(hook)),
                        expected("ema", bits).or_absent(),
                        expected("ema_float32_buffers", map(bits)).or_absent(),
                        expected("host_optimizer", bits), expected("host_buffers", list(bits))});
  Schema part =
      object({required("buffer", count), required("start", count), required("end", count)});
  return object({required("hook_capacity", integer({.min = 1})), required("usage", number()),
                 expected("chunks", count), required("optimizer", tensor_schema()),
                 required("master", list(tuple({count, count}))),
                 required("buffers", list(tensor_schema())), required("params", list(part)),
                 expected("total_numel", count), expected("chunk_numel", count),
                 optional("coefficient", number()), optional("loss_threshold", number()),
                 required("steps", list(step, {.min = 1}))});
}

// Buffer 0 of the schedule is the optimiser's, buffer i + 1 the case's parameter buffer i.
struct EmaCase {
  std::vector<CaseTensor> buffers;
  std::vector<CopyRange> ranges;
  std::int64_t master_begin = 0, master_end = 0;
};

EmaCase read_ema_case(const RecordedCase& recorded) {
  EmaCase read;
  read.buffers.push_back(read_tensor(recorded["optimizer"]));
  if (recorded.has("coefficient") && read.buffers[0].data.dtype != DType::float32)
    recorded["optimizer"]["dtype"].reject("float32, the dtype of the averages");
  for (const CaseField& field : recorded["buffers"].items())
    read.buffers.push_back(read_tensor(field));
  for (const CaseTensor& buffer : read.buffers)
    require_elements(recorded["optimizer"], buffer.shape, 1);
  read.ranges.push_back({0, 0, numel(read.buffers[0].shape)});
  for (const CaseField& field : recorded["params"].items()) {
    CopyRange range = {std::size_t(field["buffer"].integer()) + 1, field["start"].integer(),
                       field["end"].integer()};
    if (range.buffer >= read.buffers.size() || range.begin > range.end ||
        range.end > numel(read.buffers[range.buffer].shape))
      field.reject("a part of a buffer");
    read.ranges.push_back(range);
  }
  std::vector<CaseField> master = recorded["master"].items();
  for (std::size_t i = 0; i < master.size(); ++i) {
    std::int64_t begin = master[i].integers()[0], end = master[i].integers()[1];
    if (begin > end || end > read.ranges[0].end)
      master[i].reject("a part of the optimiser's buffer");
    read.master_begin = i == 0 ? begin : std::min(read.master_begin, begin);
    read.master_end = i == 0 ? end : std::max(read.master_end, end);
  }
  return read;
}

// Training's buffers, their copies on the host, and the averages.
class EmaRun {
 public:
  EmaRun(const RecordedCase& recorded, CaseReport& report)
      : recorded_(recorded),
        report_(report),
        case_(read_ema_case(recorded)),
        schedule_(case_.ranges, {.hook_capacity = recorded["hook_capacity"].integer(),
                                 .usage = recorded["usage"].number()}) {
    for (const CaseTensor& buffer : case_.buffers)
      host_.push_back(zeros(buffer.shape, buffer.data.dtype));
    if (auto coefficient = recorded.find("coefficient"))
      for (std::size_t i = 0; i < host_.size(); ++i)
        averages_.emplace_back(i == 0 ? std::size_t(case_.master_end - case_.master_begin)
                                      : std::size_t(host_[i].numel()),
                               MovingAverage::Options{.coefficient = coefficient->number()});
    report.expect_equal("total_numel", recorded["total_numel"].integer(), schedule_.total_numel());
    report.expect_equal("chunks", recorded["chunks"].integer(), schedule_.chunks());
    report.expect_equal("chunk_numel", recorded["chunk_numel"].integer(), schedule_.chunk_numel());
  }

  void run() {
    std::vector<CaseField> steps = recorded_["steps"].items();
    for (std::size_t i = 0; i < steps.size(); ++i) step(i, steps[i]);
  }

 private:
  void step(std::size_t index, const CaseField& field);
  void hook(const CaseField& field, const std::string& who, const std::vector<Tensor>& device,
            const CaseField& step);
  void update_averages(const CaseField& step);
  void compare_averages(const CaseField& field, const std::string& who);
  void compare_bits(const std::string& what, const CaseField& bits, const Tensor& tensor) {
    report_.expect_equal(what + ": shape", bits["shape"].shape(), tensor.shape());
    report_.expect_equal(what + ": hash", bits["hash"].text(), bits_text(tensor));
  }
  void compare_average(const std::string& what, const CaseField& bits, std::size_t buffer) {
    auto values = averages_[buffer].values();
    report_.expect_equal(what + ": shape", bits["shape"].shape(),
                         Shape{std::int64_t(values.size())});
    report_.expect_equal(what + ": hash", bits["hash"].text(), bits_text(gsl::as_bytes(values)));
  }

  const RecordedCase& recorded_;
  CaseReport& report_;
  EmaCase case_;
  CopySchedule schedule_;
  std::vector<Tensor> host_;
  std::vector<MovingAverage> averages_;  // of the buffers; empty without any
};

void EmaRun::update_averages(const CaseField& step) {
  if (averages_.empty()) return;
  if (auto threshold = recorded_.find("loss_threshold");
      threshold && !(step["loss"].number() < threshold->number()))
    return;
  auto master = host_[0].values<float>();
  averages_[0].update(
      {master.data() + case_.master_begin, std::size_t(case_.master_end - case_.master_begin)});
  for (std::size_t i = 1; i < host_.size(); ++i) {
    if (host_[i].dtype() != DType::float32) continue;
    auto values = host_[i].values<float>();
    averages_[i].update({values.data(), values.size()});
  }
}

// Returns the schedule's buffer of a parameter buffer, which a case names by its number.
std::size_t buffer_of(const CaseField& name) {
  for (std::size_t i = 0; i < 1024; ++i)
    if (name.text() == std::to_string(i)) return i + 1;
  name.reject("the number of a buffer");
}

void EmaRun::hook(const CaseField& field, const std::string& who, const std::vector<Tensor>& device,
                  const CaseField& step) {
  std::vector<CopyRange> copies = schedule_.next();
  std::vector<CopyRange> expected;
  for (const CaseField& copy : field["copies"].items()) {
    std::vector<CaseField> parts = copy.items();
    if (parts[0].text() == "optimizer")
      expected.push_back({0, parts[1].integer(), parts[2].integer()});
    else
      expected.push_back({buffer_of(parts[1]), parts[2].integer(), parts[3].integer()});
  }
  if (copies != expected) report_.mismatch(who + "copies other elements");
  for (const CopyRange& copy : copies) {
    Tensor to = host_[copy.buffer].narrow({0, copy.begin, copy.end - copy.begin});
    copy_(to, device[copy.buffer].narrow({0, copy.begin, copy.end - copy.begin}));
  }
  bool is_done = schedule_.is_done();
  if (is_done) update_averages(step);
  report_.expect_equal(who + "done", field["done"].boolean(), is_done);
  report_.expect_equal(who + "dumped", field["dumped"].boolean(),
                       is_done && step["dump"].boolean());
  report_.expect_equal(who + "status", field["status"].integer(), std::int64_t(!is_done));
}

void EmaRun::step(std::size_t index, const CaseField& field) {
  std::vector<Tensor> device;
  for (const CaseTensor& buffer : case_.buffers) {
    Formula data = buffer.data;
    if (index > 0) data.seed += 1000 * std::uint64_t(field["step"].integer());
    device.push_back(formula(buffer.shape, data));
  }
  schedule_.begin();
  std::vector<CaseField> hooks = field["hooks"].items();
  std::string who = fmt::format("step {}: ", field["step"].integer());
  for (std::size_t i = 0; i < hooks.size(); ++i)
    hook(hooks[i], fmt::format("{}hook {}: ", who, i), device, field);
  compare_bits(who + "host_optimizer", field["host_optimizer"], host_[0]);
  std::vector<CaseField> buffers = field["host_buffers"].items();
  if (report_.expect_equal(who + "host_buffers", buffers.size(), host_.size() - 1))
    for (std::size_t i = 0; i < buffers.size(); ++i)
      compare_bits(fmt::format("{}host buffer {}", who, i), buffers[i], host_[i + 1]);
  compare_averages(field, who);
}

// With a coefficient there are averages of the optimizer's buffer and of each float32 buffer.
void EmaRun::compare_averages(const CaseField& field, const std::string& who) {
  auto ema = field.find("ema"), averaged = field.find("ema_float32_buffers");
  report_.expect_equal(who + "has an average", ema.has_value(), !averages_.empty());
  report_.expect_equal(who + "has averages of buffers", averaged.has_value(), !averages_.empty());
  std::size_t count = 0;
  for (std::size_t i = 1; i < averages_.size(); ++i) {
    if (host_[i].dtype() != DType::float32) continue;
    ++count;
    std::string key = std::to_string(i - 1);
    auto bits = averaged ? averaged->find(key) : std::nullopt;
    if (bits)
      compare_average(fmt::format("{}ema of buffer {}", who, key), *bits, i);
    else
      report_.mismatch(fmt::format("{}no average of buffer {}", who, key));
  }
  report_.expect_equal(who + "averages of buffers", averaged ? averaged->size() : 0, count);
  if (ema && !averages_.empty()) compare_average(who + "ema", *ema, 0);
}

void verify_paddle_ema(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  EmaRun(recorded, report).run();
}

const CaseKind paddle_ema_kind(
    {.name = "paddle_ema",
     .summary = "what each hook of a zero-cost checkpoint copies, and the moving average",
     .schema = paddle_ema_schema,
     .verifier = verify_paddle_ema});

}  // namespace

}  // namespace simmesh
