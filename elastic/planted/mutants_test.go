package planted

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Parameters of a campaign: the rooms and the names of mutants (regular expressions; of a name
// any part), the seed of the draw, and how many mutants of each room, 0 for all.
const (
	roomEnv   = "SLUICE_MUTANTS"
	filterEnv = "SLUICE_MUTANTS_FILTER"
	seedEnv   = "SLUICE_MUTANTS_SEED"
	sampleEnv = "SLUICE_MUTANTS_SAMPLE"
)

// chamber is a set of files, and the fast tests that can catch a fault in them.
type chamber struct {
	name, dir string
	python    bool
	files     []string // patterns, in dir
	run, skip string   // of Python: run is the modules of its tests, in their order
	then      []view   // further tests, for mutants that those do not catch, in turn
}

// view is some fast tests of another package.
type view struct{ dir, run, skip string }

// around are the tests of packages that depend on elastic, plan and resize.
var around = []view{
	{"elastic/engine/track", ".", "UnlearnRenamed"},
	{"elastic/engine", ".", ""},
	{"elastic/engine/eligible", ".", ""},
}

// Tests that a mutant meets last, since most are caught before. Of slurm/command they are those
// that start many programs, without those that wait for programs or measure memory; of sbatch
// those that run the installed sbatch or a shell; of the store those that write the most.
const (
	slowly = "ManyNodes|Submit|SetNodes|TooM|ReachesTheProgram|ThroughTheClient|Unreadable|TestJob$|Verbs|Revive|ClearOnly|NeverWeakens|TestVersion|" +
		"FewQueries|WhomA|Cancelled|MissingPrograms|TestEnvironment|InBulk|TestSettings$|WithoutDescriptors|LiftsTime|TestPartitions$|APartition|ASize|AChange"
	never   = "HostileStrings|NobodyWaits|WholeGroup|Child|Killed|ManyJobs|LetGo"
	asked   = "WithSbatch|TheShell|TooManyIndices"
	written = "KeepsTheContract|EveryWrite|NoStatements|Misfortunes|EarlierPrograms|StaleLock|OfAStart|Damage|Flip|Power"
)

// chambers are the code that safety depends on.
var chambers = []chamber{
	{"table", "elastic/resize", false, []string{"advance*.go", "../grace.go"}, ".", "", append([]view{{"elastic", ".", house}}, around...)},
	{"reconcile", "elastic/plan", false, []string{"reconcile.go"}, ".", "", around},
	{"arrange", "elastic/plan", false, []string{"arrange.go", "moveset*.go", "sketch.go"}, ".", "", append([]view{{"elastic/resize", ".", ""}}, around...)},
	{"caps", "elastic/plan", false, []string{"quota.go", "licenses.go", "../cap.go"}, ".", "", append([]view{{"elastic", ".", house}, {"elastic/resize", ".", ""}}, around...)},
	{"claim", "elastic/engine/track", false, []string{"claim.go"}, ".", "UnlearnRenamed", []view{{"elastic/world", "Token|Comment|Forgot|Number|Daemon|Partition", "Crash|Daemons?Dies?"}}},
	{"nodes", "nodes", false, []string{"*.go"}, ".", "", append([]view{{"elastic", ".", house}, {"elastic/plan", ".", ""}, {"elastic/resize", ".", ""}}, around...)},
	{"checkpoint", "checkpoint", false, []string{"verify.go", "series.go", "prune.go"}, ".", "Hostile|ReadWhile|Swapping|NamesThat|Progress|Devices|Measure", nil},
	{"authorise", "elastic/control", false, []string{"authorise.go"}, "^Test(Admits|Role|May|Standing|Operators|Rights|Authorise|Matrix|UserMode)", "", nil},
	{"command", "slurm/command", false, []string{"*parse*.go", "gres.go", "records.go", "squeue.go", "sinfo.go", "scontrol_show.go", "times.go", "value.go", "words.go", "state.go", "excluded.go", "reader.go"}, ".", never + "|" + slowly, []view{{"slurm/command", slowly, never}}},
	{"sbatch", "sbatch", false, []string{"*.go"}, ".", asked, []view{{"sbatch", asked, ""}}},
	{"store", "elastic/store", false, []string{"*.go"}, ".", "Race|Kill|" + written, []view{{"elastic/store", written, "Race|Kill"}}},
	{"python", "checkpoint/python", true, []string{"sluice/_flights.py", "sluice/_files.py", "sluice/_write.py", "sluice/_job.py"},
		"tests.test_files tests.test_flights tests.test_job tests.test_state tests.test_trust", "", []view{{"checkpoint/python", "tests.test_background tests.test_profile", ""}}},
}

// house are tests of the whole tree: they read its files, not the ones laid over.
const house = "TestImports|TestHeavy|TestTimeIs"

func (r chamber) mutantsOf(file string) ([]mutant, error) {
	if r.python {
		return pythonMutants(file)
	}
	return mutantsOf(file)
}

func (r chamber) mutants() ([]mutant, error) {
	var all []mutant
	for _, pattern := range r.files {
		files, err := filepath.Glob(filepath.Join(source, r.dir, pattern))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s: no %s in %s (%v)", r.name, pattern, r.dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			file, err := filepath.Rel(source, file)
			if err != nil {
				return nil, err
			}
			some, err := r.mutantsOf(file)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// equivalents returns mutants that behave like the original in every way that matters, by name,
// with the reason. A line of testdata/mutants/equivalent.txt is "name => reason".
func equivalents() (map[string]string, error) {
	raw, err := os.ReadFile("testdata/mutants/equivalent.txt")
	known := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, " => ")
		if !ok || len(reason) < 10 {
			return nil, fmt.Errorf("%q: want: name => reason", line)
		}
		known[name] = reason
	}
	return known, err
}

// TestMutantsAreMade: every room has mutants, each differs from the original and has a unique
// name, and every listed equivalent is one of them.
func TestMutantsAreMade(t *testing.T) {
	known, err := equivalents()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range chambers {
		all, err := r.mutants()
		if err != nil || len(all) < 10 {
			t.Errorf("%s: %d mutants, %v", r.name, len(all), err)
		}
		for i, m := range all {
			if names[m.Name] {
				t.Errorf("two mutants called %s", m.Name)
			}
			names[m.Name] = true
			if i%17 != 0 { // only some are checked, which takes a second
				continue
			}
			before, after, err := m.change()
			if err != nil {
				t.Fatal(err)
			}
			if r.python { // its parser made them and has parsed them again
				continue
			}
			was, _ := bare(before)
			if is, err := bare(after); err != nil || was == is {
				t.Errorf("%s: no other program (%v)", m.Name, err)
			}
		}
	}
	for name := range known {
		if !names[name] {
			t.Errorf("equivalent.txt: there is no mutant %s", name)
		}
	}
}

// TestSomeMutantsAreCaught tries a few, drawn by a fixed seed: enough to know that the
// machinery works. The share that is caught is measured by the campaign.
func TestSomeMutantsAreCaught(t *testing.T) {
	if testing.Short() || os.Getenv(roomEnv) != "" || os.Getenv(plantedEnv) != "" {
		t.Skip("builds test programs")
	}
	for _, r := range chambers[:1] {
		if s := muster(t, r, choice{seed: 1, sample: 3}); s.caught == 0 {
			t.Errorf("%s: %s", r.name, s)
		}
	}
}

// TestMutantsOfTwoPackages: a room whose files lie in two packages can be built with mutants
// in both.
func TestMutantsOfTwoPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages")
	}
	var some []mutant
	for _, file := range []string{"elastic/grace.go", "elastic/plan/licenses.go"} {
		all, err := mutantsOf(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if weavable(m) {
				m.number = len(some) + 1
				some = append(some, m)
			}
		}
	}
	if _, bad, err := weaveAll(t.Context(), "elastic/plan", some, t.TempDir()); err != nil || len(bad) > len(some)/2 {
		t.Errorf("%d of %d cannot be built, %v", len(bad), len(some), err)
	}
}

// TestMutants tries mutants of the rooms that SLUICE_MUTANTS matches and prints a table.
func TestMutants(t *testing.T) {
	wanted := os.Getenv(roomEnv)
	if wanted == "" {
		t.Skip("takes hours: make mutants, or " + roomEnv + "=ROOM " + sampleEnv + "=20")
	}
	match, err := regexp.Compile("^(" + wanted + ")$")
	if err != nil {
		t.Fatal(err)
	}
	var of choice
	if of.filter, err = regexp.Compile(os.Getenv(filterEnv)); err != nil {
		t.Fatal(err)
	}
	of.seed, _ = strconv.ParseUint(os.Getenv(seedEnv), 10, 64)
	of.sample, _ = strconv.Atoi(os.Getenv(sampleEnv))
	figure := "mutants"
	if os.Getenv(filterEnv) != "" {
		figure = "mutants by name" // no figure of the whole room: 'make reliability-report' leaves it out
	}
	var table []string
	for _, r := range chambers {
		if match.MatchString(r.name) {
			table = append(table, fmt.Sprintf("%s: room=%s seed=%d %s", figure, r.name, of.seed, muster(t, r, of)))
		}
	}
	if len(table) == 0 {
		t.Errorf("%s=%s is no room", roomEnv, wanted)
	}
	fmt.Println(strings.Join(table, "\n"))
}
