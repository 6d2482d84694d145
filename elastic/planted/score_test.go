package planted

import (
	"errors"
	"os/exec"
	"testing"
)

// TestScore: a mutant whose tests were ended from outside is neither caught nor tried.
func TestScore(t *testing.T) {
	for _, c := range []struct {
		of   verdict
		want score
	}{
		{passed, score{tried: 1, survived: 1}},
		{idle, score{tried: 1, survived: 1}},
		{failed, score{tried: 1, caught: 1}},
		{panicked, score{tried: 1, caught: 1}},
		{broken, score{tried: 1, caught: 1}},
		{hung, score{tried: 1, caught: 1, hung: 1}},
		{unbuilt, score{unbuilt: 1}},
		{slain, score{unjudged: 1}},
		{unrun, score{unjudged: 1}},
	} {
		var s score
		if s.count(mutant{Name: "example"}, outcome{verdict: c.of}); s != c.want {
			t.Errorf("%s: %s, want %s", c.of, s, c.want)
		}
	}
}

// TestJudgePython: what counts as caught for the Python library's tests.
func TestJudgePython(t *testing.T) {
	exit := func(how string) error { return exec.Command("/bin/sh", "-c", how).Run() }
	const fail = "FAIL: test_a (tests.test_a.A.test_a)\nRan 1 test in 0.1s\n"
	for _, c := range []struct {
		text string
		err  error
		late bool
		want verdict
	}{
		{text: "Ran 3 tests in 0.1s\nOK\n", want: passed},
		{text: "Ran 0 tests in 0.0s\nOK\n", want: idle},
		{text: fail, err: exit("exit 1"), want: failed},
		{text: "", err: exit("exit 1"), want: broken},
		{text: fail, err: exit("kill -9 $$"), want: slain},
		{text: "", err: exit("kill -SEGV $$"), want: panicked},
		{text: "", err: errors.New("no such program"), want: unrun},
		{text: fail, err: exit("kill -9 $$"), late: true, want: hung},
	} {
		if o := judgePython(c.text, c.err, c.late); o.verdict != c.want {
			t.Errorf("%q, %v: %s, want %s", c.text, c.err, o.verdict, c.want)
		}
	}
}
