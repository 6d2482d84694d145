package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/gate"
)

// TestWithheld: a message of a confined job has the runner's own words, numbers and the
// kernel's reasons, and nothing that the program may have chosen.
func TestWithheld(t *testing.T) {
	const secret = "patient 7"
	malformed := &checkpoint.FormatError{File: secret, Err: checkpoint.ErrMalformed, Words: secret}
	text := fmt.Sprintf("%v %v %v %v %v %v %v %v", withheld([]any{
		own("own words"), 7, time.Second, secret, fmt.Errorf("%s: %w", secret, syscall.ENOSPC), errors.New(secret), malformed, []string{secret}})...)
	if want := "own words 7 1s (withheld) no space left on device (withheld) malformed (withheld)"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// TestOutwardSaysNothingOfTheProgram: every field of the runner's note that a program may set
// is replaced.
func TestOutwardSaysNothingOfTheProgram(t *testing.T) {
	vault := t.TempDir()
	fenced := confine.Fence{Inner: filepath.Join(vault, "inner")}
	r := &run{Config: Config{Fence: &fenced, Stderr: os.Stderr}, fence: &fence{builder: builder{Fence: fenced}, ledger: gate.New()}, complaints: map[string]string{}}
	r.starts, r.failures = 2, 314
	at := time.Unix(1_800_000_000, 0)
	exact := at.Add(314 * time.Microsecond)
	w := checkpoint.Runner{
		Version: 1, Job: 7, State: checkpoint.Waiting, Resumed: "31415926", Skipped: []string{"secret"}, Note: "secret", Rhythm: 3.14, Every: 3.14, Cost: 3.14,
		Answer:    &checkpoint.Answer{Request: "r", Checkpoint: "31415927", Step: 314159, Epoch: 3.14159, Committed: at.Add(314), Verified: at, Error: "secret"},
		Exit:      &checkpoint.Exit{Code: 77, Signal: "USR1", At: exact},
		FirstLine: exact, RetryAt: exact, Beat: exact,
		LastWords: &checkpoint.LastWords{Why: "the program failed"},
		Devices:   []checkpoint.Devices{{Node: "n", At: at}},
	}
	out, err := r.outward(w)
	if err != nil {
		t.Fatal(err)
	}
	plain := out
	plain.Answer, plain.Exit, plain.LastWords = nil, nil, nil // the digits of a pointer may be anything
	text := fmt.Sprintf("%+v %+v %+v %+v", plain, *out.Answer, *out.Exit, *out.LastWords)
	for _, word := range []string{"314", "3.14", "secret", "77", "USR1"} {
		if strings.Contains(text, word) {
			t.Errorf("%q leaves: %s", word, text)
		}
	}
	if out.Resumed != "00000001" || out.Answer.Checkpoint != "00000002" || out.Exit.Code != 1 {
		t.Errorf("%s", text)
	}
	if again, _ := r.outward(w); again.Answer.Checkpoint != "00000002" {
		t.Errorf("the same checkpoint has another name: %+v", again.Answer)
	}
}

// TestStartsApart: whatever a start of a confined job's script follows, it comes Backoff after the one before.
func TestStartsApart(t *testing.T) {
	const backoff = 30 * time.Second
	began := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name               string
		confined           bool
		starts             int
		since, pause, want time.Duration
	}{
		{"the first", true, 0, 0, 0, 0},
		{"at once", true, 1, 0, 0, backoff},
		{"after 10 s", true, 1, 10 * time.Second, 0, 20 * time.Second},
		{"after an hour", true, 3, time.Hour, 0, 0},
		{"a longer pause", true, 2, 10 * time.Second, 2 * time.Minute, 2 * time.Minute},
		{"the clock went back", true, 1, -time.Hour, 0, backoff},
		{"not confined", false, 1, 0, 0, 0},
	} {
		r := &run{Config: Config{Backoff: backoff, Now: func() time.Time { return began.Add(c.since) }}, first: began, starts: c.starts}
		if c.confined {
			r.fence = &fence{}
		}
		if got := r.apart(c.pause); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestHowManyNodes: a job has one node unless the site lets relays carry its packets, and never more than there are addresses.
func TestHowManyNodes(t *testing.T) {
	for _, c := range []struct {
		network string
		nodes   int
	}{{"", 2}, {"", confine.MaxNodes}, {confine.Relayed, confine.MaxNodes + 1}} {
		b := &builder{Fence: confine.Fence{Network: c.network}}
		if err := b.mayHave(c.nodes); !errors.Is(err, errConfined) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestOrders: what reaches the other nodes over srun's standard input, which can be changed on its way, says nothing of
// what a fence shows there.
func TestOrders(t *testing.T) {
	var names []string
	for f := range reflect.TypeFor[orders]().Fields() {
		names = append(names, f.Name)
	}
	if want := []string{"Key", "First", "Nodes", "Tasks"}; !slices.Equal(names, want) {
		t.Errorf("orders have %q, want %q", names, want)
	}
}
