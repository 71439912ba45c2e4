#!/usr/bin/env bash
# One SLURM job that is its own cluster: a scheduler and the graph on the first node, a worker for every task, by TLS.
#   cd CHECKOUT && sbatch --ntasks=8 --gpus-per-task=1 docker/slurm.sh [command, default: dvc repro]
# The profile workflows/profiles/slurm.yaml is the other way: a run on the login node that submits a job for every worker.
# Variables: FRAMESCRIBE_BIN (the folder of framescribe and dask; default .venv/bin),
#            FRAMESCRIBE_IMAGE (an Apptainer image to run everything in instead), DEVICE (cuda when there are GPUs).
#SBATCH --job-name=framescribe
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=4G
#SBATCH --time=04:00:00
#SBATCH --output=framescribe-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
set -euo pipefail

project=${SLURM_SUBMIT_DIR:-$PWD}
cd "$project"
[ -f dvc.yaml ] || { echo "slurm.sh: $project has no dvc.yaml; submit it from the project's folder" >&2; exit 2; }
tools=${FRAMESCRIBE_BIN:-$project/.venv/bin}
if [ -n "${FRAMESCRIBE_IMAGE:-}" ]; then
  inside=(apptainer exec --nv --bind "$project" --pwd "$project" "$FRAMESCRIBE_IMAGE")
else
  inside=(env "PATH=$tools:$PATH")
fi

# Certificates of this job alone, in a folder that all its nodes see and only its owner reads.
job=$(mktemp --directory "$project/.cluster-${SLURM_JOB_ID:-local}-XXXXXX")
servers=()
cleanup() {
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  wait || true
  rm -rf "$job"
}
trap cleanup EXIT
trap 'exit 143' TERM INT
"${inside[@]}" framescribe cluster certs --out "$job/certs" --quiet

tls() { echo "--tls-ca-file $job/certs/ca.pem --tls-cert $job/certs/$1.pem --tls-key $job/certs/$1-key.pem"; }
export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=true
export DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0 DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION=1.0
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}

# shellcheck disable=SC2046  # the options are words
"${inside[@]}" dask scheduler --protocol tls --port 0 --dashboard-address 127.0.0.1:0 \
  --scheduler-file "$job/scheduler.json" $(tls scheduler) & servers+=($!)
for _ in $(seq 120); do
  [ -s "$job/scheduler.json" ] && break
  kill -0 "${servers[0]}" 2>/dev/null || { echo "slurm.sh: the scheduler ended; see above" >&2; exit 1; }
  sleep 1
done
address=$(sed -n 's/.*"address": "\([^"]*\)".*/\1/p' "$job/scheduler.json")
[ -n "$address" ] || { echo "slurm.sh: the scheduler did not start within two minutes" >&2; exit 1; }

# shellcheck disable=SC2046
srun --kill-on-bad-exit=0 "${inside[@]}" dask worker "$address" --nthreads 1 --memory-limit 0 --dashboard-address 127.0.0.1:0 \
  --local-directory "${TMPDIR:-/tmp}" $(tls worker) & servers+=($!)

device=${DEVICE:-$([ -n "${SLURM_GPUS_PER_TASK:-}${SLURM_JOB_GPUS:-}" ] && echo cuda || echo cpu)}
printf 'kind: scheduler\naddress: %s\ncertificates: %s\ndevice: %s\n' "$address" "$job/certs" "$device" >"$job/profile.yaml"
export FRAMESCRIBE_PROFILE=$job/profile.yaml
[ $# -gt 0 ] || set -- dvc repro
"${inside[@]}" "$@"
