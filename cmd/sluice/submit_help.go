package main

// submitHelp and submitExample are the text of 'sluice submit --help'.
const (
	submitHelp = `Submits a job script to Slurm, as sbatch does, without a fixed number of GPUs:
sluice starts the job and changes its size while it runs. It starts at its minimum
until a checkpoint of it was seen, or of an earlier job of yours with the same script
or --model. The job id, the line printed and the exit codes are sbatch's.

A job without any of the size options below has the fixed size given by sbatch's own
--gpus, --gres=gpu, --gpus-per-node (on one node) or --gpus-per-task; a job with
neither these nor an option of sluice's is refused.

Write the options below on the command line, on #SLUICE lines of the script, or in
the environment: SLUICE_MIN_GPUS for --min-gpus and so on. The command line takes
precedence over the environment, and that over the script.

Sizes
  --min-gpus=N          fewest GPUs the job can run on (1)
  --max-gpus=N          most GPUs it can use (0: whatever the cluster has)
  --gpu-step=N          only the minimum plus multiples of N
  --gpu-sizes=LIST      only these, such as 1,2,4,8, or pow2 for powers of two
  --allow-uneven        also splits with different numbers of GPUs on the nodes
  --gpu-types=LIST      only GPUs of these types, such as a100,h100, and all of one;
                        with a fixed size also --gpus=a100:4, --gres=gpu:a100:2
  --cpus-per-gpu=N      CPUs for each GPU
  --mem-per-gpu=SIZE    memory for each GPU, such as 64G

Work
  --epochs=N
  --steps=N             the total work; without it the end is not predicted
  --deadline=TIME       time by which to end: now+8hours, 18:00, 2026-11-23T18:00; for
                        sites whose policy uses it (on #SLUICE lines, not on #SBATCH lines)
  --deadline-mode=soft  run even if the deadline cannot be admitted; else it waits
  --model=NAME          your jobs with one name share their measured speeds
  --profile[=1,2,4]     measure the speed at these sizes (a few powers of two) in
                        the job's first minutes, while GPUs are idle; with task,
                        energy and the like it is sbatch's option of that name

Checkpoints
  --checkpoint-signal=NAME  a signal sent with the request: USR1, USR2 or HUP
  --grace=TIME          how long saving may take: 90, 90s or 5:00; the
                        site has a maximum ([resize] max_grace)
  --checkpoint-every=TIME
                        how often to ask for a checkpoint; off; or auto: at most
                        1 % of the time, from the duration of a save and
                        how often nodes fail (auto)
  --retries=N           start a failed script again from its newest checkpoint,
                        on the same GPUs; N times in a row without a newer one, or
                        auto: 2, unless it failed at once or at the same step twice (auto)
  --on-timeout=requeue  at the time limit save, wait again and continue, if it made
                        progress since it was started (requeue); with =end it ends

Messages
  --notify=mail         a mail when the job starts first, ends or fails, when its
                        admitted deadline is in doubt, and one for all resizes of
                        an hour; to --mail-user
  --notify=webhook:URL  the same, posted as JSON; for hosts that the site allows.
                        Both: --notify=mail,webhook:URL

Programs that cannot be changed
  --checkpoint-glob=PATTERN   adopt checkpoints that the program saves on its own
  --checkpoint-marker=FILE    a file that marks such a checkpoint complete
  --checkpoint-still=TIME     else: how long it must be unchanged (10s)
  --progress-regex=EXPR       read epoch, step, total, seconds or speed (groups of
                              these names) from the job's output

Sweeps ('sluice sweep' shows them; also sweep.toml, or a sweep.yaml of W&B)
  --sweep=SEARCH        search for good parameters: random, grid, sobol, tpe, gp;
                        asha also pauses trials that fall behind; asha+tpe
  --sweep=ask           points by --searcher='python3 search.py', a program of yours
  --metric=NAME:max     what the program reports and the search goes by; or :min
  --metric-regex=EXPR   read it from a trial's output (groups metric and epoch)
  --param NAME=RANGE    log:1e-5:1e-1, float:0:1, int:2:8, choice:sgd,adamw,
                        fixed:32; {NAME} in the script's commands is its value
  --where=EXPR          only points with this, such as 'depth*width<4096'
  --try=NAME=VALUE,...  points to begin with
  --trials=N            how many trials (100), and --parallel=N at once (4);
                        --epochs is the length of each
  --rungs=3,9,27        asha: the epochs at which trials are compared, and
                        --reduction=N, of how many one goes on there (2)
  --repeats=N           run each point N times with other seeds ({seed}); its
                        value is their mean
  --trial=job           each trial is an elastic job of its own, which grows while
                        few trials are left; else lanes run trials in turn
  --per-gpu=K           a lane may run up to K trials at once on its GPUs (1 to 8);
                        it does where that is faster when it is measured
  --goal=NUMBER         end once a trial is as good
  --sweep-time=TIME     end after this time
  --max-failures=N      end after so many failed trials (20)
  --keep-gb=GB          of checkpoints of trials that do not run (100)
  --seed=N              the same seed gives the same points (0)

Data that stay where they are ('sluice data' lists them)
  --data=NAME[,NAME]    train on these: read-only at $SLUICE_DATA/NAME, without a
                        network (and on one node, unless the site carries packets
                        between the job's nodes); on #SLUICE lines or here. What is put into
                        $SLUICE_OUTPUT comes back by 'sluice results JOB'
  --code=PATH[,PATH]    what of the current folder goes along (the script's folder
                        without hidden files); 64 MiB, no links

Where
  --user                a sluiced of your own ('sluiced --user')
  --config=FILE         a configuration file

Every other option is sbatch's and is passed on unchanged, on the command line and
on #SBATCH lines. Options that fix what sluice decides are refused with the reason
(--gpus or --gres=gpu beside a range, --nodes, --ntasks, --nodelist,
--exclusive, --contiguous, --switches) and heterogeneous jobs. --mail-type sends what
it sends for a job that is not resized: a resize sends no mail. --hold holds the job
until 'sluice release'; --wait returns with the job's exit code; --parsable,
--test-only, --wrap and a script on standard input work as with sbatch.

--array=0-15%4 makes a job array: an elastic job for each index, each with its own id
and checkpoints, of which at most 4 run at once. The script's index is in
SLURM_ARRAY_TASK_ID (and SLUICE_ARRAY_TASK_ID), and %A and %a in file names are
replaced as by sbatch. All are submitted, or none. --parsable prints the ids as
101:102:103, which --dependency=afterok: and 'sluice cancel' accept. An array has the
id of its first job: 101_3 is a task and 101_* all of them, in sluice's commands and
in its --dependency; 101 is that first job only. --wait waits for all and returns
with the highest exit code.`

	submitExample = `  sluice submit --max-gpus=8 --epochs=90 train.sh --lr 0.1
  sluice submit --gpu-sizes=pow2 --model=resnet50 -p gpu -t 1-0 train.sh
  sluice submit --wrap "python train.py"
  sluice submit --array=0-15%4 --max-gpus=4 tasks.sh
  sluice submit --sweep=asha --metric=acc:max --param lr=log:1e-5:1e-1 \
      --epochs=52 train.sh`
)
