package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inputVariables are all that the pages of sbatch(1), from 20.11 to 26.05, list under
// INPUT ENVIRONMENT VARIABLES, and those of its neighbours that a shell may hold; but
// for SBATCH_WAIT, with which a submit waits for its job (testdata/submit_sources.txt).
var inputVariables = strings.Fields(`
SBATCH_ACCOUNT SBATCH_ACCTG_FREQ SBATCH_ARRAY_INX SBATCH_BATCH SBATCH_CLUSTERS SBATCH_COMMENT SBATCH_CONSTRAINT SBATCH_CONTAINER
SBATCH_CONTAINER_ID SBATCH_CORE_SPEC SBATCH_CPU_FREQ_REQ SBATCH_CPUS_PER_GPU SBATCH_DEBUG SBATCH_DELAY_BOOT SBATCH_DISTRIBUTION SBATCH_ERROR
SBATCH_EXCLUSIVE SBATCH_EXPORT SBATCH_GET_USER_ENV SBATCH_GPU_BIND SBATCH_GPU_FREQ SBATCH_GPUS SBATCH_GPUS_PER_NODE
SBATCH_GPUS_PER_SOCKET SBATCH_GPUS_PER_TASK SBATCH_GRES SBATCH_GRES_FLAGS SBATCH_HINT SBATCH_IGNORE_PBS SBATCH_INPUT SBATCH_JOB_NAME
SBATCH_MEM_BIND SBATCH_MEM_PER_CPU SBATCH_MEM_PER_GPU SBATCH_MEM_PER_NODE SBATCH_NETWORK SBATCH_NO_KILL SBATCH_NO_REQUEUE
SBATCH_OPEN_MODE SBATCH_OUTPUT SBATCH_OVERCOMMIT SBATCH_PARTITION SBATCH_POWER SBATCH_PREFER SBATCH_PROFILE SBATCH_QOS SBATCH_REQ_SWITCH SBATCH_REQUEUE
SBATCH_RESERVATION SBATCH_SEGMENT_SIZE SBATCH_SIGNAL SBATCH_SPREAD_JOB SBATCH_STEPMGR SBATCH_THREAD_SPEC SBATCH_THREADS_PER_CORE SBATCH_TIMELIMIT
SBATCH_TRES_BIND SBATCH_TRES_PER_TASK SBATCH_USE_MIN_NODES SBATCH_WAIT_ALL_NODES SBATCH_WAIT4SWITCH SBATCH_WCKEY
SLURM_CLUSTERS SLURM_CONF SLURM_DEBUG_FLAGS SLURM_EXIT_ERROR SLURM_HINT SLURM_OVERCOMMIT SLURM_STEP_KILLED_MSG_NODE_ID SLURM_UMASK SLURM_WORKING_CLUSTER
SLURM_JOB_ID SLURM_JOBID SLURM_NTASKS SLURM_NPROCS SLURM_NNODES SLURM_GPUS SLURM_GPUS_PER_NODE SLURM_MEM_PER_NODE SLURM_CPUS_PER_TASK
SLURM_TIME_FORMAT SLURM_DEBUG SLURM_JWT SLURM_JSON SLURM_YAML SLURM_BITSTR_LEN SLURM_SPANK_x
SQUEUE_FORMAT SQUEUE_FORMAT2 SQUEUE_STATES SQUEUE_ALL SINFO_FORMAT SCONTROL_ALL SCANCEL_USER SCANCEL_STATE SACCT_FORMAT SALLOC_ACCOUNT
LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT LD_DEBUG LD_BIND_NOW LD_ORIGIN_PATH LD_SHOW_AUXV LD_USE_LOAD_BIAS GCONV_PATH LOCALDOMAIN MALLOC_CHECK_ TZDIR BASH_ENV ENV IFS
`)

// Whatever value one of them has, sbatch is called as without it, or not at all: held,
// tagged, requeueable and with append mode, with the script in the job's own folder as
// its last argument; and no value becomes an argument.
func TestPoisonedEnvironment(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"bin", "jobs", "outbox"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	argv := filepath.Join(dir, "argv")
	fake := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + argv + "\necho 7\n"
	if err := os.WriteFile(filepath.Join(dir, "bin", "sbatch"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	conf, jobs := filepath.Join(dir, "sluice.toml"), filepath.Join(dir, "jobs")
	text := fmt.Sprintf("[paths]\njobs = %q\noutbox = %q\nsocket = %q\nsluice = \"/opt/sluice\"\n[slurm]\nbin = %q\n", jobs, filepath.Join(dir, "outbox"), filepath.Join(dir, "sock"), filepath.Join(dir, "bin"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_CONF", conf)
	script := filepath.Join(dir, "train.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntrue\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	submit := func() (args []string, said string) {
		_ = os.Remove(argv)
		var out, errs bytes.Buffer
		code := run([]string{"submit", "--parsable", "--max-gpus=4", script}, &out, &errs)
		raw, err := os.ReadFile(argv)
		if err != nil {
			if code == 0 {
				t.Errorf("exit code 0 and sbatch was not called: %s", errs.String())
			}
			return nil, errs.String()
		}
		return strings.Split(strings.TrimSuffix(tokens.ReplaceAllString(string(raw), "TOKEN"), "\n"), "\n"), errs.String()
	}
	plain, said := submit()
	if plain == nil {
		t.Fatal(said)
	}
	refused, same, more, tried := 0, 0, 0, 0
	for _, name := range inputVariables {
		for _, value := range []string{"1", "--wrap=id ;$(touch " + dir + "/pwned)"} {
			tried++
			args := func() []string {
				t.Setenv(name, value)
				defer os.Unsetenv(name)
				args, said := submit()
				if e := evil(said); e != "" {
					t.Errorf("%s=%q: %s", name, value, e)
				}
				return args
			}()
			switch {
			case args == nil:
				refused++
			case slices.Equal(args, plain):
				same++
			default:
				more++
				if why := wrongCall(args, plain); why != "" {
					t.Errorf("%s=%q: %s: %q", name, value, why, args)
				}
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a value was run")
	}
	t.Logf("%d variables, %d submits: %d as without, %d otherwise, %d refused", len(inputVariables), tried, same, more, refused)
	if same < tried/2 || refused == 0 {
		t.Errorf("%d the same and %d refused of %d", same, refused, tried)
	}
}

// wrongCall says what of a call of sbatch a variable may not have changed. A size for
// each GPU and a name it may give.
func wrongCall(args, plain []string) string {
	given := func(a string) bool {
		return strings.HasPrefix(a, "--cpus-per-gpu=") || strings.HasPrefix(a, "--mem-per-gpu=") || strings.HasPrefix(a, "--job-name=")
	}
	args, plain = slices.DeleteFunc(slices.Clone(args), given), slices.DeleteFunc(slices.Clone(plain), given)
	if len(args) != len(plain) {
		return "another number of arguments"
	}
	for _, must := range []string{"--begin=now+7200", "--requeue", "--open-mode=append"} {
		if !slices.Contains(args, must) {
			return "without " + must
		}
	}
	if args[len(args)-1] != plain[len(plain)-1] {
		return "another script"
	}
	tags := 0
	for i, a := range args[:len(args)-1] {
		if !strings.HasPrefix(a, "--") || strings.SplitN(a, "=", 2)[0] != strings.SplitN(plain[i], "=", 2)[0] {
			return "another option: " + a
		}
		if strings.HasPrefix(a, "--comment=sluice/1 id=TOKEN inc=0 ") {
			tags++
		}
	}
	if tags != 1 {
		return "not tagged"
	}
	return ""
}
