package planted

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plantedEnv runs all faults whose name it matches, instead of a few.
const plantedEnv = "SLUICE_PLANTED"

// fewest is the minimum number of faults in the tables.
const fewest = 140

// TestPlantsApply: every fault still fits the code, changes more than a comment and results in
// valid Go. It runs with every change of sluice; otherwise a fault that no longer applies would
// count as caught, or be forgotten.
func TestPlantsApply(t *testing.T) {
	all, err := plants()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < fewest {
		t.Errorf("%d faults, want at least %d", len(all), fewest)
	}
	for _, p := range all {
		changed, err := p.applied()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		for file, text := range changed {
			raw, _ := os.ReadFile(filepath.Join(source, file))
			was, _ := bare(string(raw))
			is, err := bare(text)
			if err != nil || was == is {
				t.Errorf("%s: %s: no other program with the fault (%v)", p.Name, file, err)
			}
		}
		if _, err := regexp.Compile(p.Run); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// TestSomePlantsAreCaught tries a few of the cheap faults: enough to know that the machinery of
// this package works. The draw depends on the tables only.
func TestSomePlantsAreCaught(t *testing.T) {
	if testing.Short() || os.Getenv(plantedEnv) != "" {
		t.Skip("builds test programs")
	}
	all, err := plants()
	if err != nil {
		t.Fatal(err)
	}
	var cheap []plant
	for _, p := range all {
		if p.Cheap {
			cheap = append(cheap, p)
		}
	}
	rng := rand.New(rand.NewPCG(5, uint64(len(all))))
	rng.Shuffle(len(cheap), func(i, j int) { cheap[i], cheap[j] = cheap[j], cheap[i] })
	c := &campaign{t: t, clean: map[string]error{}}
	for _, p := range cheap[:min(2, len(cheap))] {
		if line, ok := c.catch(p); !ok {
			t.Error(line)
		}
	}
}

// TestEveryPlantIsCaught tries all faults that SLUICE_PLANTED matches, prints one line each and
// the total.
func TestEveryPlantIsCaught(t *testing.T) {
	wanted := os.Getenv(plantedEnv)
	if wanted == "" {
		t.Skip("takes a quarter of an hour: make planted, or " + plantedEnv + "=REGEXP")
	}
	match, err := regexp.Compile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	all, err := plants()
	if err != nil {
		t.Fatal(err)
	}
	c := &campaign{t: t, clean: map[string]error{}}
	planted, caught := 0, 0
	for _, p := range all {
		if !match.MatchString(p.Name) {
			continue
		}
		planted++
		line, ok := c.catch(p)
		if ok {
			caught++
		} else {
			t.Fail()
		}
		fmt.Println(line)
	}
	fmt.Printf("planted=%d caught=%d\n", planted, caught)
	if planted == 0 {
		t.Errorf("%s=%s matches no fault", plantedEnv, wanted)
	}
}

// campaign tries faults one after the other.
type campaign struct {
	t     *testing.T
	clean map[string]error // results of the tests without a fault, by room and pattern
}

// catch plants one fault and returns its result on one line.
func (c *campaign) catch(p plant) (line string, ok bool) {
	ctx := c.t.Context()
	if err := c.control(ctx, p); err != nil {
		return fmt.Sprintf("NOT TRIED %s: %v", p.Name, err), false
	}
	dir := c.t.TempDir()
	defer os.RemoveAll(dir) // a test program each: not all are kept to the end
	overlay, err := p.overlay(dir)
	if err != nil {
		return fmt.Sprintf("NOT TRIED %s: %v", p.Name, err), false
	}
	o := p.try(ctx, overlay, dir)
	if o.verdict != failed {
		if o.verdict != passed {
			c.t.Logf("%s:\n%s", p.Name, o.text)
		}
		return fmt.Sprintf("SURVIVED  %s (%s): %s %s", p.Name, p.Breaks, p.Run, o.verdict), false
	}
	return fmt.Sprintf("caught    %s (%s) by %s: %s %s: %s", p.Name, p.Breaks, p.By, p.Room, o.test, o.word), true
}

// control checks, once for each pattern, that the tests pass without a fault.
func (c *campaign) control(ctx context.Context, p plant) error {
	key := fmt.Sprint(p.Room, " ", p.Run, " ", p.Race)
	if err, known := c.clean[key]; known {
		return err
	}
	dir := c.t.TempDir()
	defer os.RemoveAll(dir)
	var err error
	if o := p.try(ctx, "", dir); o.verdict != passed {
		err = fmt.Errorf("without it, %s: %s", key, o.verdict)
		c.t.Logf("%v\n%s", err, o.text)
	}
	c.clean[key] = err
	return err
}

// TestJudge: what counts as caught and what does not.
func TestJudge(t *testing.T) {
	exit := func(how string) error { return exec.Command("/bin/sh", "-c", how).Run() }
	const fail = "=== RUN   TestA\n    a_test.go:7: I5 job 1:\n        too early\n--- FAIL: TestA (0.01s)\nFAIL\n"
	for _, c := range []struct {
		text string
		err  error
		late bool
		want verdict
		word string
	}{
		{text: "--- PASS: TestA (0.00s)\nPASS\n", want: passed},
		{text: "testing: warning: no tests to run\nPASS\n", want: idle},
		{text: "--- SKIP: TestA (0.00s)\nPASS\n", want: idle},
		{text: fail, err: exit("exit 1"), want: failed, word: "I5 job 1: too early"},
		{text: "==================\nWARNING: DATA RACE\n" + fail, err: exit("exit 1"), want: failed, word: "data race"},
		{text: fail + "panic: no luck [recovered]\n", err: exit("exit 2"), want: panicked},
		{text: "panic: no luck\n", err: exit("exit 2"), want: panicked},
		{text: "fatal error: all goroutines are asleep\n", err: exit("exit 2"), want: panicked},
		{text: fail, err: exit("exit 3"), want: broken},
		{text: "", err: exit("exit 1"), want: broken},
		{text: "", err: exit("kill -9 $$"), want: slain},
		{text: fail + "panic: no luck\n", err: exit("kill -9 $$"), want: panicked},
		{text: fail, err: exit("kill -9 $$"), want: slain},
		{text: "", err: exit("kill -TERM $$"), want: slain},
		{text: "", err: exit("kill -ABRT $$"), want: panicked},
		{text: "--- PASS: TestA (0.00s)\nPASS\n", err: exec.ErrWaitDelay, want: broken},
		{text: "", err: errors.New("no such program"), want: unrun},
		{text: fail, err: exit("exit 1"), late: true, want: hung},
	} {
		if o := judge(c.text, c.err, c.late); o.verdict != c.want || o.word != c.word {
			t.Errorf("%q, %v: %s %q, want %s %q", c.text, c.err, o.verdict, o.word, c.want, c.word)
		}
	}
}

// TestParseRefuses: tables with errors are refused.
func TestParseRefuses(t *testing.T) {
	const whole = "plant a\nbreaks I1: all\ntests elastic ^TestA$\nby a test\nin a.go\n<<<<\nx\n====\ny\n>>>>\n"
	if got, err := parse("room", whole); err != nil || len(got) != 1 || got[0].Name != "room/a" || got[0].Edits[0] != (edit{"a.go", nil, "x", "y"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, text := range []string{
		"breaks I1: all\n",
		"plant a\n",
		"plant a b\n" + whole,
		whole + "plant b\nbreaks I11: all\n",
		whole + "plant b\nnonsense c\n",
		whole + "<<<<\nx\n",
		strings.Replace(whole, "in a.go", "in a method f", 1),
		strings.Replace(whole, "by a test", "tests elastic ^TestB$\nby a test", 1),
		"plant a\n<<<<\nx\n====\ny\n>>>>\n",
		whole + "plant b\nbreaks I1: all\ntests elastic ^TestA$\nby a test\n",
	} {
		if got, err := parse("room", text); err == nil {
			t.Errorf("%q: taken as %+v", text, got)
		}
	}
}
