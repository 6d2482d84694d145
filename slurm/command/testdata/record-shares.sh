#!/bin/bash
# Records what sshare of a real Slurm answers, for shares_test.go. A lab is enough:
#
#   sluice lab up --accounting --nodes 2 --dir LAB [--root TREE] --set PriorityType=priority/multifactor \
#     --set PriorityCalcPeriod=1
#   LAB=LAB OUT=$PWD/27.11 ./record-shares.sh     as root; three minutes, for something must be used
#
# games and mail are accounts that every Debian has.
set -u
: "${LAB:?}" "${OUT:?}"
here=$(cd "$(dirname "$0")" && pwd)
out=$OUT/shares
mkdir -p "$out"
export SLURM_CONF=$LAB/etc/slurm.conf PATH=$LAB/bin:$PATH TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s
as() { setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups -- "${@:2}"; }
set_() { sacctmgr -i "$@" > /dev/null 2>&1; }

set_ add account phys fairshare=60; set_ add account bio fairshare=40
set_ add account theory parent=phys fairshare=3; set_ add account exp parent=phys fairshare=parent
set_ add user games account=theory fairshare=5; set_ add user mail account=bio fairshare=parent
set_ add user mail account=phys; set_ add user games account=phys partition=gpu fairshare=7
sleep 2
as games sbatch -A theory --gres=gpu:2 -t 20 -o /dev/null --wrap 'sleep 600' > /dev/null
as mail sbatch -A phys --gres=gpu:1 -t 20 -o /dev/null --wrap 'sleep 600' > /dev/null
sleep 130 # slurmctld books what was used at every PriorityCalcPeriod
sshare -a -n -P -m -o "$(cat "$here/sshare.format")" > "$out/sshare.txt"
scancel -u games; scancel -u mail
