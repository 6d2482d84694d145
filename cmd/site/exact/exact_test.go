package exact

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const log = `0 0 0 1.5 2
0 0 1 1.25 2
1 0 1 1.250000001 4
1 1 0 1 4
1 1 1`

// TestCompare: repeated, missing and wrong steps are counted separately, and an
// unfinished last line of a killed program is ignored.
func TestCompare(t *testing.T) {
	list, err := readRecords(strings.NewReader(log), 2)
	if err != nil || len(list) != 4 || list[3] != (record{restart: 1, step: 2, world: 4, loss: 1}) {
		t.Fatalf("%+v, %v", list, err)
	}
	c := compare(list, []float64{1.5, 1.25, 1, 0.5}, 1e-6)
	if c.Steps != 3 || c.Repeated != 1 || c.Missing != 1 || c.Wrong != 0 || len(c.Worlds) != 2 || math.Abs(c.Off-1e-9) > 1e-12 {
		t.Errorf("%+v", c)
	}
	if c := compare(list, []float64{1.5, 1.25, math.NaN()}, 1e-12); c.Wrong != 2 || c.Missing != 0 {
		t.Errorf("%+v: NaN and a difference of 1e-9 are wrong", c)
	}
	if c := compare(list, []float64{1.5}, 1); c.Wrong != 3 {
		t.Errorf("%+v: steps beyond the last are wrong", c)
	}
	for _, bad := range []string{"1 2 3\n", "a 0 0 1 1\n", "0 0 0 x 1\n", "0 0 -1 1 1\n", "\n"} {
		if _, err := readRecords(strings.NewReader(bad), 2); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(log)
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := readRecords(strings.NewReader(text), 2)
		compare(list, []float64{1, 2}, 1)
	})
}

// TestTake: steps lost in a resize are a violation, those lost by a kill are not.
func TestTake(t *testing.T) {
	list := []record{{0, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 2, 1}, {2, 2, 1, 1}}
	for _, c := range []struct {
		killed  []death
		resizes int
		lost    int
	}{{nil, 2, 1}, {[]death{{run: 0}}, 1, 0}, {[]death{{run: 1}}, 1, 1}} {
		var a deaths
		a.take(1, list, compare(list, []float64{1, 1, 1}, 1), c.killed, nil)
		if a.resizes != c.resizes || a.inMoves != c.lost {
			t.Errorf("killed %v: %d resizes, %d steps lost in them", c.killed, a.resizes, a.inMoves)
		}
	}
}

func TestJudge(t *testing.T) {
	if broken := (death{expected: "2", resumed: "2", corrupted: "3"}).judge(1); len(broken) != 0 {
		t.Error(broken)
	}
	if broken := (death{expected: "2", resumed: "3", corrupted: "3"}).judge(1); len(broken) != 2 {
		t.Error(broken)
	}
}

// TestVerdict: the last line has the figures, and a violation is an error.
func TestVerdict(t *testing.T) {
	a := deaths{precision: precisions[1], list: []death{
		{kind: "worker", by: "user", saving: true, back: 3 * time.Second, lost: 4},
		{kind: "node", by: "Slurm", corrupted: "3", resumed: "2", back: time.Second},
	}}
	var out strings.Builder
	a.print(&out)
	if err := a.verdict(&out); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"kills=2 worker=1 runner=0 node=1 in_save=1", "back=2 by_slurm=1 by_sluice=0 by_user=1", "corrupted=1 corrupt_loaded=0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	a.broken = []string{"one"}
	if a.verdict(&out) == nil || (table{comparison: comparison{Wrong: 1}, resizes: 9}).verdict(&out) == nil {
		t.Error("a broken promise is no error")
	}
}

func TestFlip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.pt")
	if err := os.WriteFile(path, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := flip(path, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) == "weights" || len(b) != 7 {
		t.Errorf("%q", b)
	}
	if err := flipBack(path); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "weights" {
		t.Errorf("%q", b)
	}
}

// TestKilled: only real kills count, and means are of those after which the job came
// back.
func TestKilled(t *testing.T) {
	a := deaths{list: []death{{kind: "worker", by: "user", struck: true, lost: 4, back: 2 * time.Second}, {kind: "worker", struck: true}}}
	if k := a.of("worker"); k.times != 2 || k.byUser != 1 || k.lost != 4 || k.away != 2 {
		t.Errorf("%+v", k)
	}
	if got := a.list[0].attempt(); got != "worker killed ()" {
		t.Error(got)
	}
	if got := (death{kind: "node", moment: "save"}).attempt(); got != "no node killed (save)" {
		t.Error(got)
	}
}

// TestOptions: options without an effect, or with an unintended one, are refused before a
// lab is built.
func TestOptions(t *testing.T) {
	for _, o := range []Options{{Kinds: []string{"worker", "nodes"}}, {Kinds: []string{""}}, {Only: true}, {Kills: -1}, {Labs: 17}, {Labs: -1}} {
		if err := o.check(); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	for _, o := range []Options{{}, {Kills: 1, Only: true, Kinds: kinds, Labs: 2}} {
		if err := o.check(); err != nil {
			t.Error(err)
		}
	}
	if err := Run(t.Context(), Options{Only: true}); err == nil || !strings.Contains(err.Error(), "--kills-only") {
		t.Error(err)
	}
}

// TestNoTable: a table that came to nothing still says of which numbers it is.
func TestNoTable(t *testing.T) {
	tab, err := exactness(t.Context(), Options{Bin: "/nowhere", Root: "/nowhere"}, &story{to: io.Discard}, precisions[1])
	if err == nil || tab.name != "float64" || tab.bound != bound64 {
		t.Errorf("%+v, %v", tab.precision, err)
	}
}
