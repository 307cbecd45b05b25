#include "checkpoint/deepspeed/step_count.h"

#include <cmath>
#include <cstring>

#include "checkpoint/torch_file/pickle_json.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

std::int64_t step_count(const TorchFile& file, PickleValue step) {
  if (!is_torch_view(step)) return as_integer(step, "step");
  TorchFile::Place place = file.place(step);
  if (place.dtype != StoredDType::f32 || !place.shape.empty())
    raise(ErrorKind::value_error, "checkpoint/deepspeed", "a step of {}{}, expected one float32",
          dtype_name(place.dtype), to_string(place.shape));
  float number = 0;
  std::memcpy(&number, file.read(place).data(), sizeof number);
  if (!(number >= 0 && number < 0x1p24f) || std::floor(number) != number)
    raise(ErrorKind::value_error, "checkpoint/deepspeed", "a step of {}", number);
  return std::int64_t(number);
}

}  // namespace simmesh::checkpoint
