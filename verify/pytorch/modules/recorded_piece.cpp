#include "verify/pytorch/modules/recorded_piece.h"

#include "sharding/dtensor/dtensor.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

void require_length(const CaseField& field, std::size_t length, std::int64_t world) {
  if (std::int64_t(length) != world)
    field.reject(fmt::format("one entry for each of the {} ranks", world));
}

}  // namespace

Schema piece_schema(bool with_name) {
  using namespace schema;
  Fields fields = {expected("placements", or_null(case_placements_schema())),
                   expected("local_shape", list(shape_schema())),
                   expected("hash", list(hash())).unless("values"),
                   expected("values", list(list(figure()))).unless("hash")};
  if (with_name) fields.insert(fields.begin(), expected("name", text()));
  return object(std::move(fields));
}

RecordedPiece read_piece(const CaseField& field, std::int64_t world, std::string name) {
  RecordedPiece piece{.name = std::move(name)};
  if (auto own = field.find("name")) piece.name = own->text();
  if (!field["placements"].is_null()) piece.placements = read_case_placements(field["placements"]);
  for (const CaseField& shape : field["local_shape"].items())
    piece.local_shapes.push_back(shape.shape());
  require_length(field["local_shape"], piece.local_shapes.size(), world);
  if (auto hashes = field.find("hash")) {
    piece.hashes = hashes->texts();
    require_length(*hashes, piece.hashes.size(), world);
    return piece;
  }
  for (const CaseField& entry : field["values"].items()) {
    auto& values = piece.values.emplace_back();
    for (const CaseField& value : entry.items()) values.push_back(read_number(value));
  }
  require_length(field["values"], piece.values.size(), world);
  return piece;
}

void compare_piece(const RecordedPiece& expected, const Tensor& actual, const RankOfResult& at,
                   CaseReport& report) {
  std::string who = fmt::format("rank {}: {}", at.rank, at.what);
  if (!actual.is_defined()) return report.mismatch(who + ": expected a tensor, got none");
  std::string wanted = expected.placements ? to_string(*expected.placements) : "plain";
  std::string came = actual.distribution() ? to_string(DTensor::of(actual).placements()) : "plain";
  if (!report.expect_equal(who + ": placements", wanted, came)) return;
  Tensor local = actual.local_part();
  if (!report.expect_equal(who + ": shape", to_string(DimSpan(expected.local_shapes[at.rank])),
                           to_string(DimSpan(local.shape()))))
    return;
  if (!expected.hashes.empty())
    report.expect_equal(who + ": bits", expected.hashes[at.rank],
                        bits_without_signs_of_zero(local));
  else if (std::string text = difference_in_values(expected.values[at.rank], local, at.closeness);
           !text.empty())
    report.mismatch(who + ": " + text);
}

}  // namespace simmesh
