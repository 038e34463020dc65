#!/usr/bin/env bash
# A SLURM cluster of one node on the loopback, for as long as a command runs.
#
#     tests/cluster/slurm.sh                  installs what is missing (root, apt) and says why if it cannot
#     tests/cluster/slurm.sh COMMAND ...      starts the daemons, runs the command, stops the daemons
#
# Key, sockets, configuration and logs lie in a temporary folder; a SLURM of this machine is left alone.
set -euo pipefail

unavailable() {
  echo "SLURM cannot be started here: $*" >&2
  exit 69
}

for program in munged slurmctld slurmd sbatch squeue scancel; do
  PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || missing=yes
done
[ "$(id -u)" = 0 ] || unavailable "munged and slurmd must be started by root, and this is user $(id -un)."
if [ "${missing:-}" ]; then
  command -v apt-get >/dev/null || unavailable "slurm-wlm and munge are missing, and so is apt-get."
  echo "Installing slurm-wlm and munge ..."
  log=$(mktemp)
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
    slurm-wlm munge; } >"$log" 2>&1 || { tail -n 5 "$log" >&2; unavailable "apt-get could not install slurm-wlm and munge."; }
  rm "$log"
fi
[ $# -gt 0 ] || exit 0

export PATH=$PATH:/usr/sbin:/sbin
place=$(mktemp -d)
node=$(hostname -s)
port=$((20000 + $$ % 10000 * 2))
export SLURM_CONF=$place/slurm.conf

stop() {
  status=$?
  trap - EXIT
  squeue --noheader --format=%i 2>/dev/null | xargs --no-run-if-empty scancel --full || true
  for daemon in slurmd slurmctld munged; do
    pid=$(cat "$place/$daemon.pid" 2>/dev/null) || continue
    kill "$pid" 2>/dev/null || continue
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null && sleep 0.1; done
    ! kill -0 "$pid" 2>/dev/null || kill -9 "$pid" || true
  done
  [ "${started:-}" ] || tail --lines=15 "$place"/*.log >&2 || true
  rm -rf "$place"
  exit "$status"
}
trap stop EXIT
trap 'exit 130' INT TERM

chmod 755 "$place"  # munged's socket is for every user
mkdir "$place/state" "$place/spool" "$place/bin"
(umask 077 && head -c 1024 /dev/urandom >"$place/munge.key")

# The node is declared as large as the largest job of profiles/slurm, whatever this machine is.
cat >"$SLURM_CONF" <<EOF
ClusterName=sparcl
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge.socket
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MinJobAge=300
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=$node NodeAddr=127.0.0.1 CPUs=8 RealMemory=64000 Gres=gpu:1
PartitionName=cpu Nodes=$node Default=YES
PartitionName=gpu Nodes=$node
EOF
# The plugin calls srun without the variables of SLURM, SLURM_CONF among them.
printf '#!/bin/sh\nSLURM_CONF="%s" exec "%s" "$@"\n' "$SLURM_CONF" "$(command -v srun)" >"$place/bin/srun"
chmod +x "$place/bin/srun"
export PATH=$place/bin:$PATH

echo "Name=gpu File=/dev/null" >"$place/gres.conf"  # counted, never opened

munged --key-file="$place/munge.key" --socket="$place/munge.socket" --pid-file="$place/munged.pid" \
  --log-file="$place/munged.log" --seed-file="$place/munge.seed"
slurmctld
slurmd
for _ in $(seq 100); do
  [ "$(sinfo --noheader --partition=cpu --format=%T 2>/dev/null)" != idle ] || break
  sleep 0.2
done
if [ "$(sinfo --noheader --partition=cpu --format=%T)" != idle ]; then
  sinfo --list-reasons >&2
  echo "The node did not become idle within 20 seconds." >&2
  exit 1
fi

started=yes

"$@"  # not exec: the daemons are stopped after it
