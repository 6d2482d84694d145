package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// hostileWords is text that a user may put into any field: colours and titles, further
// lines, 8-bit control characters, right-to-left marks, invalid bytes.
const hostileWords = "x\x1b[31m\x1b]0;pwned\x07\r\nsluice: all is well\x00\x7f\u009b2J\u202e\u2028\xff\ty"

// hostileDaemon has this text in every string that it can send.
type hostileDaemon struct {
	*controltest.Service
	segments []journal.Segment
	plan     engine.Forecast
}

func (d *hostileDaemon) Speeds(context.Context, uint32, string) (engine.Speeds, error) {
	return engine.Speeds{}, nil
}

func (d *hostileDaemon) Segments(context.Context, string) ([]journal.Segment, error) {
	return d.segments, nil
}
func (d *hostileDaemon) Plan(context.Context) (engine.Forecast, error) { return d.plan, nil }
func (d *hostileDaemon) Direct(context.Context, control.Caller, elastic.JobID, wire.Change) error {
	return &slurm.Error{Op: "scontrol " + hostileWords, JobID: 41, Err: slurm.ErrRefused, Words: hostileWords, Hint: hostileWords}
}
func (d *hostileDaemon) Trust(context.Context, control.Caller, string) error {
	return &wire.Error{Code: wire.Conflict, Message: hostileWords, Hint: hostileWords}
}

// poison sets every string that can be reached.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(hostileWords)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Interface: // what it holds cannot be set, only replaced: reasons are such
		if !v.IsNil() && v.CanSet() {
			copied := reflect.New(v.Elem().Type()).Elem()
			copied.Set(v.Elem())
			poison(copied)
			v.Set(copied)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	}
}

// evil returns what of a text a terminal would interpret. It does not use the code under
// test.
func evil(text string) string {
	for i, r := range text {
		if r != '\n' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar) {
			return fmt.Sprintf("%q in %q", r, text[max(0, i-40):min(len(text), i+40)])
		}
	}
	return ""
}

// No verb passes another user's control characters to the terminal, in any format or
// error, nor a newline that would start a line.
func TestHostileWords(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"bin", "jobs", "outbox", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fake := "#!/bin/sh\nprintf 'scancel: error: " + `x\033[31m\nsluice: all is well\302\233\377` + "\\n' >&2\nexit 1\n"
	for _, program := range []string{"scancel", "scontrol", "squeue", "sinfo", "sbatch", "sacctmgr"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", program), []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	conf, socket := filepath.Join(dir, "sluice.toml"), filepath.Join(dir, "sock")
	text := fmt.Sprintf("[paths]\nsocket = %q\njobs = %q\noutbox = %q\n[slurm]\nbin = %q\n", socket, filepath.Join(dir, "jobs"), filepath.Join(dir, "outbox"), filepath.Join(dir, "bin"))
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_CONF", conf)
	t.Setenv("HOME", filepath.Join(dir, "home"))
	d := &hostileDaemon{Service: controltest.New(), segments: controltest.Segments(), plan: controltest.Plan()}
	d.Last.Health = []elastic.Finding{{Node: "gpu2", Excluded: true, Why: "w", Note: "n", By: []elastic.JobID{controltest.Steady}}}
	for i := range d.Last.Jobs {
		d.Last.Jobs[i].LastWords = &checkpoint.LastWords{Why: "w", Lines: []string{"a", "b"}}
		d.Last.Jobs[i].Problems = []string{"p"}
	}
	for _, v := range []any{d.Last, &d.segments, &d.plan} {
		poison(reflect.ValueOf(v))
	}
	serveHostile(t, socket, d)
	seen := 0
	for _, line := range []string{
		"queue", "queue --all", "queue --long", "queue --json", "queue -h", "queue --format=jobid,name,user,partition,state,reason,model,comment,nodes",
		"show 41", "show 42", "show 40", "show 39", "show 41 --json", "explain 41", "explain 42", "explain 39", "explain 41 --json",
		"history 41", "history 41 --json", "report --since 300d", "report --since 300d --by user", "report --since 300d --by model --csv", "report --since 300d --by account --json", "report --since HOSTILE", "shares", "shares --csv", "shares --json", "report --since 1d --by HOSTILE", "plan", "plan --json", "nodes", "nodes --json", "nodes --trust x", "logs 41", "logs 39",
		"hold 41", "release 41", "resize 41 --gpus 2", "resize 41 --gpus auto", "cancel 41", "doctor", "doctor --json", "event --job 41",
		"submit " + filepath.Join(dir, "train.sh"), "explain 7", "explain HOSTILE", "hold HOSTILE", "queue --format=HOSTILE", "queue --states=HOSTILE", "queue --user=HOSTILE",
		"nodes --trust HOSTILE", "resize 41 --gpus HOSTILE", "logs HOSTILE", "HOSTILE", "queue --HOSTILE", "show --config HOSTILE 41", "submit HOSTILE", "event --kind HOSTILE",
		"profile HOSTILE", "simulate --cluster HOSTILE", "simulate --policy HOSTILE", "whatif --sacct HOSTILE", "submit --max-gpus HOSTILE x", "submit --job-name HOSTILE x",
	} {
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "HOSTILE", hostileWords)
		}
		var out, errs bytes.Buffer
		run(args, &out, &errs)
		for where, said := range map[string]string{"output": out.String(), "error": errs.String()} {
			if e := evil(said); e != "" {
				t.Errorf("sluice %s: the %s has %s", line, where, e)
			}
			if strings.Contains("\n"+said, "\nsluice: all is well") {
				t.Errorf("sluice %s: the %s has a line that is not sluice's:\n%s", line, where, said)
			}
			if strings.Contains(said, "pwned") {
				seen++
			}
		}
		if strings.Contains(line, "--json") && !json.Valid(out.Bytes()) {
			t.Errorf("sluice %s: not JSON: %s %s", line, out.String(), errs.String())
		}
	}
	t.Logf("the words stood in %d outputs", seen)
	if seen < 30 {
		t.Errorf("the words stood in %d outputs only: is anything tested?", seen)
	}
}

func serveHostile(t *testing.T, socket string, d control.Service) {
	t.Helper()
	o := control.Options{UID: uint32(os.Getuid()), Now: time.Now, Version: hostileWords}
	server, err := control.Listen(t.Context(), socket, o, d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
