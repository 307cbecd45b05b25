#include "verify/paddle/case_layout.h"

#include <charconv>

#include "verify/case_tensor.h"

namespace simmesh {

schema::Fields layout_fields() {
  using namespace schema;
  Schema mesh_dim = integer({.min = 0, .max = case_mesh_dims_max - 1});
  Schema reduction = word({"sum", "avg", "min", "max", "product", "any", "all"});
  return {required("dims", list(list(mesh_dim, {.max = std::size_t(case_mesh_dims_max)}),
                                {.max = std::size_t(dims_max)})),
          optional("partial", map(reduction))};
}

paddle::DistAttr read_paddle_layout(const CaseField& field) {
  paddle::DistAttr attr;
  for (const CaseField& cuts : field["dims"].items()) attr.dims_mapping.push_back(cuts.dims());
  auto partial = field.find("partial");
  if (!partial) return attr;
  for (const std::string& key : partial->keys()) {
    std::int64_t mesh_dim = -1;
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), mesh_dim);
    if (error != std::errc() || end != key.data() + key.size() || mesh_dim < 0 ||
        mesh_dim >= case_mesh_dims_max)
      partial->reject("mesh dims as keys");
    attr.partial_status.emplace(mesh_dim, paddle::reduce_op_from_word((*partial)[key].text()));
  }
  return attr;
}

Schema paddle_placements_schema() {
  using namespace schema;
  auto parse = [](const std::string& text) {
    paddle::parse_placement(text);
    return true;
  };
  return list(spelled("placement (R, S(0), P(sum), ..)", parse),
              {.max = std::size_t(case_mesh_dims_max)});
}

Placements read_paddle_placements(const CaseField& field) {
  Placements placements;
  for (const std::string& text : field.texts()) placements.push_back(paddle::parse_placement(text));
  return placements;
}

}  // namespace simmesh
