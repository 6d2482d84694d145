#!/bin/bash
# Records what sacct says of jobs that ended in each way, for sacct_test.go. A lab is enough:
#
#   sluice lab up --accounting --fast-scheduling --dir LAB [--root TREE]
#   LAB=LAB OUT=$PWD/27.11 ./record-past.sh     as root; two minutes, for a time limit is one at least
#
# games is an account that every Debian has. Each job ends as names.txt says, which has their
# numbers.
set -u
: "${LAB:?}" "${OUT:?}"
here=$(cd "$(dirname "$0")" && pwd)
out=$OUT/past
mkdir -p "$out"
export SLURM_CONF=$LAB/etc/slurm.conf PATH=$LAB/bin:$PATH TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s
as() { setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups -- "${@:2}"; }
sacctmgr -i add user games account=lab > /dev/null 2>&1
sleep 2
: > "$out/names.txt"
job() { # NAME VARIABLE sbatch options
  local id; id=$(as games sbatch --parsable --requeue -t 10 --gres=gpu:1 -o /dev/null -J 'a|b' "${@:3}") || exit 1
  echo "$id $1" >> "$out/names.txt"; printf -v "$2" %s "$id"
}
job first X --wrap 'exit 0' # 20.11 gives number 1 to no job of ours
job completed X --wrap 'exit 0'
job failed X --wrap 'exit 3'
job killed X --wrap 'kill -9 $$'
job no-output X -o /nonexistent/x --wrap 'exit 0'
job time-limit LIMIT -t 1 --wrap 'exec sleep 300'
job cancelled-held HELD --hold --wrap 'exec sleep 300'
job cancelled-early EARLY --begin=now+1hour --wrap 'exec sleep 300'
job cancelled CANCELLED -t UNLIMITED --gres=gpu:2 -N2 --wrap 'exec sleep 300'
job requeued REQUEUED -w gpu1 --wrap 'exec sleep 300'
job running RUNNING -w gpu2 --wrap 'exec sleep 300'
job node-fail NODE -w gpu3 --no-requeue --wrap 'exec sleep 300'
for id in "$LIMIT" "$CANCELLED" "$REQUEUED" "$RUNNING" "$NODE"; do until scontrol show job "$id" | grep -q JobState=RUNNING; do sleep 1; done; done
sleep 8
as games scancel "$HELD"; as games scancel "$EARLY" "$CANCELLED"
as games scontrol requeuehold "$REQUEUED"
scontrol update NodeName=gpu3 State=DOWN Reason=record
sleep 4
scontrol update NodeName=gpu3 State=RESUME > /dev/null 2>&1
as games scontrol update JobId="$REQUEUED" StartTime=now+1; as games scontrol release "$REQUEUED"
until scontrol show job "$REQUEUED" | grep -q JobState=RUNNING; do sleep 1; done
scancel "$REQUEUED"
until scontrol show job "$LIMIT" | grep -q JobState=TIMEOUT; do sleep 2; done
sleep 6 # slurmctld tells slurmdbd in its own time
sacct -n -P -X -D -a -S "$(date -u -d '1 hour ago' +%FT%T)" -j "$(cut -d' ' -f1 "$out/names.txt" | paste -sd,)" --format="$(cat "$here/past.format")" > "$out/past.txt"
sacct -n -P -X -D -a -S "$(date -u -d '1 hour ago' +%FT%T)" -j 999999 --format="$(cat "$here/past.format")" > "$out/none.txt"
scancel "$RUNNING"
