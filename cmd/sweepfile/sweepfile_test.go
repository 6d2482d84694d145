package sweepfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/sbatch"
)

// merged reads a sweep's file as sluice submit does.
func merged(t *testing.T, name, text string) (sbatch.Request, error) {
	t.Helper()
	script, _, err := Parse(name, []byte(text), nil)
	if err != nil {
		return sbatch.Request{}, err
	}
	line, err := sbatch.ParseCommandLine([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return sbatch.Merge(line, nil, script)
}

// TestSweepTOML: a sweep's file has the options' names as keys, and its script's header counts too.
func TestSweepTOML(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.sh"), []byte("#!/bin/bash\n#SBATCH --time=10\n#SLUICE --epochs=52\npython3 t.py {lr} {depth}\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "sweep.toml")
	r, err := merged(t, name, "script = \"train.sh\"\nsweep = \"asha\"\nmetric = \"acc:max\"\ntrials = 20\ngoal = 0.93\nsbatch = [\"--partition=gpu\"]\nwhere = [\"depth<7\"]\n[param]\nlr = \"log:1e-5:1e-1\"\ndepth = \"int:2:8\"\n")
	if err != nil {
		t.Fatal(err)
	}
	s := r.Sweep
	if s.Algorithm != "asha" || s.Trials != 20 || *s.Goal != .93 || s.Epochs != 52 || strings.Join(s.Params, " ") != "lr=log:1e-5:1e-1 depth=int:2:8" || s.Wheres[0] != "depth<7" {
		t.Errorf("%+v", s)
	}
	if batch := string(r.Batch(sbatch.Job{Sluice: "/s", Script: "/j"})); !strings.Contains(batch, "#SBATCH --time=10\n") || !strings.Contains(batch, "#SBATCH --partition=gpu\n") {
		t.Errorf("%s", batch)
	}
	const head = "script = \"train.sh\"\nsweep = \"asha\"\nmetric = \"acc:max\"\n"
	const params = "[param]\nlr = \"log:1e-5:1e-1\"\ndepth = \"int:2:8\"\n"
	r, err = merged(t, name, head+"rungs = [3, 9, 27]\nwhere = [\"depth<7\", \"lr<1\"]\n"+params)
	if err != nil || fmt.Sprint(r.Sweep.Rungs) != "[3 9 27]" || len(r.Sweep.Wheres) != 2 {
		t.Errorf("lists: %+v, %v", r.Sweep, err)
	}
	for text, want := range map[string]string{
		head + "trials = [10, 20]\n" + params:                  "sweep.toml:4:10: trials: want one value, not a list",
		head + "searcher = [\"python3\", \"s.py\"]\n" + params: "sweep.toml:4:12: searcher: want one value, not a list",
		head + "[param]\nx = [\"a\", \"b\"]\n":                 "sweep.toml:5:5: param.x: want one value, not a list",
		"script = \"train.sh\"\nsweep = \"asha\"\nmetric = \"acc:max\"\n[param]\nlr = \"log:0:1\"\ndepth=\"int:1:2\"\n": "sweep.toml:5:11: --param=lr=log:0:1",
		"script = \"train.sh\"\nsweeep = \"asha\"\n": "sweep.toml:2:11: sweeep: this is not one of sluice's options; did you mean sweep?",
		"script = ":                              "sweep.toml:1:",
		"sweep = \"asha\"\n":                     "want either script",
		"script = \"train.sh\"\n[parm]\nx = 1\n": "sweep.toml:2:2: parm: there is no such table; want [param]",
		"script = \"none.sh\"\n":                 "none.sh\": no such file",
	} {
		if _, err := merged(t, name, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestSweepYAML: a sweep of Weights & Biases is imported, and what cannot be is refused with its place.
func TestSweepYAML(t *testing.T) {
	const head = "program: train.py\nmethod: bayes\nmetric:\n  name: val_loss\n  goal: minimize\nrun_cap: 30\n"
	r, err := merged(t, "w.yaml", head+"early_terminate:\n  type: hyperband\n  max_iter: 52\n  s: 3\nparameters:\n  lr:\n    distribution: log_uniform_values\n    min: 1e-5\n    max: 0.1\n  depth:\n    min: 2\n    max: 8\n  opt:\n    values: [sgd, adamw]\n  batch:\n    value: 32\n")
	if err != nil {
		t.Fatal(err)
	}
	s := r.Sweep
	if s.Algorithm != "asha+tpe" || s.Epochs != 52 || fmt.Sprint(s.Rungs) != "[1 5 17]" || s.Reduction != 3 || s.Metric.String() != "val_loss:min" || s.Trials != 30 || strings.Join(s.Params, " ") != "lr=log:1e-5:0.1 depth=int:2:8 opt=choice:sgd,adamw batch=fixed:32" {
		t.Errorf("%+v", s)
	}
	if body := string(r.Script()); body != "#!/bin/bash\npython3 train.py --lr={lr} --depth={depth} --opt={opt} --batch={batch}\n" {
		t.Errorf("%s", body)
	}
	first, err := merged(t, "w.yaml", "early_terminate:\n  type: hyperband\n  min_iter: 3\n  eta: 4\n"+strings.Replace(head, "bayes", "grid", 1)+"parameters:\n  x: {values: [1, 2]}\n")
	if err != nil {
		t.Fatal(err)
	}
	if s := first.Sweep; s.Algorithm != "asha+grid" || s.Epochs != 0 || !strings.HasPrefix(fmt.Sprint(s.Rungs), "[3 12 48 192 ") || s.Reduction != 4 {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		head + "parameters:\n  lr:\n    distribution: normal\n    min: 0\n    max: 1\n": "w.yaml:9:5: parameter lr: distribution normal is not imported",
		head + "parameters:\n  a:\n    parameters:\n      b: {value: 1}\n":              "nested parameters are not imported",
		"early_terminate: {type: hyperband, max_iter: 27}\n" + head:                     "w.yaml:1:46: early_terminate: max_iter needs s",
		"early_terminate: {type: median}\n" + head:                                      "w.yaml:1:25: early_terminate: type \"median\": want hyperband",
		"early_terminate: {type: hyperband, min_iter: 3, max_iter: 9, s: 2}\n" + head:   "w.yaml:1:59: early_terminate: want either min_iter, or max_iter and s",
		"early_terminate: {type: hyperband}\n" + head:                                   "w.yaml:1:18: early_terminate: want min_iter, or max_iter and s",
		"early_terminate: {type: hyperband, min_iter: 3, s: 2}\n" + head:                "w.yaml:1:52: early_terminate: s counts brackets below max_iter",
		"early_terminate: {type: hyperband, min_iter: 3, eta: 1}\n" + head:              "w.yaml:1:54: early_terminate: eta \"1\": want a whole number from 2 to 100",
		"early_terminate: {type: hyperband, min_iter: 3, eta: 2.5}\n" + head:            "w.yaml:1:54: early_terminate: eta \"2.5\"",
		"early_terminate: {type: hyperband, min_iter: 0}\n" + head:                      "w.yaml:1:46: early_terminate: min_iter \"0\"",
		"early_terminate: {type: hyperband, min_iter: 3, strict: true}\n" + head:        "w.yaml:1:57: early_terminate: strict is not imported",
		"early_terminate: {type: hyperband, min_iter: 3, patience: 2}\n" + head:         "w.yaml:1:49: early_terminate: patience",
		"early_terminate: {type: hyperband, max_iter: 2, s: 1}\n" + head:                "w.yaml:1:46: early_terminate: max_iter 2 is below eta 3",
		"early_terminate: hyperband\n" + head:                                           "w.yaml:1:18: early_terminate: want type: hyperband",
		"program: [":                                                                    "w.yaml: yaml:",
		"[1, 2]":                                                                        "want a sweep of Weights & Biases",
		"method: luck":                                                                  "w.yaml:1:9: method \"luck\"",
		"hurry: yes":                                                                    "w.yaml:1:1: hurry: sluice does not know this key",
	} {
		if _, err := merged(t, "w.yaml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzSweepFile: whatever the file holds, it is a sweep or an error.
func FuzzSweepFile(f *testing.F) {
	f.Add("x.toml", "script = \"a\"\n[param]\nlr = \"log:1:2\"\n")
	f.Add("x.yaml", "program: a\nparameters:\n  x: {values: [1]}\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		if strings.HasSuffix(name, ".toml") {
			readTOML(name, text)
		} else {
			readYAML(name, []byte(text))
		}
	})
}
