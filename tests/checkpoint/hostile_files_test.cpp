#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <set>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/dcp/dcp_checkpoint.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/format/formats.h"
#include "checkpoint/hugging_face/hugging_face.h"
#include "checkpoint/mapping/mapping.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "checkpoint/safetensors/header.h"
#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "checkpoint/torch_file/zip_archive.h"
#include "tests/checkpoint/allocated_bytes.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/checkpoint/hostile_bytes.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using Files = std::vector<std::string>;

// HostileReader is a reader with files that it takes. `prepare` makes the bytes that are read, and
// returns a function that reads them; memory is a multiple of them. The function may raise nothing
// but an Error. A reader that opens checkpoints of a format names it.
struct HostileReader {
  std::string name;
  Files files;
  std::function<std::function<void()>(const std::string& text)> prepare;
  const Format* format = nullptr;
};

const DirectoryStore& recorded_files() {
  static const DirectoryStore store(SIMMESH_SOURCE_DIR "/tests/cases/checkpoint");
  return store;
}

std::string recorded_text(const std::string& path) {
  return testing::text_of(read_file(recorded_files(), path, 1 << 20));
}

Files recorded_texts(const std::string& folder, const std::string& ending) {
  Files texts;
  for (const std::string& file : recorded_files().files(folder))
    if (file.ends_with(ending)) texts.push_back(recorded_text(joined(folder, file)));
  return texts;
}

// Returns a store with a recorded folder, in which tests replace one file again and again.
std::shared_ptr<MemoryStore> copy_of(const std::string& folder) {
  auto store = std::make_shared<MemoryStore>();
  for (const std::string& file : recorded_files().files(folder))
    testing::add_file(*store, "m/" + file, recorded_text(joined(folder, file)));
  return store;
}

void replace(MemoryStore& store, const std::string& path, const std::string& text) {
  store.remove(path);
  testing::add_file(store, path, text);
}

// Reads all tensors of a checkpoint, each by itself.
void read_all(const Store& store, const OpenCheckpoint& checkpoint) {
  for (const StoredTensor& tensor : checkpoint.catalog.tensors)
    static_cast<void>(
        simmesh::testing::error_text([&] { read_tensor(store, checkpoint, tensor); }));
}

HostileReader safetensors_reader() {
  auto store = std::make_shared<MemoryStore>();
  return {"a safetensors file", recorded_texts("safetensors_good", ".safetensors"),
          [store](const std::string& text) -> std::function<void()> {
            replace(*store, "f", text);
            return [store] { read_all(*store, {read_safetensors(*store, "f"), ""}); };
          },
          &safetensors_format};
}

HostileReader header_reader() {
  Files headers;
  for (const std::string& file : recorded_texts("safetensors_good", ".safetensors")) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length |= std::size_t(std::uint8_t(file[i])) << (8 * i);
    headers.push_back(file.substr(8, length));
  }
  return {"a safetensors header", headers,
          [](const std::string& text) { return [text] { parse_safetensors_header(text, 24); }; }};
}

HostileReader index_reader() {
  auto store = copy_of("dcp/hf_consolidated_2files");
  Files files = recorded_texts("dcp", ".index.json");
  return {"an index", files, [store](const std::string& text) -> std::function<void()> {
            replace(*store, "m/model.safetensors.index.json", text);
            return [store] { read_all(*store, {read_hugging_face(*store, "m"), "m"}); };
          }};
}

HostileReader shard_reader() {
  auto store = copy_of("dcp/hf_sharded");
  return {"a shard", recorded_texts("dcp/hf_sharded", ".safetensors"),
          [store](const std::string& text) -> std::function<void()> {
            replace(*store, "m/shard-00002-model-00001-of-00001.safetensors", text);
            return [store] { read_all(*store, {read_hugging_face(*store, "m"), "m"}); };
          }};
}

HostileReader metadata_reader() {
  auto store = copy_of("dcp/native_1d_uneven");
  Files files = recorded_texts("dcp", ".metadata");
  return {"DCP's metadata", files,
          [store](const std::string& text) -> std::function<void()> {
            replace(*store, "m/.metadata", text);
            return [store] { read_all(*store, open({store, "m"})); };
          },
          &dcp_format};
}

// Returns the archives of recorded files, and of some values.
Files recorded_archives() {
  Files archives;
  for (const char* folder : {"dcp/native_1d_uneven", "dcp/native_single"})
    for (const StoredTensor& tensor : read_dcp(recorded_files(), folder).tensors)
      for (const StoredChunk& chunk : tensor.chunks)
        archives.push_back(recorded_text(joined(folder, chunk.file))
                               .substr(std::size_t(chunk.begin), std::size_t(chunk.bytes)));
  for (const char* text : {"[1,2.5,\"a\",null]", R"({"lr":0.1,"betas":[0.9,0.999]})"})
    archives.push_back(testing::text_of(torch_object_archive(JsonValue::parse(text))));
  return archives;
}

std::function<void()> reading_archive(std::vector<std::byte> archive) {
  return [archive = std::move(archive)] {
    static_cast<void>(simmesh::testing::error_text([&] { read_torch_tensor(archive); }));
    read_torch_object(archive);
  };
}

HostileReader archive_reader() {
  return {"an archive", recorded_archives(),
          [](const std::string& text) { return reading_archive(testing::bytes_of(text)); }};
}

// Changes pickles in archives whose checksums are right.
HostileReader archived_pickle_reader() {
  Files pickles;
  for (const std::string& archive : recorded_archives())
    for (const ZipMember& member : read_zip(testing::bytes_of(archive)))
      if (member.name.ends_with("data.pkl")) pickles.push_back(testing::text_of(member.bytes));
  return {"a pickle in an archive", pickles, [](const std::string& text) {
            return reading_archive(zip_of(
                {{"a/data.pkl", testing::bytes_of(text)}, {"a/data/0", std::vector<std::byte>(36)}},
                64));
          }};
}

// DeepSpeedFile is a file of a checkpoint of DeepSpeed that tests change.
struct DeepSpeedFile {
  std::shared_ptr<MemoryStore> store;
  std::string path, text;

  DeepSpeedFile(const std::string& run, const std::string& file)
      : store(copy_of(run)),
        path("m/" + file),
        text(testing::text_of(read_file(*store, path, 1 << 20))) {}

  std::function<void()> reading(const std::string& changed) const {
    replace(*store, path, changed);
    return [store = store] { read_all(*store, open({store, "m"})); };
  }
};

HostileReader deepspeed_reader(const std::string& run, const std::string& file) {
  DeepSpeedFile whole(run, file);
  return {fmt::format("{} of {}", file, run),
          {whole.text},
          [whole](const std::string& text) { return whole.reading(text); },
          &deepspeed_format};
}

HostileReader deepspeed_pickle_reader(const std::string& run, const std::string& file) {
  DeepSpeedFile whole(run, file);
  std::vector<ZipMember> members = read_zip(testing::bytes_of(whole.text));
  return {fmt::format("the pickle in {} of {}", file, run),
          {testing::text_of(members.at(0).bytes)},
          [whole, members](const std::string& text) {
            std::vector<ZipMember> changed = members;
            changed[0].bytes = testing::bytes_of(text);
            return whole.reading(testing::text_of(zip_of(changed, 64)));
          }};
}

// Reads a file of torch.save by itself. `changes_pickle` changes the pickle in its archive.
HostileReader pytorch_reader(const std::string& file, bool changes_pickle) {
  DirectoryStore recorded(SIMMESH_SOURCE_DIR "/tests/checkpoint/pytorch/files");
  std::string whole = testing::text_of(read_file(recorded, file, 1 << 20));
  std::vector<ZipMember> members;
  if (changes_pickle) members = read_zip(testing::bytes_of(whole));
  auto store = std::make_shared<MemoryStore>();
  return {fmt::format("{}{}", changes_pickle ? "the pickle in " : "", file),
          {changes_pickle ? testing::text_of(members.at(0).bytes) : whole},
          [store, members](const std::string& text) -> std::function<void()> {
            std::vector<ZipMember> changed = members;
            if (!changed.empty()) changed[0].bytes = testing::bytes_of(text);
            replace(*store, "f.pt", changed.empty() ? text : testing::text_of(zip_of(changed, 64)));
            return [store] { read_all(*store, open({store, "f.pt"})); };
          },
          &pytorch_format};
}

Location saved_sample() {
  Location location = {std::make_shared<MemoryStore>(), "m"};
  testing::run_world(2, [&] {
    DeviceMesh mesh = init_device_mesh({2});
    StateDict state = testing::sample_state(mesh, testing::sample_tensors(Shard(0)), 1);
    state.add("lr", std::numeric_limits<double>::infinity());
    state.add("config", JsonValue::parse(R"({"a":[1,2.5,{"b":null}],"c":"text"})"));
    save(state, location);
  });
  return location;
}

HostileReader manifest_reader() {
  Location saved = saved_sample();
  std::string written = testing::text_of(read_file(*saved.store, "m/manifest.json", 1 << 20));
  return {"a manifest",
          {written},
          [store = saved.store](const std::string& text) {
            return [store, text] {
              Manifest manifest = parse_manifest(text);
              parse_catalog(catalog_text(manifest.catalog));
              read_all(*store, {manifest.catalog, "m"});
            };
          },
          &simmesh_format};
}

HostileReader commit_reader() {
  return {"a commit record",
          {commit_text({1, 2, 3}), commit_text({1 << 30, 1 << 20, ~std::uint64_t{0}})},
          [](const std::string& text) { return [text] { parse_commit(text); }; }};
}

HostileReader statement_reader() {
  static const std::map<std::string, StoredShape> stored = {{"a", {{4, 6}}},
                                                            {"b", {{4, 6}}},
                                                            {"l.0.w", {{2, 3, 4}}},
                                                            {"l.1.w", {{2, 3, 4}}},
                                                            {"q", {{2, 8}}},
                                                            {"k", {{2, 4}}},
                                                            {"v", {{2, 4}}},
                                                            {"none", {{0, 4}}},
                                                            {"a.moment1_0", {{4, 6}}},
                                                            {"b.moment1_0", {{4, 6}}},
                                                            {"a.beta1_pow_acc_0", {{1}}}};
  return {"a mapping",
          {"a -> c", "a, b -> c, axis=0", "a -> c, d, axis=1", "a -> c, permute=\"[1,0]\"",
           "a -> c, permute=\"[]\", dtype='float16'", "a -> _", "_ -> c",
           "l.$LAYER_ID.w -> m.$LAYER_ID.w", "l.*.w -> all, axis=2",
           "q, k, v -> f, fused_qkv, num_heads=4, num_key_value_groups=2", "a, b -> c, fused_ffn",
           "none, none -> c, axis=1"},
          [](const std::string& text) { return [text] { Mapping({text}, stored); }; }};
}

std::vector<HostileReader> all_readers() {
  const std::string flat = "deepspeed/z2_fp32_w3_frozen_tied",
                    cut = "deepspeed/z3_bf16_w3_frozen_tied",
                    universal = "deepspeed_universal/z2_fp16_w2",
                    states = "global_step3_universal/";
  return {
      safetensors_reader(),
      header_reader(),
      index_reader(),
      shard_reader(),
      metadata_reader(),
      archive_reader(),
      manifest_reader(),
      commit_reader(),
      statement_reader(),
      archived_pickle_reader(),
      pytorch_reader("training.pt", true),
      pytorch_reader("training_legacy.pt", false),
      pytorch_reader("module.pt", false),
      deepspeed_reader(flat, "global_step3/mp_rank_00_model_states.pt"),
      deepspeed_pickle_reader(flat, "global_step3/mp_rank_00_model_states.pt"),
      deepspeed_pickle_reader(flat, "global_step3/zero_pp_rank_0_mp_rank_00_optim_states.pt"),
      deepspeed_reader(cut, "global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"),
      deepspeed_pickle_reader(cut, "global_step3/zero_pp_rank_1_mp_rank_00_model_states.pt"),
      deepspeed_pickle_reader(cut, "global_step3/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"),
      deepspeed_reader(universal, states + "zero/body.bias/fp32.pt"),
      deepspeed_pickle_reader(universal, states + "zero/body.bias/fp32.pt"),
      deepspeed_pickle_reader(universal, states + "zero/optimizer_state.pt")};
}

// HostileEndings counts the endings of one reader's inputs.
struct HostileEndings {
  std::int64_t read = 0, refused = 0;
  double most_times = 0;  // bytes of memory for each byte that was read
};

constexpr std::size_t memory_free = 1 << 20, memory_times = 192;

void run_input(const HostileReader& reader, const std::string& text, HostileEndings& endings) {
  std::function<void()> read = reader.prepare(text);
  testing::AllocatedBytes allocated;
  try {
    read();
    ++endings.read;
  } catch (const Error&) {
    ++endings.refused;
  }
  std::size_t most = allocated.most();
  EXPECT_LE(most, memory_free + memory_times * text.size());
  if (most > memory_free)
    endings.most_times =
        std::max(endings.most_times, double(most - memory_free) / double(text.size() + 1));
}

// Runs inputs. Whole files are read; changed ones are read or refused. None ends the process,
// raises anything but an Error, or makes a reader hold much more memory than the file has bytes.
void run_inputs(std::int64_t inputs) {
  std::vector<HostileReader> readers = all_readers();
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const HostileReader& reader = readers[i];
    testing::HostileBytes random(1000 + i);
    HostileEndings endings;
    for (std::int64_t k = 0; k < inputs / std::int64_t(readers.size()); ++k) {
      std::string text = random.changed(reader.files);
      SCOPED_TRACE(fmt::format("input {} of {}", k, reader.name));
      ASSERT_NO_THROW(run_input(reader, text, endings));
      if (::testing::Test::HasFailure()) return;
    }
    std::printf("%s: %lld read, %lld refused, at most %.0f times the memory\n", reader.name.c_str(),
                static_cast<long long>(endings.read), static_cast<long long>(endings.refused),
                endings.most_times);
    EXPECT_GT(endings.refused, 0) << reader.name;
  }
}

TEST(HostileFiles, AreReadOrRefused) { run_inputs(20'000); }

// Without a reader here, no hostile file of a format would be tested.
TEST(HostileFiles, EachFormatHasAReader) {
  std::set<const Format*> read;
  for (const HostileReader& reader : all_readers()) read.insert(reader.format);
  for (const Format* format : formats) EXPECT_TRUE(read.contains(format)) << format->name;
}

// Even if each byte of a large file makes a value, the reader holds a multiple of the file.
TEST(HostileFiles, MakeNoReaderHoldMoreThanAMultipleOfTheFile) {
  constexpr std::size_t size = 1 << 20;
  auto many = [](std::string_view part) {
    std::string text;
    while (text.size() < size) text += part;
    return text;
  };
  HostileEndings endings;
  for (const std::string& text : {many("N"), many("("), many("]"), "](" + many("N") + "e.",
                                  "N" + many("\x94"), std::string(16, 'N') + many("h")})
    run_input(archived_pickle_reader(), text, endings);
  for (const std::string& text :
       {many("["), "{\"a\":[" + many("1,") + "1]}", "{\"a\":{" + many("\"\":[],") + "}}",
        "{\"objects\":[" + many("[],") + "[]],\"format\":1}"}) {
    run_input(header_reader(), text, endings);
    run_input(manifest_reader(), text, endings);
    run_input(index_reader(), text, endings);
  }
  EXPECT_EQ(endings.read, 1) << "the list of None is whole";
  std::printf("at most %.0f times the memory\n", endings.most_times);
}

// It takes minutes; `./dev test --long` runs it.
TEST(HostileFiles, DISABLED_AMillionAreReadOrRefused) { run_inputs(1'000'000); }

}  // namespace
}  // namespace simmesh::checkpoint
