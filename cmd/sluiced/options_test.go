package main_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/sbatch"
)

// shown is how an option of sbatch's was shown to mean under sluice submit what it means
// to sbatch.
type shown struct {
	// give is the option as it is given to both, on the command line and as #SBATCH line.
	give string
	// variable gives it through the environment; "" = sbatch has no such variable.
	variable string
	// in are the fields of "scontrol show job" in which it shows ("env X": the variables
	// of the job, "here X": its surroundings), which must differ from those of a job
	// without it.
	in []string
	// how says where else it is shown, or why it could not be.
	how string
}

// Options of one group are given together, to an ordinary job and to elastic ones.
var shownTogether = []map[string]shown{
	{
		"account":       {"--account=other", "SBATCH_ACCOUNT=other", []string{"Account", "env SLURM_JOB_ACCOUNT"}, ""},
		"chdir":         {"--chdir=/tmp", "", []string{"WorkDir", "here pwd"}, ""},
		"constraint":    {"--constraint=fast", "SBATCH_CONSTRAINT=fast", []string{"Features"}, ""},
		"cpus-per-task": {"--cpus-per-task=3", "", []string{"CPUs/Task", "NumCPUs", "MinCPUsNode", "env SLURM_CPUS_ON_NODE"}, ""},
		"error":         {"--error=$/%x.%j.err", "SBATCH_ERROR=$/%x.%j.err", []string{"StdErr"}, ""},
		"exclude":       {"--exclude=gpu2", "", []string{"ExcNodeList"}, ""},
		"input":         {"--input=/etc/hostname", "SBATCH_INPUT=/etc/hostname", []string{"StdIn", "here stdin"}, ""},
		"job-name":      {"--job-name=elsewhere", "SBATCH_JOB_NAME=elsewhere", []string{"JobName", "env SLURM_JOB_NAME"}, ""},
		"licenses":      {"--licenses=tool:2", "", []string{"Licenses"}, ""},
		"mail-type":     {"--mail-type=END", "", []string{"MailType"}, ""},
		"mail-user":     {"--mail-user=nobody", "", []string{"MailUser"}, ""},
		"mem":           {"--mem=500", "SBATCH_MEM_PER_NODE=500", []string{"MinMemoryNode", "env SLURM_MEM_PER_NODE"}, ""},
		"nice":          {"--nice=17", "", []string{"Nice"}, ""},
		"output":        {"--output=$/%x.%j.out", "SBATCH_OUTPUT=$/%x.%j.out", []string{"StdOut"}, ""},
		"partition":     {"--partition=second", "SBATCH_PARTITION=second", []string{"Partition", "env SLURM_JOB_PARTITION"}, ""},
		"qos":           {"--qos=quick", "SBATCH_QOS=quick", []string{"QOS", "env SLURM_JOB_QOS"}, ""},
		"time":          {"--time=61", "SBATCH_TIMELIMIT=61", []string{"TimeLimit"}, ""},
		"tmp":           {"--tmp=7", "", []string{"MinTmpDiskNode"}, ""},
		"wckey":         {"--wckey=key", "SBATCH_WCKEY=key", []string{"WCKey"}, ""},
	}, {
		"acctg-freq":          {"--acctg-freq=30", "SBATCH_ACCTG_FREQ=30", []string{"env SLURM_ACCTG_FREQ"}, ""},
		"cpu-freq":            {"--cpu-freq=high", "SBATCH_CPU_FREQ_REQ=high", []string{"CPU_max_freq", "env SLURM_CPU_FREQ_REQ"}, ""},
		"delay-boot":          {"--delay-boot=5", "SBATCH_DELAY_BOOT=5", []string{"DelayBoot"}, ""},
		"export":              {"--export=OPTION_A=1,PATH", "SBATCH_EXPORT=OPTION_A=1,PATH", []string{"env OPTION_A", "env SLURM_EXPORT_ENV"}, ""},
		"gpu-bind":            {"--gpu-bind=closest", "SBATCH_GPU_BIND=closest", []string{"TresBind", "env SLURM_GPU_BIND"}, ""},
		"gpu-freq":            {"--gpu-freq=low", "SBATCH_GPU_FREQ=low", []string{"TresFreq", "env SLURM_GPU_FREQ"}, ""},
		"gres-flags":          {"--gres-flags=enforce-binding", "SBATCH_GRES_FLAGS=enforce-binding", []string{"GresEnforceBind"}, ""},
		"hint":                {"--hint=nomultithread", "SBATCH_HINT=nomultithread", []string{"ReqB:S:C:T", "env SLURM_HINT"}, ""},
		"kill-on-invalid-dep": {"--kill-on-invalid-dep=yes", "", []string{"GresEnforceBind"}, "TestEveryOption: the job is cancelled, as sbatch's is"},
		"mem-bind":            {"--mem-bind=local", "", []string{"env SLURM_MEM_BIND"}, ""},
		"overcommit":          {"--overcommit", "SBATCH_OVERCOMMIT=1", []string{"env SLURM_OVERCOMMIT"}, ""},
		"oversubscribe":       {"--oversubscribe", "", []string{"OverSubscribe"}, ""},
		"profile":             {"--profile=task", "SBATCH_PROFILE=task", []string{"env SLURM_PROFILE"}, ""},
		"propagate":           {"--propagate=NOFILE", "", []string{"here ulimit-n"}, ""},
		"time-min":            {"--time-min=5 --time=90", "", []string{"TimeMin"}, ""},
	}, {
		"cluster-constraint": {"--cluster-constraint=x", "SBATCH_CLUSTER_CONSTRAINT=x", []string{"ClusterFeatures"}, ""},
		"cores-per-socket":   {"--cores-per-socket=2", "", []string{"ReqB:S:C:T"}, ""},
		"distribution":       {"--distribution=cyclic", "SBATCH_DISTRIBUTION=cyclic", []string{"env SLURM_DISTRIBUTION"}, ""},
		"get-user-env":       {"--get-user-env", "SBATCH_GET_USER_ENV=1", []string{"env SLURM_GET_USER_ENV"}, ""},
		"mcs-label":          {"--mcs-label=x", "", []string{"MCS_label"}, ""},
		"mem-per-cpu":        {"--mem-per-cpu=100", "SBATCH_MEM_PER_CPU=100", []string{"MinMemoryCPU", "env SLURM_MEM_PER_CPU"}, ""},
		"mincpus":            {"--mincpus=4", "", []string{"MinCPUsNode"}, ""},
		"network":            {"--network=n", "SBATCH_NETWORK=n", []string{"Network"}, ""},
		"ntasks-per-core":    {"--ntasks-per-core=1", "", []string{"NtasksPerN:B:S:C"}, ""},
		"ntasks-per-socket":  {"--ntasks-per-socket=1", "", []string{"NtasksPerN:B:S:C"}, ""},
		"power":              {"--power=level", "SBATCH_POWER=level", []string{"Power"}, ""},
		"sockets-per-node":   {"--sockets-per-node=1", "", []string{"Socks/Node"}, ""},
		"threads-per-core":   {"--threads-per-core=1", "SBATCH_THREADS_PER_CORE=1", []string{"ReqB:S:C:T"}, ""},
	}, {
		"bb":              {"--bb=x", "SBATCH_BURST_BUFFER=x", []string{"BurstBuffer"}, "its words in the job's record; the lab has no burst buffer"},
		"cpus-per-gpu":    {"--cpus-per-gpu=2", "SBATCH_CPUS_PER_GPU=2", []string{"CpusPerTres", "NumCPUs"}, ""},
		"export-file":     {"--export-file=$/variables", "", []string{"env OPTION_B"}, ""},
		"extra-node-info": {"--extra-node-info=1:4:1", "", []string{"ReqB:S:C:T", "Socks/Node"}, ""},
		"mem-per-gpu":     {"--mem-per-gpu=200", "SBATCH_MEM_PER_GPU=200", []string{"MemPerTres"}, ""},
		"reservation":     {"--reservation=kept", "SBATCH_RESERVATION=kept", []string{"Reservation", "env SLURM_JOB_RESERVATION"}, ""},
	}, {
		"signal": {"--signal=B:USR1@115 --time=2", "SBATCH_SIGNAL=B:USR1@115 SBATCH_TIMELIMIT=2", []string{"here signal"}, ""},
	},
}

const (
	notShown = "no field of Slurm's shows it; its words reach sbatch unchanged"
	newer    = "newer than the Slurm of the lab; its words reach sbatch unchanged"
	printed  = "cmd/sluice: TestScripts"
)

// shownApart are the options that are shown in a test of their own, or are not.
var shownApart = map[string]string{
	"bbf":            "the lab has no burst buffer; its words reach sbatch unchanged",
	"array":          "TestArray",
	"begin":          "TestWhatSlurmWouldNotStart",
	"comment":        "TestEveryOption: it stands behind sluice's words",
	"context":        newer,
	"dependency":     "TestWhatSlurmWouldNotStart",
	"extra":          newer,
	"gpus":           "TestTypesOfGPU",
	"gpus-per-node":  "sbatch: TestFixedSize",
	"gpus-per-task":  "sbatch: TestFixedSize",
	"gres":           "TestTypesOfGPU, sbatch: TestFixedSize",
	"help":           printed,
	"hold":           "TestHoldAndRelease",
	"ignore-pbs":     "sbatch: TestRefusals",
	"mem-update":     newer,
	"no-kill":        notShown,
	"nodes":          "sbatch: TestFixedSize",
	"ntasks":         "every job of TestEveryOption has one task a node",
	"oom-kill-step":  newer,
	"open-mode":      "every job of TestEveryOption appends",
	"parsable":       "every job of TestEveryOption is submitted with it",
	"quiet":          printed,
	"reboot":         "not on the lab: it would reboot the machine; its words reach sbatch unchanged",
	"requeue":        "every job of TestEveryOption can be requeued",
	"resources":      newer,
	"resv-ports":     newer,
	"stepmgr":        newer,
	"test-only":      printed,
	"tres-bind":      newer,
	"tres-per-task":  newer + "; of gpu, sbatch: TestFixedSize",
	"usage":          printed,
	"use-min-nodes":  notShown,
	"verbose":        printed,
	"version":        printed,
	"wait":           printed,
	"wait-all-nodes": notShown,
	"wrap":           printed,
}

// checked says how an option was checked; "" when no row does.
func checked(e sbatch.Effect) string {
	if e.Does == sbatch.Refuses {
		return "TestEveryOption: refused, and no job is left"
	}
	for _, group := range shownTogether {
		if row, ok := group[e.Name]; ok {
			if row.how != "" {
				return row.how
			}
			field := strings.TrimPrefix(strings.TrimPrefix(row.in[0], "env "), "here ")
			return "TestEveryOption: " + field + ", as of sbatch's job, at the start and after a resize"
		}
	}
	return shownApart[e.Name]
}

// Every option of sbatch's has a row that says how it was checked, and no row is of an
// option that there is not.
func TestEveryOptionIsChecked(t *testing.T) {
	var known []string
	for _, e := range sbatch.Effects() {
		known = append(known, e.Name)
		if checked(e) == "" {
			t.Errorf("--%s: nothing shows that it means what it means to sbatch", e.Name)
		}
	}
	for name := range shownApart {
		if !slices.Contains(known, name) {
			t.Errorf("--%s is checked, and there is no such option", name)
		}
	}
	for _, group := range shownTogether {
		for name := range group {
			if !slices.Contains(known, name) {
				t.Errorf("--%s is checked, and there is no such option", name)
			}
		}
	}
}

var writeOptions = flag.Bool("update-options", false, "write sbatch/OPTIONS.md anew; read the diff before you commit it")

// TestOptionsPage: the page for users says what the tables say.
func TestOptionsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# sbatch's options under sluice submit

Every option means what it means to sbatch, on the command line, as ` + "`#SBATCH`" + ` line and as ` + "`SBATCH_`" + ` variable, or is
refused with what to write instead. *Passed on*: reaches sbatch as typed. *Taken over*: sluice acts on it, or says it to
sbatch in its own words. *By value*: some values pass, others are refused.

The last column says how that was checked; unless it says otherwise, on a real Slurm, by ` + "`cmd/sluiced`" + `'s tests, which also
write this page. ` + "`TestEveryOption`" + ` compares all that Slurm shows of an elastic job and of a job of sbatch's with the same
options, and what their scripts see.

| option | becomes | | checked |
|---|---|---|---|
`)
	cell := strings.NewReplacer("|", `\|`, "*", `\*`, "[", `\[`)
	for _, e := range sbatch.Effects() {
		name := "`--" + e.Name + "`"
		if e.Short != "" {
			name = "`-" + e.Short + "`, " + name
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, e.Does, cell.Replace(e.Note), cell.Replace(checked(e)))
	}
	const path = "../../sbatch/OPTIONS.md"
	if *writeOptions {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile(path); err != nil || string(page) != b.String() {
		t.Errorf("%s is not what the tables say (%v): go test ./cmd/sluiced -run TestOptionsPage -update-options", path, err)
	}
}
