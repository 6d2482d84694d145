package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// TestLaterJobsShareTheModel: jobs that are submitted later for a sweep learn with its first ones, and run
// trials as these do.
func TestLaterJobsShareTheModel(t *testing.T) {
	folder, token := t.TempDir(), strings.Repeat("a", 32)
	script := "#!/bin/bash\n#SLUICE --sweep=random --metric=acc:max --param x=int:1:9 --trial=job --max-gpus=4\ntrain {x}\n"
	data, err := json.Marshal(kept{Version: 1, Args: []string{"sweep.sh"}, Name: "sweep.sh", Body: []byte(script)})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, keptFile), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &sweepView{View: own.New(sweep.Sweep{Token: token, Number: 7}, folder)}
	s, err := (&sweepCall{cmd: newCommand(nil)}).restore(v)
	if err != nil {
		t.Fatal(err)
	}
	if s.request.Spec.Model != sweep.Model(token) || !strings.Contains(string(s.laneScript()), " --elastic --grace=") {
		t.Errorf("%+v\n%s", s.request.Spec, s.laneScript())
	}
}

// TestExtendParallel: jobs that are trials have the bound with which they were submitted, and a larger one is refused
// rather than said to be set.
func TestExtendParallel(t *testing.T) {
	folder, token := t.TempDir(), strings.Repeat("a", 32)
	script := "#!/bin/bash\n#SLUICE --sweep=random --metric=acc:max --param x=int:1:9 --trial=job --parallel=8\ntrain {x}\n"
	data, err := json.Marshal(kept{Version: 1, Args: []string{"sweep.sh"}, Name: "sweep.sh", Body: []byte(script)})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, keptFile), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		own  bool
		n    int
		good bool
	}{{true, 16, false}, {true, 8, true}, {true, 2, true}, {false, 16, true}} {
		cmd := &cobra.Command{}
		call := &sweepCall{cmd: cmd}
		call.flags(cmd, "extend")
		if err := cmd.Flags().Set("parallel", fmt.Sprint(c.n)); err != nil {
			t.Fatal(err)
		}
		v := &sweepView{View: own.New(sweep.Sweep{Token: token, Number: 7, Parallel: 4, OwnJobs: c.own}, folder)} // 8 before
		s := v.Sweep
		err := call.more(v, &s)
		if c.good && (err != nil || s.Parallel != c.n) || !c.good && (err == nil || !strings.Contains(err.Error(), "--parallel 16: the jobs of sweep 7 were submitted with a bound of 8 at once")) {
			t.Errorf("%+v: %d, %v", c, s.Parallel, err)
		}
	}
}

// TestExtendStaysOver: what an extension changes nothing of is said to stay over.
func TestExtendStaysOver(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		over      book.End
		param     string
		stays     bool
	}{
		{"ask", book.Exhausted, "x=int:1:9", true}, {"pbt", book.AllEnded, "", true}, {"grid", book.Exhausted, "", true},
		{"random", book.AllTried, "", false},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, checkpoint.Script), []byte("t {x}\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		call := &sweepCall{cmd: cmd}
		call.flags(cmd, "extend")
		call.trials = "+50"
		if c.param != "" {
			call.params = []string{c.param}
		}
		v := &sweepView{View: own.New(sweep.Sweep{
			Version: 1, Token: strings.Repeat("a", 32), Algorithm: c.algorithm, Metric: sweep.Metric{Name: "acc", Max: true}, Trials: 8, Parallel: 4, MaxFailures: 4, KeepGB: 1, Params: []string{"x=int:1:4"},
		}, folder)}
		switch c.algorithm {
		case "ask":
			v.Searcher = []string{"python3", "s.py"}
		case "pbt":
			v.Members = 4
		}
		v.Book.Apply(book.Entry{Over: c.over})
		if err := call.extend(v); err != nil {
			t.Fatal(c, err)
		}
		if stays := strings.Contains(errs.String(), "stays over all the same: "); stays != c.stays || !strings.Contains(out.String(), "extended") {
			t.Errorf("%+v: %s%s", c, out.String(), errs.String())
		}
	}
}
