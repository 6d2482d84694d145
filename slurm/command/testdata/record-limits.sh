#!/bin/bash
# Records what a real Slurm with limits answers, for limits_test.go. A lab is enough:
#
#   sluice lab up --accounting --nodes 2 --dir LAB [--root TREE] --set PriorityType=priority/multifactor \
#     --set PriorityCalcPeriod=1 --set SelectTypeParameters=CR_Core_Memory --set AccountingStorageEnforce=safe
#   LAB=LAB OUT=$PWD/27.11 ./record-limits.sh     as root; two minutes, for some must be used up
#
# games and mail are accounts that every Debian has.
set -u
: "${LAB:?}" "${OUT:?}"
here=$(cd "$(dirname "$0")" && pwd)
out=$OUT/limits
mkdir -p "$out"
export SLURM_CONF=$LAB/etc/slurm.conf PATH=$LAB/bin:$PATH TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s
as() { setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups -- "${@:2}"; }
set_() { sacctmgr -i "$@" > /dev/null 2>&1; }

set_ add account phys; set_ add account theory parent=phys
set_ add user games account=theory; set_ add user mail account=phys
set_ modify account phys set GrpTRES=gres/gpu=6,mem=64001 GrpJobs=5 MaxTRES=cpu=4 GrpTRESMins=gres/gpu=100,cpu=5000 GrpWall=90
set_ modify account theory set GrpTRESRunMins=gres/gpu=3000
set_ modify user games where account=theory set GrpTRES=cpu=10,gres/gpu=2 MaxTRES=gres/gpu=2,node=1,mem=16384 MaxJobs=3 MaxWall=1-02:03:00 MaxTRESMins=gres/gpu=600
set_ add qos capped
set_ modify qos capped set GrpTRES=gres/gpu=7 GrpJobs=9 MaxTRESPerUser=gres/gpu=3 MaxTRESPerAccount=gres/gpu=5,node=2 MaxJobsPU=2 MaxJobsPA=4 \
  MaxTRESPerNode=gres/gpu=4 MinTRES=gres/gpu=1 Flags=DenyOnLimit,OverPartQOS GrpTRESMins=gres/gpu=200 GrpWall=60 GrpTRESRunMins=gres/gpu=900 \
  MaxTRESMins=gres/gpu=240 MaxWall=120 MaxTRESRunMinsPU=gres/gpu=480 MaxTRESRunMinsPA=cpu=9000
scontrol show config | grep -E '^(AccountingStorage(Enforce|TRES|Type)|ClusterName|SelectType|SLURM_VERSION)' > "$out/config.txt"
scontrol -a -o show reservation > "$out/noreservation.txt"
sleep 1
as games sbatch -A theory --gres=gpu:2 --mem-per-gpu=1000 -t 20 -o /dev/null --wrap 'sleep 600' > /dev/null
as mail sbatch -A phys --gres=gpu:2 -c 2 --mem-per-cpu=500 -t 20 -o /dev/null --wrap 'sleep 600' > /dev/null
as mail sbatch -A phys --hold -N2 --gres=gpu:1 -c 2 --mem=1000 -o /dev/null --wrap 'sleep 600' > /dev/null
as mail sbatch -A phys --hold --gres=gpu:1 -o /dev/null --wrap 'sleep 600' > /dev/null
sleep 3
squeue -h -a -O "$(cat "$here/limits.format")" > "$out/jobs.txt"
sleep 130 # slurmctld books what was used once a minute
scontrol -o show assoc_mgr flags=assoc,qos > "$out/usage.txt"
sacctmgr -n -P show assoc "cluster=$(scontrol show config | sed -n 's/^ClusterName *= *//p')" format="$(cat "$here/assoc.format")" > "$out/assoc.txt"
sacctmgr -n -P show qos format="$(cat "$here/qos.format")" > "$out/qos.txt"
scancel -u games; scancel -u mail; sleep 3
scontrol update PartitionName=gpu QoS=capped MaxNodes=1 MaxCPUsPerNode=8 MaxMemPerNode=32000
scontrol -a -o show partition > "$out/partition.txt"
scontrol create reservation ReservationName=r1 StartTime=now Duration=60 Users=mail Nodes=gpu2 > /dev/null
scontrol create reservation ReservationName=maint StartTime=now+1day Duration=60 Users=root Flags=maint Nodes=gpu1,gpu2 > /dev/null
scontrol -a -o show reservation > "$out/reservation.txt"
