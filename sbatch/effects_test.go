package sbatch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recorded reads the output of "sbatch --usage" and "sbatch --help" of four releases.
func recorded(t *testing.T) map[string]string {
	t.Helper()
	files, _ := filepath.Glob("testdata/help/*.txt")
	said := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said[file] = string(text)
	}
	if len(said) != 4 {
		t.Fatalf("%d releases recorded", len(said))
	}
	return said
}

// installed adds the output of this machine's sbatch, which needs a configuration.
func installed(t *testing.T, said map[string]string) {
	program, err := exec.LookPath("sbatch")
	if err != nil {
		t.Logf("no sbatch here: the recorded releases alone are looked at")
		return
	}
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	text := "ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost CPUs=1\nPartitionName=p Nodes=localhost Default=YES\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"--usage", "--help"} {
		cmd := exec.Command(program, option)
		cmd.Env = []string{"SLURM_CONF=" + conf, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", program, option, err, out)
		}
		said[program+" "+option] = string(out)
	}
}

// misprinted are options that a release names in its help and does not accept.
var misprinted = []string{"oversubscibe"}

// differently are options whose help differs from the values they accept.
var differently = []string{"resv-ports", "get-user-env", "no-kill", "wrap", "requeue", "export", "container", "container-id"}

var helpLine = regexp.MustCompile(`^  (?:-(\w), |    )--([a-z][a-z-]*[a-z])(=|\[=)?`)

var longOption = regexp.MustCompile(`--([a-z][a-z-]*[a-z])`)

// TestEveryOptionIsKnown: the table has every option in the help of the installed sbatch
// and of four releases, with a value if they have one.
func TestEveryOptionIsKnown(t *testing.T) {
	said := recorded(t)
	installed(t, said)
	for source, text := range said {
		found := longOption.FindAllStringSubmatch(text, -1)
		if len(found) < 60 {
			t.Errorf("%s: %d options only", source, len(found))
		}
		for _, m := range found {
			if !slices.Contains(misprinted, m[1]) && byName(m[1]) == nil {
				t.Errorf("%s: --%s is not in the table: say what it becomes under sluice submit", source, m[1])
			}
		}
		for line := range strings.Lines(text) {
			m := helpLine.FindStringSubmatch(line)
			if m == nil || byName(m[2]) == nil {
				continue
			}
			o := byName(m[2])
			want := map[string]arity{"": bare, "=": valued, "[=": optional}[m[3]]
			if o.takes != want && !slices.Contains(differently, o.name) {
				t.Errorf("%s: --%s takes %v, the table says %v", source, o.name, want, o.takes)
			}
			if m[1] != "" && (o.short == 0 || string(o.short) != m[1]) {
				t.Errorf("%s: the letter of --%s is %s", source, o.name, m[1])
			}
		}
	}
}

// plain are accepted values of options that are passed on.
var plain = map[string]string{
	"constraint": "a&b", "comment": "mine", "distribution": "cyclic", "requeue": "", "open-mode": "append", "ntasks": "1", "profile": "task",
	"mem-per-gpu": "16G", "cpus-per-gpu": "2", "tres-per-task": "cpu=2", "wrap": "true", "cpus-per-task": "2",
}

// TestEffects: an option that is passed on reaches sbatch as typed, from the command line
// and from an #SBATCH line; an option that sluice handles does not; a refused one is
// refused from either, with what to write instead.
func TestEffects(t *testing.T) {
	for _, e := range Effects() {
		o := byName(e.Name)
		value := plain[e.Name]
		if value == "" && o.takes == valued {
			value = "1"
		}
		typed := "--" + e.Name
		if value != "" {
			typed += "=" + value
		}
		if e.Does == Refuses {
			typed = e.Typed()
		}
		if slices.Contains([]string{"help", "usage", "version", "wrap"}, e.Name) {
			continue // these give no request
		}
		line, err := ParseCommandLine([]string{"--max-gpus=4", typed, "job.sh"})
		request, wrong := Merge(line, nil, mustScript(t, "#!/bin/sh\ntrue\n"))
		if e.Name == "deadline" { // sluice's own on the command line
			wrong = nil
		}
		script, unread := ParseScript("job.sh", []byte("#!/bin/sh\n#SBATCH "+typed+"\ntrue\n"))
		bare, _ := ParseCommandLine([]string{"--max-gpus=4", "job.sh"})
		written, against := Merge(bare, nil, script)
		switch inBatch := strings.Contains(string(written.Batch(Job{Sluice: "/s", Script: "/j"})), "#SBATCH "+typed+"\n"); {
		case e.Does == Refuses:
			if against == nil || wrong == nil && e.Name != "deadline" || !strings.Contains(e.Note, ": ") || strings.HasSuffix(e.Note, ": ") {
				t.Errorf("%s: refused as %v and %v, noted as %q", typed, wrong, against, e.Note)
			}
		case err != nil || wrong != nil || unread != nil || against != nil:
			if e.Does != Partly {
				t.Errorf("%s: %v, %v, %v, %v", typed, err, wrong, unread, against)
			}
		case e.Does == Passes && (!slices.Contains(request.options, typed) || !inBatch):
			t.Errorf("%s does not reach sbatch: %v, %t", typed, request.options, inBatch)
		case e.Does == Takes && slices.Contains(request.options, typed):
			t.Errorf("%s reaches sbatch", typed)
		}
	}
}

// TestEveryVariable: for each option that sluice refuses or acts on, the variable by
// which sbatch reads it is handled, too. The list is from the manual pages sbatch(1).
func TestEveryVariable(t *testing.T) {
	names := strings.Fields(`ACCOUNT ACCTG_FREQ ARRAY_INX BATCH BURST_BUFFER CLUSTER_CONSTRAINT CLUSTERS COMMENT CONSTRAINT CONTAINER CONTAINER_ID CORE_SPEC
		CPU_FREQ_REQ CPUS_PER_GPU DELAY_BOOT DISTRIBUTION ERROR EXCLUSIVE EXPORT GET_USER_ENV GPU_BIND GPU_FREQ GPUS GPUS_PER_NODE GPUS_PER_SOCKET GPUS_PER_TASK
		GRES GRES_FLAGS HINT IGNORE_PBS INPUT JOB_NAME MEM_BIND MEM_PER_CPU MEM_PER_GPU NETWORK NO_KILL NO_REQUEUE OPEN_MODE OUTPUT
		OVERCOMMIT PARTITION POWER PREFER PROFILE QOS REQUEUE RESERVATION SIGNAL SPREAD_JOB STEPMGR THREAD_SPEC THREADS_PER_CORE TRES_BIND
		TRES_PER_TASK USE_MIN_NODES WAIT WAIT_ALL_NODES WCKEY`)
	renamed := map[string]string{"ARRAY_INX": "array", "BURST_BUFFER": "bb", "CPU_FREQ_REQ": "cpu-freq"}
	for _, name := range names {
		option := renamed[name]
		if option == "" {
			option = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		}
		if byName(option) == nil {
			t.Fatalf("no option --%s", option)
		}
		looked := slices.ContainsFunc(variables, func(v variable) bool { return v.name == "SBATCH_"+name && v.option == option })
		for _, e := range Effects() {
			if e.Name == option && e.Does != Passes && !looked {
				t.Errorf("SBATCH_%s is not looked at, and --%s is %s", name, option, e.Does)
			}
		}
	}
	for name, option := range map[string]string{"SBATCH_REQ_SWITCH": "switches", "SBATCH_SEGMENT_SIZE": "segment"} {
		if !slices.ContainsFunc(variables, func(v variable) bool { return v.name == name && v.option == option }) {
			t.Errorf("%s is not looked at", name)
		}
	}
}
