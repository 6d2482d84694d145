#!/bin/bash
# Records what a real Slurm answers, for the tests of slurm/command. See README.md.
#   AS   runs a command as a user:    $AS USER COMMAND ARGS...
#   CTL  pid of slurmctld, to be stopped and continued for the "hung" answers
#   OUT  folder to write, one a release
#   PARTS  what to record, of "jobs answers silence"; all when unset
# The Slurm has nodes gpu[1-3] with 4 GPUs each (those of gpu3 of type a100), Licenses=lic:4, and
# is empty; alice and bob are ordinary users, slurm is SlurmUser.
set -u
: "${AS:?}" "${OUT:?}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$OUT/jobs"
jobs_format=$(cat "$here/squeue.format")
nodes_format=$(cat "$here/sinfo.format")
release=$($AS alice scontrol --version)
case $release in *' 20.'*) gpu=gpu;; *) gpu=gres:gpu;; esac

state() { $AS alice squeue -h -a -t all -j "$1" -O State: 2>/dev/null | head -1; }
await() { for _ in $(seq 100); do [ "$(state "$1")" = "$2" ] && return; sleep 0.1; done; echo "job $1 is $(state "$1"), not $2" >&2; }
submit() { $AS alice sbatch --parsable --requeue -o /dev/null "$@" | tail -1; }
squeue_() { $AS alice env TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s SQUEUE_FORMAT2="$jobs_format" squeue -h -a -t all "$@"; }
job() { # kind id: what both programs say of one job
  squeue_ -j "$2" > "$OUT/jobs/$1.squeue" 2>/dev/null
  $AS alice env TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s scontrol -d -o show job "$2" > "$OUT/jobs/$1.scontrol" 2>/dev/null
}
nodes() { $AS alice env TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s sinfo -h -a -N -O "$nodes_format" > "$OUT/$1" 2>/dev/null; }
answer() { # name user command...: exit code, output and errors of one command
  local name=$1 user=$2; shift 2
  $AS "$user" env LC_ALL=C "$@" > "$OUT/.out" 2> "$OUT/.err" < /dev/null
  local rc=$?
  printf '== %s\n$ %s\nexit %d\n' "$name" "$*" $rc
  sed 's/^/out: /' "$OUT/.out"; sed 's/^/err: /' "$OUT/.err"
}

record_jobs() {
  local stubborn='trap "" TERM CONT; s=$SECONDS; while [ $((SECONDS-s)) -lt 300 ]; do sleep 0.2; done'
  $AS slurm scontrol update NodeName=gpu1,gpu2 AvailableFeatures=ib ActiveFeatures=ib
  $AS slurm scontrol update NodeName=gpu3 AvailableFeatures=ib,nvme,hbm ActiveFeatures=ib,nvme
  even=$(submit -J even -N2 --gres=gpu:2 -w gpu1,gpu2 --wrap 'sleep 600'); await $even RUNNING
  uneven=$(submit -J uneven -N2 --gpus=3 -w gpu2,gpu3 --cpus-per-gpu=2 -t 1-02:03:04 --wrap 'sleep 600'); await $uneven RUNNING
  typed=$(submit -J typed --gres=gpu:a100:2 -c 4 --wrap 'sleep 600'); await $typed RUNNING
  plain=$(submit -J plain -w gpu1 -t 30 --wrap 'sleep 600'); await $plain RUNNING
  cgrequeued=$(submit -J cgrequeued --gres=gpu:1 -w gpu1 -t 30 --wrap "$stubborn")
  cgended=$(submit -J cgended --gres=gpu:1 -w gpu1 -t 30 --wrap "$stubborn")
  await $cgrequeued RUNNING; await $cgended RUNNING; sleep 1
  $AS alice scontrol requeuehold $cgrequeued; $AS alice scancel $cgended; sleep 0.3
  job completing-requeued $cgrequeued; job completing-ended $cgended
  completed=$(submit -J completed --gpus=1 --wrap true); failed=$(submit -J failed --wrap 'exit 3')
  killed=$(submit -J killed --wrap 'kill -9 $$'); await $completed COMPLETED; await $failed FAILED; await $killed FAILED
  cancelled=$(submit -J cancelled --gres=gpu:1 --wrap 'sleep 600'); await $cancelled RUNNING; $AS alice scancel $cancelled
  requeueheld=$(submit -J requeueheld --gres=gpu:1 --wrap 'sleep 600'); await $requeueheld RUNNING
  $AS alice scontrol requeuehold $requeueheld
  choosy=$(submit -J choosy -H -L lic:2 -C '[ib|nvme]&ib' -x gpu1,gpu3 --gres=gpu:1 --wrap true)
  held=$(submit -J held -H --gpus=3 -N2 --comment 'sluice: min=1 max="8", a=b' --wrap true)
  adminheld=$(submit -J adminheld --begin now+1hour --wrap true); $AS slurm scontrol hold $adminheld
  pending=$(submit -J pending -N3 --gres=gpu:4 -p gpu,short --wrap true)
  later=$(submit -J later --begin now+2hours --ntasks=2 --gpus-per-task=2 --wrap true)
  after=$(submit -J after -d afterok:$even --nice=5 --wrap true)
  array=$(submit -J array -a 0-9%2 -w gpu1 --wrap 'sleep 600')
  het=$(submit -J het --gres=gpu:1 --begin now+1hour : -J het --gres=gpu:2 --wrap true)
  hostile=$(submit -J "$(printf 'x Nodes=gpu9 CPU_IDs=0-3 Mem=0 GRES=gpu:4(IDX:0-3) MinCPUsNode=1\nJobId=1 JobName=y UserId=root(0) @0123456789abcdef|@0123456789abcdef.\n1')" \
    --comment "$(printf '@0123456789abcdef.\n77@0123456789abcdef|a\tb\033[31m "q" \x27s\x27 \\ %%s ,;|')" \
    -D '/tmp' --gres=gpu:a100:1 --wrap 'sleep 600'); await $hostile RUNNING
  sleep 2.5 # a cycle of the scheduler, so that pending jobs have their reasons
  for kind in even uneven typed plain completed failed killed cancelled requeueheld held adminheld pending later after array het hostile choosy; do
    job $kind ${!kind}
  done
  squeue_ > "$OUT/squeue.txt" 2>/dev/null
  $AS alice env LC_ALL=C squeue -h -a -o "$(cat "$here/excluded.format")" > "$OUT/excluded.txt" 2>/dev/null
  nodes sinfo.txt
  $AS slurm scontrol update NodeName=gpu3 State=DOWN Reason=broken; nodes sinfo-down.txt
  $AS slurm scontrol update NodeName=gpu1 State=DRAIN Reason='fan @ 50% | see #12'
  $AS slurm scontrol create reservation ReservationName=m StartTime=now Duration=60 Users=root Flags=maint,ignore_jobs Nodes=gpu2 > /dev/null
  for _ in $(seq 100); do $AS alice sinfo -h -N -n gpu2 -O StateLong: | grep -q 'maint\|\$' && break; sleep 0.2; done
  $AS slurm scontrol update NodeName=gpu3 State=NORESP; nodes sinfo-drained.txt
  $AS slurm scontrol delete ReservationName=m
  $AS slurm scontrol update NodeName=gpu1 State=RESUME
  $AS slurm scancel -u alice; $AS root scancel -s KILL -f -u alice
  for _ in $(seq 100); do [ "$($AS alice sinfo -h -t idle -o %D)" = 3 ] && break; sleep 0.5; done
}

record_answers() {
  local end gone pend still run norq adm big=999999
  end=$(submit --wrap true); gone=$(submit -H --wrap true); $AS alice scancel $gone; await $end COMPLETED
  pend=$(submit --begin now+2hours --gres=gpu:1 --wrap true); still=$(submit -H --gres=gpu:1 --wrap true)
  run=$(submit -N2 --gres=gpu:1 --wrap 'sleep 600'); await $run RUNNING
  norq=$(submit --no-requeue --wrap 'sleep 600'); await $norq RUNNING
  adm=$(submit --begin now+1hour --wrap true); $AS slurm scontrol hold $adm
  {
    for who in notfound:alice:$big permission:bob:$pend ended:alice:$end cancelled:alice:$gone pending:alice:$pend; do
      IFS=: read -r case user id <<< "$who"
      for verb in uhold release 'requeuehold Incomplete'; do answer $case-${verb%% *} $user scontrol $verb $id; done
      answer $case-fence $user scontrol update JobId=$id StartTime=now+30
      answer $case-comment $user scontrol update JobId=$id Comment=x
      [ $case = pending ] || answer $case-signal $user scancel --batch --signal=USR1 $id
      answer $case-show $user scontrol -d -o show job $id | grep -v ^out:
      [ $case = pending ] || answer $case-cancel $user scancel $id
    done
    answer notfound-squeue alice squeue -h -a -t all -j $big -O JobID:
    answer permission-requeuehold-running bob scontrol requeuehold Incomplete $run
    answer permission-signal-running bob scancel --batch --signal=USR1 $run
    answer permission-cancel-running bob scancel $run
    answer permission-release-adminheld alice scontrol release $adm
    answer permission-uhold-adminheld alice scontrol uhold $adm
    # scancel repeats this for about a minute before it gives up.
    answer pending-signal alice scancel --batch --signal=USR1 $(submit -H --wrap true)
    answer running-fence alice scontrol update JobId=$run StartTime=now+30
    answer running-gpus alice scontrol update JobId=$run TresPerNode=$gpu:2 TresPerJob=
    answer running-signal alice scancel --batch --signal=CONT $run
    answer running-release alice scontrol release $run
    answer norequeue-requeuehold alice scontrol requeuehold Incomplete $norq
    answer invalid-nodes alice scontrol update JobId=$still NumNodes=99-99
    answer invalid-minmax alice scontrol update JobId=$still NumNodes=3-1
    answer invalid-node alice scontrol update JobId=$still ReqNodeList=nosuch
    answer invalid-count alice scontrol update JobId=$still TresPerNode=$gpu:99
    answer invalid-type alice scontrol update JobId=$still TresPerNode=$gpu:h100:1
    answer invalid-spelling alice scontrol update JobId=$still TresPerNode=nonsense:1
    answer invalid-key alice scontrol update JobId=$still Nonsense=3
    answer invalid-signal alice scancel --batch --signal=NOSUCH $run
    answer submit alice sbatch -H --wrap true
    answer submit-parsable alice sbatch --parsable -H --wrap true
    answer submit-testonly alice sbatch --test-only --gres=gpu:1 --wrap true
    answer submit-cluster alice sbatch -M nosuch --wrap true
    answer submit-partition alice sbatch -p nosuch --wrap true
    answer submit-toobig alice sbatch --gres=gpu:9 -N1 --wrap true
    answer submit-option alice sbatch --nosuch --wrap true
    answer submit-noscript alice sbatch /nonexistent.sh
    answer submit-notscript alice sbatch /bin/true
  } > "$OUT/answers.txt"
  $AS slurm scancel -u alice
}

# A controller that is not there (a port nobody listens on), one that does not
# answer (stopped), and a machine without munged (no socket).
record_silence() {
  local conf; conf=$($AS alice sh -c 'echo $SLURM_CONF'); local etc=${conf%/*}
  { sed 's/^SlurmctldPort=.*/SlurmctldPort=1/' "$conf"; echo MessageTimeout=2; } > "$etc/down.conf"
  { cat "$conf"; echo MessageTimeout=2; } > "$etc/hung.conf"
  sed 's/^AuthInfo=.*/AuthInfo=socket=\/nonexistent/' "$conf" > "$etc/nomunge.conf"
  {
    for case in nomunge down hung; do
      [ $case = hung ] && kill -STOP "$CTL"
      local on="env SLURM_CONF=$etc/$case.conf"
      answer $case-squeue alice $on squeue -h -a -t all -O JobID:
      answer $case-sinfo alice $on sinfo -h -O NodeList:
      answer $case-show alice $on scontrol -d -o show job 1
      answer $case-config alice $on scontrol show config
      answer $case-update alice $on scontrol update JobId=1 Comment=x
      answer $case-requeuehold alice $on scontrol requeuehold Incomplete 1
      answer $case-uhold alice $on scontrol uhold 1
      answer $case-cancel alice $on scancel 1
      answer $case-signal alice $on scancel --batch --signal=USR1 1
      answer $case-submit alice $on sbatch --wrap true
      [ $case = hung ] && kill -CONT "$CTL"
    done
  } > "$OUT/silence.txt"
}

echo "$release" > "$OUT/release.txt"
$AS alice env LC_ALL=C scontrol show config > "$OUT/config.txt"
for part in ${PARTS:-jobs answers silence}; do record_$part; done
rm -f "$OUT/.out" "$OUT/.err"
