package planted

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What of a campaign is asked for: the rooms (a regular expression), the seed of the draw,
// and how many mutants of each room, 0 for all.
const (
	roomEnv   = "SLUICE_MUTANTS"
	seedEnv   = "SLUICE_MUTANTS_SEED"
	sampleEnv = "SLUICE_MUTANTS_SAMPLE"
)

// chamber is files of one kind, and the fast tests that can see a fault in them.
type chamber struct {
	name, dir string
	files     []string // patterns, in dir
	run, skip string
}

// chambers are what safety hangs on.
var chambers = []chamber{
	{"table", "elastic", []string{"advance*.go"}, ".", house},
	{"reconcile", "elastic", []string{"reconcile.go"}, ".", house},
	{"arrange", "elastic", []string{"arrange.go", "passage*.go", "sketch.go"}, ".", house},
	{"caps", "elastic", []string{"cap.go", "licenses.go"}, ".", house},
	{"claim", "elastic/engine", []string{"claim.go"}, ".", ""},
	{"nodes", "nodes", []string{"*.go"}, ".", ""},
	{"checkpoint", "checkpoint", []string{"verify.go", "series.go", "prune.go"}, "^Test(Commit|Prune|Nothing|Damage|Mutations|Verify|Series|Newest|Power)", ""},
	{"authorise", "elastic/control", []string{"authorise.go"}, "^Test(Admits|Role|May|Standing|Operators|Rights|Authorise|Matrix|UserMode)", ""},
	{"command", "slurm/command", []string{"*parse*.go", "gres.go", "records.go", "squeue.go", "sinfo.go", "scontrol_show.go", "times.go", "value.go", "words.go", "state.go", "excluded.go", "reader.go"}, ".", "Hostile|Nobody|Whole|Child|Killed"},
	{"sbatch", "sbatch", []string{"*.go"}, ".", ""},
	{"store", "elastic/store", []string{"*.go"}, ".", "Damage|Flip|Power|Race|Kill"},
}

// house are tests of the whole tree's form: they read its files, not the ones laid over.
const house = "TestImports|TestHeavy|TestTimeIs"

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
			some, err := mutantsOf(r.dir + "/" + filepath.Base(file))
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// equivalents are mutants that are no other program in any way that counts, by name, with
// the reason. A line of testdata/mutants/equivalent.txt is "name => reason".
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

// TestMutantsAreMade: every room has mutants, each another program with a name of its own,
// and every equivalent that is listed is one of them.
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
			if i%17 != 0 { // some are looked at: that is a second
				continue
			}
			p, err := m.plant(r)
			if err != nil {
				t.Fatal(err)
			}
			was, _ := bare(p.Edits[0].Old)
			if is, err := bare(p.Edits[0].New); err != nil || was == is {
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

// TestSomeMutantsAreCaught tries a few, drawn by a seed that stays: enough to know that the
// machinery works. How many of a room are caught is the campaign's to say.
func TestSomeMutantsAreCaught(t *testing.T) {
	if testing.Short() || os.Getenv(roomEnv) != "" || os.Getenv(plantedEnv) != "" {
		t.Skip("builds test programs")
	}
	for _, r := range chambers[:1] {
		if s := muster(t, r, 1, 3); s.caught == 0 {
			t.Errorf("%s: %s", r.name, s)
		}
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
	seed, _ := strconv.ParseUint(os.Getenv(seedEnv), 10, 64)
	sample, _ := strconv.Atoi(os.Getenv(sampleEnv))
	var table []string
	for _, r := range chambers {
		if match.MatchString(r.name) {
			table = append(table, fmt.Sprintf("mutants room=%s seed=%d %s", r.name, seed, muster(t, r, seed, sample)))
		}
	}
	if len(table) == 0 {
		t.Errorf("%s=%s is no room", roomEnv, wanted)
	}
	fmt.Println(strings.Join(table, "\n"))
}

// score is what came of the mutants of a room. Those that do not build were no mutants.
type score struct{ all, tried, caught, hung, survived, equivalent, unbuilt int }

func (s score) String() string {
	share := 100.0
	if s.tried > 0 {
		share = 100 * float64(s.caught) / float64(s.tried)
	}
	return fmt.Sprintf("of=%d tried=%d caught=%d share=%.0f%% (%d of them by the deadline) survived=%d equivalent=%d unbuilt=%d",
		s.all, s.tried, s.caught, share, s.hung, s.survived, s.equivalent, s.unbuilt)
}

// muster tries a draw of a room's mutants, as many at once as there are processors.
func muster(t *testing.T, r chamber, seed uint64, sample int) score {
	all, err := r.mutants()
	if err != nil {
		t.Fatal(err)
	}
	known, err := equivalents()
	if err != nil {
		t.Fatal(err)
	}
	limit, err := clean(t, r)
	if err != nil {
		t.Errorf("NOT TRIED %s: %v", r.name, err)
		return score{all: len(all)}
	}
	s := score{all: len(all)}
	rng := rand.New(rand.NewPCG(seed, 7))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if sample > 0 {
		all = all[:min(sample, len(all))]
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range all {
		if known[m.Name] != "" {
			s.equivalent++
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			o, err := m.try(t.Context(), r, limit)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("NOT TRIED %s: %v", m.Name, err)
				return
			}
			s.count(m, o)
		})
	}
	wait.Wait()
	return s
}

// count books an outcome and says it, so that a campaign that is cut off has a figure too.
func (s *score) count(m mutant, o outcome) {
	switch o.verdict {
	case unbuilt:
		s.unbuilt++
		fmt.Printf("unbuilt   line %d %s\n", m.line, m.Name)
		return
	case passed, idle:
		s.survived++
		fmt.Printf("SURVIVED  line %d %s\n", m.line, m.Name)
	default: // failed, panicked, ended without a verdict, or hung: a day's tests would be red
		s.caught++
		if o.verdict == hung {
			s.hung++
		}
		fmt.Printf("caught    line %d %s: %s %s\n", m.line, m.Name, o.verdict, o.test)
	}
	s.tried++
}

func (m mutant) try(ctx context.Context, r chamber, limit time.Duration) (outcome, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	p, err := m.plant(r)
	if err != nil {
		return outcome{}, err
	}
	overlay, err := p.overlay(dir)
	if err != nil {
		return outcome{}, err
	}
	p.Within = limit
	return p.try(ctx, overlay, dir), nil
}

// clean runs a room's tests without a mutant and returns how long one may take with it.
func clean(t *testing.T, r chamber) (time.Duration, error) {
	p := plant{Room: r.dir, Run: r.run, Skip: r.skip, Short: true}
	o := p.try(t.Context(), "", t.TempDir())
	if o.verdict != passed {
		t.Log(o.text)
		return 0, errors.New("its tests without a mutant: " + string(o.verdict))
	}
	return max(20*time.Second, 5*o.took), nil
}
