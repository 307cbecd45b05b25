#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// ModelNode describes one module of a model as data, in recorded cases and gate files. Kind and
// fields are those of tests/cases/fsdp/README.md; a parameter's name is the path of its nodes'
// names, then weight or bias.
struct ModelNode {
  // NamedShapes are the parameters of the kind params: [[name, shape], ..].
  using NamedShapes = std::vector<std::pair<std::string, Shape>>;
  using Field =
      std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>, NamedShapes>;

  std::string name;
  std::string kind;
  std::map<std::string, Field> fields;
  std::vector<ModelNode> children;
};

// model_node_kinds returns the kinds in alphabetical order, and fields_of the fields that a kind
// may have; empty for an unknown kind.
std::vector<std::string> model_node_kinds();
std::vector<std::string> fields_of(std::string_view kind);

// build makes the module that a node describes. Raises a ValueError that names the node's path, for
// an unknown kind or field, a missing one, or one of another type.
ModulePtr build(const ModelNode& node, const ParameterOptions& options = {});

}  // namespace simmesh::nn
