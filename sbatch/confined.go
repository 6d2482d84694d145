package sbatch

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// MaxData is the most data sets that a job may name.
const MaxData = 16

// Service is what sluice-vaultd says about a confined job when it submits it for a user.
type Service struct {
	For   string // the user that it belongs to
	Token string // 32 lower-case hex digits
	Fence string // absolute path of fence.json, which lies beside the job's script
	// Account and QOS are what the job is charged to, whatever the user typed; "" = as typed.
	Account, QOS string
	// Task is the job's place in the array that the user typed; nil = it is part of none.
	Task *Task
}

// Task is one task of a job array.
type Task struct {
	Of    elastic.JobID // the array's first job; 0 = this is it
	Index int
}

// String is FIRST_INDEX, as in --task.
func (t Task) String() string { return fmt.Sprintf("%d_%d", t.Of, t.Index) }

// parseTask reads FIRST_INDEX.
func parseTask(value string) (*Task, error) {
	var t Task
	if _, err := fmt.Sscanf(value, "%d_%d", &t.Of, &t.Index); err != nil || t.Of < 0 || t.Index < 0 || t.String() != value {
		return nil, errors.New("want FIRST_INDEX")
	}
	return &t, nil
}

// charges reports whether sluice-vaultd says what the option does.
func (s Service) charges(option string) bool {
	return option == "account" && s.Account != "" || option == "qos" && s.QOS != ""
}

// words are for sbatch, after everything of the user's.
func (s Service) words() (words []string) {
	if s.Account != "" {
		words = append(words, "--account="+s.Account)
	}
	if s.QOS != "" {
		words = append(words, "--qos="+s.QOS)
	}
	return words
}

// Connected lets a confined job have several nodes, as at a site that carries packets between their fences.
func (r *Request) Connected() {
	if r.Confined() {
		r.Spec.Nodes = r.typedNodes
	}
}

// Confined reports whether the job's programs run inside of a fence.
func (r Request) Confined() bool { return len(r.Data) > 0 || r.Service != nil }

// onlyService are the options that only sluice-vaultd gives.
var onlyService = []string{"fence", "for", "task", "token"}

// byService are those that it gives before --for, which is its last one. Everything after that
// comes from the user, and everything in the script.
var byService = []string{"account", "chdir", "config", "constraint", "fence", "output", "qos", "task", "token"}

// mayConfined are the options that a confined job may have. An option that is not listed is
// refused: sbatch runs as the service account, and must read and write nothing for the user outside of the fence.
var mayConfined = []string{
	"account", "array", "begin", "comment", "constraint", "cpus-per-gpu", "cpus-per-task", "dependency", "exclude", "gpus", "gpus-per-node", "gpus-per-task",
	"gres", "hold", "ignore-pbs", "job-name", "licenses", "mail-type", "mail-user", "mem", "mem-per-cpu", "mem-per-gpu", "mincpus", "nice", "nodes",
	"ntasks", "open-mode", "parsable", "partition", "qos", "quiet", "requeue", "time", "time-min", "tmp", "wait", "wrap",
	"allow-uneven", "checkpoint-every", "checkpoint-signal", "code", "data", "deadline", "deadline-mode", "epochs", "gpu-sizes", "gpu-step", "gpu-types",
	"grace", "max-gpus", "min-gpus", "model", "notify", "on-timeout", "retries", "steps",
}

// byClient are the options that 'sluice submit' itself acts on before sluice-vaultd is asked.
var byClient = []string{"code", "config", "parsable", "quiet", "user", "wait", "wrap"}

// notConfined returns why an option cannot be used for a confined job, and what to write instead.
func notConfined(name string) (why, do string) {
	switch name {
	case "sweep":
		return "a confined job cannot be a sweep so far", "leave it out, and submit one job for each point"
	case "user":
		return "confined jobs belong to the cluster's sluiced", "leave it out"
	case "output", "error":
		return "the log of a confined job leaves it by the gate only", "leave it out; 'sluice logs JOB' prints the log"
	case "input":
		return "a confined job reads its code and its data only", "leave it out; --code says which files go along"
	case "export", "export-file", "get-user-env":
		return "the environment of a confined job comes from a list of the site's", "leave it out; set variables in the script"
	case "chdir":
		return "a confined job starts in the folder of its code", "leave it out; --code says which files go along"
	case "checkpoint-glob", "checkpoint-marker", "checkpoint-still", "progress-regex":
		return "sluice reads no files and no output of a confined job", "leave it out; save and report through sluice's library (import sluice)"
	case "reservation", "wckey":
		return "Slurm would look whether the service account may use it, not whether you may", "leave it out"
	case "test-only":
		return "a confined job cannot be tested without submitting it", "leave it out"
	}
	return "a confined job cannot have this option: sbatch would act on it outside of the fence", "leave it out"
}

// confine reads what makes a job confined, and refuses what such a job cannot have.
func (m *merger) confine() {
	r := &m.request
	m.value("data", func(v string) (err error) { r.Data, err = parseData(v); return err })
	m.value("code", func(v string) (err error) { r.Code, err = parseCode(v); return err })
	given := m.service()
	if s, is := m.chosen["code"]; is && !r.Confined() {
		m.fail(s.fail("it says which files go to the data, and there is no --data", "add --data=NAME, or leave it out"))
	}
	if !r.Confined() {
		return
	}
	_, sweeps := m.chosen["sweep"]
	for i, source := range m.sources {
		for k, s := range source {
			switch {
			case i == fromLine && k < given:
			case s.name == "constraint" && slices.ContainsFunc(m.sources[fromLine][:given], func(v setting) bool { return v.name == s.name }):
				m.fail(s.fail("the owner of the data chooses the nodes", "leave it out"))
			case slices.Contains(mayConfined, s.name) && (r.Service == nil || s.name != "wrap"), slices.Contains(onlyService, s.name):
			case r.Service == nil && s.name == "config", s.name == profiling.name, s.at.Line == 0 && overruled(s.at.Source):
			case sweeps && slices.Contains(sweepOptions, s.name):
			default:
				why, do := notConfined(s.name)
				if s.at.Source != "" && s.at.Line == 0 {
					do = unset(s.at.Source, do)
				}
				m.fail(s.fail(why, do))
			}
		}
	}
}

// confined settles what the other options say of a confined job.
func (m *merger) confined(env environment) {
	r := &m.request
	if !r.Confined() {
		return
	}
	r.typedNodes, r.Spec.Nodes = r.Spec.Nodes, 1 // elsewhere the network of a fence ends at its node
	for _, name := range []string{"account", "qos"} {
		if s, is := m.chosen[name]; is && s.value == "" {
			m.fail(s.fail("it names none", "leave it out, or name one")) // Slurm may take that of the service account
		}
	}
	if r.Service != nil {
		m.one()
		r.Wait, r.Quiet, r.Parsable = false, false, false // the client acts on them
		return
	}
	m.forward(env)
}

// one makes sure that a job of the service account is one job: of an array it is the task that sluice-vaultd says.
func (m *merger) one() {
	task, array := m.request.Service.Task, m.request.Array
	s := m.chosen["array"]
	switch {
	case array == nil && task != nil:
		m.fail(m.chosen["task"].fail("the job is part of no array", ""))
	case array != nil && task == nil:
		m.fail(s.fail("a job of the service account is one job", "give its place in the array: --task"))
	case array != nil && !slices.Contains(array.Tasks, task.Index):
		m.fail(s.fail(fmt.Sprintf("the array has no task %d", task.Index), ""))
	}
}

// fromLine is the place of the command line among the sources.
const fromLine = 2

// service reads the options that only sluice-vaultd gives, and returns how many settings of the command line are its own.
func (m *merger) service() (given int) {
	line := m.sources[fromLine]
	given = slices.IndexFunc(line, func(s setting) bool { return s.name == "for" }) + 1
	for i, source := range m.sources {
		for k, s := range source {
			if its := i == fromLine && k < given; slices.Contains(onlyService, s.name) && !its {
				m.fail(s.fail("only sluice-vaultd gives this option", "leave it out"))
			}
		}
	}
	if given == 0 {
		return 0
	}
	v, seen := &Service{}, map[string]bool{}
	m.request.Service = v
	for _, s := range line[:given] {
		switch {
		case seen[s.name]:
			m.fail(s.fail("this option is given twice before --for", "give it once"))
		case s.name != "for" && !slices.Contains(byService, s.name):
			m.fail(s.fail("only these options may stand before --for: --"+strings.Join(byService, ", --"), "put it after --for"))
		}
		seen[s.name] = true
		var err error
		switch s.name {
		case "for":
			v.For, err = s.value, checkUser(s.value)
		case "token":
			v.Token, err = s.value, checkToken(s.value)
		case "fence":
			v.Fence, err = s.value, checkFence(s.value)
		case "account":
			v.Account = s.value
		case "qos":
			v.QOS = s.value
		case "task":
			v.Task, err = parseTask(s.value)
		}
		if err != nil {
			m.fail(s.fail(err.Error(), ""))
		}
	}
	for _, name := range []string{"fence", "output", "token"} {
		if !seen[name] {
			m.fail(line[given-1].fail("there is no --"+name+" before it", ""))
		}
	}
	return given
}

func checkUser(name string) error {
	if !elastic.UserName(name) {
		return errors.New("want the name of a user")
	}
	return nil
}

func checkToken(token string) error {
	if len(token) != 32 || strings.Trim(token, "0123456789abcdef") != "" {
		return errors.New("want 32 lower-case hex digits")
	}
	return nil
}

func checkFence(name string) error {
	if !path.IsAbs(name) || path.Clean(name) != name || safe(name) != name {
		return errors.New("want an absolute path")
	}
	return nil
}

// nameBytes are the bytes of a data set's name.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// parseData reads NAME[,NAME].
func parseData(value string) ([]string, error) {
	names := strings.Split(value, ",")
	for i, n := range names {
		if n == "" || len(n) > 64 || n[0] == '.' || n[0] == '-' || strings.Trim(n, nameBytes) != "" {
			return nil, errors.New("want names of data sets, with commas between them ('sluice data list' shows yours)")
		}
		if slices.Contains(names[:i], n) {
			return nil, fmt.Errorf("%s is named twice", n)
		}
	}
	if len(names) > MaxData {
		return nil, fmt.Errorf("%d data sets; a job can have %d", len(names), MaxData)
	}
	return names, nil
}

// parseCode reads PATH[,PATH]: files and folders below the current folder.
func parseCode(value string) ([]string, error) {
	var paths []string
	for p := range strings.SplitSeq(value, ",") {
		if p == "" || !filepath.IsLocal(p) {
			return nil, fmt.Errorf("want files and folders below the current folder, with commas between them, not %q", p)
		}
		paths = append(paths, filepath.Clean(p))
	}
	return paths, nil
}

// plainVariables are variables of sbatch for options that it is otherwise left to read itself. The sbatch of a
// confined job runs in another environment.
var plainVariables = [][2]string{{"SBATCH_ACCOUNT", "account"}, {"SBATCH_QOS", "qos"}, {"SBATCH_RESERVATION", "reservation"}, {"SBATCH_WCKEY", "wckey"}}

// Forwarded returns the options of the environment and of the command line as words that sluice-vaultd can give
// to 'sluice submit' in another environment. Those of the script are in the script.
func (r Request) Forwarded() []string { return r.forwarded }

func (m *merger) forward(env environment) {
	words := []string{}
	if !m.request.name {
		words = append(words, "--job-name="+m.request.jobName())
	}
	line := m.sources[fromLine]
	for _, v := range plainVariables {
		value := env[v[0]]
		switch {
		case value == "" || slices.ContainsFunc(line, func(s setting) bool { return s.name == v[1] }):
		case slices.Contains(mayConfined, v[1]):
			words = append(words, "--"+v[1]+"="+value)
		default:
			why, do := notConfined(v[1])
			m.fail(&Error{At: Place{Source: v[0]}, What: v[0] + "=" + value, Why: why, Do: unset(v[0], do)})
		}
	}
	for _, s := range m.sources[fromLine-1] {
		if m.chosen[s.name].at != s.at || slices.Contains(byClient, s.name) || overruled(s.at.Source) {
			continue
		}
		word := "--" + strings.Fields(s.name)[0] // "profile sizes" is typed as --profile
		if s.takes != bare {
			word += "=" + s.value
		}
		words = append(words, word)
	}
	for _, s := range line {
		if !slices.Contains(byClient, s.name) {
			words = append(words, s.words...)
		}
	}
	m.request.forwarded = words
}
