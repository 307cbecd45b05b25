#include "verify/paddle/rule_lines.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh {

namespace {

using RuleJson = nlohmann::ordered_json;

// Counterpart is a call of an op of Paddle, and the operator of PyTorch that does the same.
struct Counterpart {
  std::string_view op;
  std::string_view attributes;  // of the rule, as JSON
  std::string_view inputs;  // the tensors: [shape, dtype] each, in one list where the op takes one
  std::string_view torch_op;
  std::string_view arguments;  // of the operator, as JSON; i stands for input number i
};

constexpr std::string_view float_matrix = R"([[[4,6],"float32"]])";
constexpr std::string_view wide_matrix = R"([[[4,6],"float64"]])";
constexpr std::string_view two_matrices = R"([[[4,6],"float32"],[[4,6],"float32"]])";
constexpr std::string_view bool_matrix = R"([[[4,6],"bool"]])";
constexpr std::string_view one_input = R"(["i0"])";
constexpr std::string_view two_inputs = R"(["i0","i1"])";

constexpr Counterpart counterparts[] = {
    {"abs", "[]", float_matrix, "aten.abs.default", one_input},
    {"add", "[]", two_matrices, "aten.add.Tensor", two_inputs},
    {"all", "[[1],false]", bool_matrix, "aten.all.dim", R"(["i0",1])"},
    {"amax", "[[1],false]", float_matrix, "aten.amax.default", R"(["i0",[1]])"},
    {"amin", "[[1],false]", float_matrix, "aten.amin.default", R"(["i0",[1]])"},
    {"any", "[[1],false]", bool_matrix, "aten.any.dim", R"(["i0",1])"},
    {"argmax", "[1,false,false,3]", float_matrix, "aten.argmax.default", R"(["i0",1,false])"},
    {"argmin", "[1,false,false,3]", float_matrix, "aten.argmin.default", R"(["i0",1,false])"},
    {"argsort", "[1,false,false]", float_matrix, "aten.sort.default", R"(["i0",1])"},
    {"assign", "[]", float_matrix, "aten.clone.default", one_input},
    {"bmm", "[]", R"([[[4,6,2],"float32"],[[4,2,8],"float32"]])", "aten.bmm.default", two_inputs},
    {"ceil", "[]", float_matrix, "aten.ceil.default", one_input},
    {"clip", "[0.0,1.0]", float_matrix, "aten.clamp.default", R"(["i0",0.0,1.0])"},
    {"concat", "[0]", R"([[[[4,6],"float32"],[[4,6],"float32"]]])", "aten.cat.default",
     R"([["i0","i1"],0])"},
    {"cos", "[]", wide_matrix, "aten.cos.default", one_input},
    {"cumsum", "[1,false,false,false]", float_matrix, "aten.cumsum.default", R"(["i0",1])"},
    {"divide", "[]", two_matrices, "aten.div.Tensor", two_inputs},
    {"embedding", "[-1,false]", R"([[[4],"int64"],[[8,4],"float32"]])", "aten.embedding.default",
     R"(["i1","i0"])"},
    {"erf", "[]", wide_matrix, "aten.erf.default", one_input},
    {"exp", "[]", wide_matrix, "aten.exp.default", one_input},
    {"greater_than", "[]", two_matrices, "aten.gt.Tensor", two_inputs},
    {"index_select", "[1]", R"([[[4,6],"float32"],[[4],"int64"]])", "aten.index_select.default",
     R"(["i0",1,"i1"])"},
    {"layer_norm", "[1e-5,1]", R"([[[4,6],"float64"],[[6],"float64"],[[6],"float64"]])",
     "aten.native_layer_norm.default", R"(["i0",[6],"i1","i2",1e-5])"},
    {"less_than", "[]", two_matrices, "aten.lt.Tensor", two_inputs},
    {"log_softmax", "[1]", wide_matrix, "aten._log_softmax.default", R"(["i0",1,false])"},
    {"logical_and", "[]", R"([[[4,6],"bool"],[[4,6],"bool"]])", "aten.logical_and.default",
     two_inputs},
    {"logsumexp", "[[1],false,false]", wide_matrix, "aten.logsumexp.default", R"(["i0",[1]])"},
    {"matmul", "[false,false]", R"([[[4,4],"float32"],[[4,8],"float32"]])", "aten.mm.default",
     two_inputs},
    {"maximum", "[]", two_matrices, "aten.maximum.default", two_inputs},
    {"mean_all", "[]", float_matrix, "aten.mean.default", one_input},
    {"minimum", "[]", two_matrices, "aten.minimum.default", two_inputs},
    {"multiply", "[]", two_matrices, "aten.mul.Tensor", two_inputs},
    {"not_equal", "[]", two_matrices, "aten.ne.Tensor", two_inputs},
    {"p_norm", "[2.0,1,1e-12,false,false]", wide_matrix, "aten.linalg_vector_norm.default",
     R"(["i0",2,[1]])"},
    {"pow", "[2.0]", float_matrix, "aten.pow.Tensor_Scalar", R"(["i0",2.0])"},
    {"prod", "[[1],false,false]", float_matrix, "aten.prod.dim_int", R"(["i0",1])"},
    {"reduce_sum", "[[1],false]", float_matrix, "aten.sum.dim_IntList", R"(["i0",[1],false])"},
    {"relu", "[]", float_matrix, "aten.relu.default", one_input},
    {"reshape", "[[4,2,3]]", float_matrix, "aten.view.default", R"(["i0",[4,2,3]])"},
    {"roll", "[[1],[1]]", float_matrix, "aten.roll.default", R"(["i0",[1],[1]])"},
    {"round", "[]", float_matrix, "aten.round.default", one_input},
    {"sigmoid", "[]", wide_matrix, "aten.sigmoid.default", one_input},
    {"sign", "[]", float_matrix, "aten.sign.default", one_input},
    {"silu", "[]", wide_matrix, "aten.silu.default", one_input},
    {"sin", "[]", wide_matrix, "aten.sin.default", one_input},
    {"slice", "[[1],[0],[4],[1],[]]", float_matrix, "aten.slice.Tensor", R"(["i0",1,0,4])"},
    {"softmax", "[1]", wide_matrix, "aten._softmax.default", R"(["i0",1,false])"},
    {"split_with_num", "[2,0]", float_matrix, "aten.split.Tensor", R"(["i0",2,0])"},
    {"square", "[]", float_matrix, "aten.square.default", one_input},
    {"squeeze", "[[1]]", R"([[[4,1,6],"float32"]])", "aten.squeeze.dim", R"(["i0",1])"},
    {"stack", "[0]", R"([[[[4,6],"float32"],[[4,6],"float32"]]])", "aten.stack.default",
     R"([["i0","i1"],0])"},
    {"subtract", "[]", two_matrices, "aten.sub.Tensor", two_inputs},
    {"take_along_axis", "[1]", R"([[[4,6],"float32"],[[4,2],"int64"]])", "aten.gather.default",
     R"(["i0",1,"i1"])"},
    {"tanh", "[]", wide_matrix, "aten.tanh.default", one_input},
    {"tile", "[[1,2]]", float_matrix, "aten.repeat.default", R"(["i0",[1,2]])"},
    {"topk", "[2,1,true,true]", float_matrix, "aten.topk.default", R"(["i0",2,1])"},
    {"transpose", "[[1,0]]", float_matrix, "aten.permute.default", R"(["i0",[1,0]])"},
    {"triu", "[0]", R"([[[2,4,4],"float32"]])", "aten.triu.default", one_input},
    {"unbind", "[0]", float_matrix, "aten.unbind.int", R"(["i0",0])"},
    {"unsqueeze", "[[1]]", float_matrix, "aten.unsqueeze.default", R"(["i0",1])"},
    {"where", "[]", R"([[[4,6],"bool"],[[4,6],"float32"],[[4,6],"float32"]])", "aten.where.self",
     R"(["i0","i1","i2"])"},
};

// A tensor of a call, without layout.
struct PlainTensor {
  Shape shape;
  std::string dtype;
};

// RuleTableWriter asks one rule about all combinations of placements.
class RuleTableWriter {
 public:
  explicit RuleTableWriter(const Counterpart& counterpart) : counterpart_(counterpart) {
    RuleJson inputs = RuleJson::parse(counterpart.inputs);
    is_list_ = inputs[0][0].is_array() && inputs[0][0][0].is_array();
    for (const RuleJson& input : is_list_ ? inputs[0] : inputs)
      tensors_.push_back({Shape(input[0].begin(), input[0].end()), input[1]});
    for (const PlainTensor& tensor : tensors_) candidates_.push_back(candidates_of(tensor));
  }

  std::string line() const {
    RuleJson rows = RuleJson::array();
    Dims index(tensors_.size(), 0), counts;
    for (const Placements& candidates : candidates_)
      counts.push_back(std::int64_t(candidates.size()));
    do {
      if (auto row = row_of(index)) rows.push_back(*row);
    } while (next_index(index, counts));
    RuleJson written = {{"kind", "rules"},
                        {"id", fmt::format("paddle_rules/{}", counterpart_.op)},
                        {"source", "Paddle's rules, as sharding/paddle has them"},
                        {"op", counterpart_.torch_op},
                        {"mesh", {{"shape", {2}}}},
                        {"inputs", inputs()},
                        {"args", with_inputs(RuleJson::parse(counterpart_.arguments))},
                        {"candidates", RuleJson::array()},
                        {"tried", numel(counts)},
                        {"rows", rows}};
    for (const Placements& candidates : candidates_) {
      RuleJson texts = RuleJson::array();
      for (const Placement& placement : candidates) texts.push_back(to_string(placement));
      written["candidates"].push_back(texts);
    }
    return written.dump();
  }

 private:
  static Placements candidates_of(const PlainTensor& tensor) {
    Placements candidates{Replicate()};
    for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim)
      candidates.push_back(Shard(std::int64_t(dim)));
    if (tensor.dtype.starts_with("float")) candidates.push_back(Partial());
    return candidates;
  }

  RuleJson inputs() const {
    RuleJson inputs = RuleJson::array();
    for (const PlainTensor& tensor : tensors_)
      inputs.push_back(
          {{"shape", std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())},
           {"dtype", tensor.dtype}});
    return inputs;
  }

  // Replaces "i0" by {"input": 0}, at any depth.
  static RuleJson with_inputs(RuleJson arguments) {
    for (RuleJson& argument : arguments) {
      if (argument.is_array()) argument = with_inputs(argument);
      if (argument.is_string())
        argument = {{"input", std::stoi(argument.get<std::string>().substr(1))}};
    }
    return arguments;
  }

  paddle::SpmdCall call_of(const Dims& index) const {
    paddle::SpmdCall call{.op = std::string(counterpart_.op), .mesh_shape = {2}, .inputs = {}};
    std::vector<paddle::SpmdTensor> tensors;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Placement& placement = candidates_[i][std::size_t(index[i])];
      tensors.push_back(
          {tensors_[i].shape, paddle::to_dist_attr({&placement, 1}, tensors_[i].shape.size())});
    }
    if (is_list_)
      call.inputs.emplace_back(std::move(tensors));
    else
      call.inputs.assign(tensors.begin(), tensors.end());
    for (const RuleJson& attribute : RuleJson::parse(counterpart_.attributes)) {
      if (attribute.is_boolean())
        call.attributes.emplace_back(attribute.get<bool>());
      else if (attribute.is_number_integer())
        call.attributes.emplace_back(attribute.get<std::int64_t>());
      else if (attribute.is_array())
        call.attributes.emplace_back(attribute.get<std::vector<std::int64_t>>());
      else
        call.attributes.emplace_back(attribute.get<double>());
    }
    return call;
  }

  // Returns the row of a combination that the rule takes unchanged; none where it needs another
  // one.
  std::optional<RuleJson> row_of(const Dims& index) const {
    paddle::SpmdCall call = call_of(index);
    RuleJson inputs = RuleJson::array(), outputs = RuleJson::array();
    paddle::SpmdAnswer answer;
    try {
      answer = paddle::infer_spmd(call);
    } catch (const Error&) {
      return std::nullopt;  // The rule has no answer, so it takes nothing.
    }
    std::size_t tensor = 0;
    for (const paddle::SpmdLayout& wanted : answer.inputs)
      for (const paddle::DistAttr& attr : wanted.attrs) {
        const Placement& given = candidates_[tensor][std::size_t(index[tensor])];
        if (paddle::to_placements(attr, 1)[0] != given) return std::nullopt;
        inputs.push_back(to_string(given));
        ++tensor;
      }
    for (const paddle::SpmdLayout& layout : answer.outputs)
      for (const paddle::DistAttr& attr : layout.attrs)
        outputs.push_back(to_string(paddle::to_placements(attr, 1)[0]));
    return RuleJson{inputs, outputs};
  }

  const Counterpart& counterpart_;
  bool is_list_ = false;
  std::vector<PlainTensor> tensors_;
  std::vector<Placements> candidates_;
};

}  // namespace

std::vector<std::string> paddle_rule_lines() {
  std::vector<std::string> lines;
  for (const Counterpart& counterpart : counterparts)
    lines.push_back(RuleTableWriter(counterpart).line());
  return lines;
}

}  // namespace simmesh
