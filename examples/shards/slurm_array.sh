#!/bin/bash
#SBATCH --job-name=simmesh
#SBATCH --array=1-8
#SBATCH --cpus-per-task=2
# Runs all recorded cases below a folder in eight jobs:
#   sbatch slurm_array.sh cases
# When all have ended, the last line here prints what one run prints:
#   simmesh merge verify.*-of-8.jsonl
set -eu
simmesh verify "${1:-cases}" --jobs "${SLURM_CPUS_PER_TASK:-1}" \
  --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
