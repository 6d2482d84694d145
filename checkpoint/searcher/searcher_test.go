package searcher

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// TestParse: a line that is no answer is refused with its place in the output.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{"trial": 3, "point": {"x": 1}}`:                       "",
		`{"trial": 3, "none": true}`:                            "",
		`{"trial": 3, "point": {"x": 1}, "why": "a new field"}`: "",
		`hello, world`:                                  "line 7, byte 101 of its output: invalid character 'h'",
		`{"trial": 3, "point": {"x": }}`:                "line 7, byte 129 of its output: invalid character '}'",
		`{"trial": "three", "point": {}}`:               "line 7, byte 117 of its output: json: cannot unmarshal string",
		`{"trial": 3, "point": {"x": 1}} {"trial": 4}`:  "line 7, byte 133 of its output: text after the answer",
		`{"trial": 3}`:                                  "line 7: want {\"trial\": N, \"point\"",
		`{"trial": 3, "point": {"x": 1}, "none": true}`: "line 7: want {\"trial\": N, \"point\"",
		`{"trial": 3, "point": {"x": 1}`:                "line 7, byte ",
		strings.Repeat("[", 20_000):                     "line 7, byte ",
	} {
		_, err := parse(line{number: 7, at: 100, text: []byte(text)})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

// TestTranscripts: a new turn begins with all of the newest one before it, without a line that was cut
// off; what is added to an earlier one later does not count.
func TestTranscripts(t *testing.T) {
	folder := filepath.Join(t.TempDir(), sweep.SearcherFolder)
	point := func(n int) sweep.Spoken { return sweep.Spoken{Point: &sweep.Pointed{Trial: n, Point: "x=1"}} }
	first, err := openTranscript(folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		if err := first.add(point(n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.file.WriteString(`{"point":{"trial":3,`); err != nil {
		t.Fatal(err)
	}
	second, err := openTranscript(folder, 4)
	if err != nil || len(second.lines) != 2 || second.points[3] {
		t.Fatalf("%+v, %v", second, err)
	}
	if err := first.add(point(3)); err != nil { // a lane that does not know that it was replaced
		t.Fatal(err)
	}
	if err := second.add(point(5)); err != nil {
		t.Fatal(err)
	}
	third, err := openTranscript(folder, 5)
	if err != nil || len(third.lines) != 3 || !third.points[5] || third.points[3] {
		t.Errorf("%+v, %v", third, err)
	}
	if err := os.Mkdir(filepath.Join(folder, sweep.Transcript(6)), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openTranscript(folder, 7); err == nil {
		t.Error("a folder was taken for a transcript")
	}
}

// TestTranscriptsAreFew: of many turns, as with --trial=job, the last three transcripts are left, and the last
// one has all lines. Other files stay, and so do transcripts of later turns; a lane that was replaced may go on to
// write into one that was removed.
func TestTranscriptsAreFew(t *testing.T) {
	folder := filepath.Join(t.TempDir(), sweep.SearcherFolder)
	list := func() (names []string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	var first *transcript
	for turn := 1; turn <= 30; turn++ {
		script, err := openTranscript(folder, turn)
		if err == nil {
			err = script.add(sweep.Spoken{Point: &sweep.Pointed{Trial: turn, Point: "x=1"}})
		}
		if err != nil || len(script.lines) != turn {
			t.Fatalf("turn %d: %+v, %v", turn, script, err)
		}
		if turn == 1 {
			first = script
			for _, other := range []string{sweep.OutputFile, "mine.jsonl"} {
				if err := os.WriteFile(filepath.Join(folder, other), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := []string{sweep.Transcript(28), sweep.Transcript(29), sweep.Transcript(30), "mine.jsonl", sweep.OutputFile}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if err := first.add(sweep.Spoken{Point: &sweep.Pointed{Trial: 31, Point: "x=2"}}); err != nil {
		t.Errorf("a lane that was replaced: %v", err)
	}
	if _, err := openTranscript(folder, 27); err != nil { // likewise
		t.Error(err)
	}
	if got := list(); !slices.Equal(got, append([]string{sweep.Transcript(27)}, want...)) {
		t.Errorf("after a turn that is over: %q", got)
	}
}

// TestNewsAfterAnError: what was read of a lane is told once the lanes that could not be read can be, without a
// new line of any.
func TestNewsAfterAnError(t *testing.T) {
	jobs, folder := t.TempDir(), t.TempDir()
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	broken := filepath.Join(jobs, b, sweep.EventFile)
	for _, d := range []string{filepath.Join(jobs, a), broken, filepath.Join(folder, sweep.LaneFolder, a), filepath.Join(folder, sweep.LaneFolder, b)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	line, err := json.Marshal(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: "4CB4PM4VFI4BJFDIYZKRZDF5RR", Point: "x=1"})
	if err == nil {
		err = os.WriteFile(filepath.Join(jobs, a, sweep.EventFile), append(line, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	n, script := news{}, &transcript{points: map[int]bool{}}
	if told, err := n.read(jobs, folder, 1, script); err == nil || len(told) > 0 {
		t.Fatalf("%+v, %v", told, err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if told, err := n.read(jobs, folder, 1, script); err != nil || len(told) == 0 {
		t.Errorf("%+v, %v", told, err)
	}
	if told, err := n.read(jobs, folder, 1, script); err != nil || len(told) > 0 {
		t.Errorf("told again: %+v, %v", told, err)
	}
}

// TestComplainsOnce: an error that lasts is said once, and so is another one.
func TestComplainsOnce(t *testing.T) {
	said := 0
	s := &Searcher{Config: Config{Complain: func(error) { said++ }}}
	for range 3 {
		s.complain(os.ErrPermission)
	}
	if s.complain(os.ErrExist); said != 2 {
		t.Errorf("said %d times", said)
	}
}

// TestToldAgain: a program that is started again is told the points and the reports, and no line that is not of the
// protocol.
func TestToldAgain(t *testing.T) {
	family, err := process.Found()
	if err != nil {
		t.Fatal(err)
	}
	defer family.Close()
	base := t.TempDir()
	heard := filepath.Join(base, "heard")
	sp, err := space.Parse([]string{"x=int:1:9"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	value := .5
	s := &Searcher{
		Config: Config{Sweep: base, Family: family, Env: os.Environ(), Now: time.Now}, folder: base, space: sp,
		sweep: sweep.Sweep{Searcher: []string{"/bin/sh", "-c", "cat >" + heard}},
		script: &transcript{lines: []sweep.Spoken{
			{Point: &sweep.Pointed{Trial: 1, Point: "x=3"}}, {Tell: &sweep.Told{Trial: 1, Epoch: 1, Value: &value, State: "running"}}, {None: true},
		}},
	}
	s.begin()
	if s.talk == nil {
		t.Fatal(s.status.Why)
	}
	s.hang()
	data, err := os.ReadFile(heard)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for line := range strings.Lines(string(data)) {
		var e struct{ Event string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e.Event)
	}
	if got := strings.Join(events, " "); got != "hello point tell" {
		t.Errorf("it was told: %s", got)
	}
}

// TestHangs: a program that does not answer is ended and started again; one that does not end either is
// killed, and the status says why.
func TestHangs(t *testing.T) {
	family, err := process.Found()
	if err != nil {
		t.Fatal(err)
	}
	defer family.Close()
	base := t.TempDir()
	token, lane := strings.Repeat("a", 32), strings.Repeat("b", 32)
	put := func(folder, name string, value any) {
		t.Helper()
		data, err := json.Marshal(value)
		if err == nil {
			err = os.MkdirAll(folder, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(base, "jobs", token)
	put(folder, sweep.File, sweep.Sweep{
		Version: 1, Token: token, Algorithm: "ask", Metric: sweep.Metric{Name: "acc"}, Trials: 3, Parallel: 1, MaxFailures: 1, Params: []string{"x=int:1:9"},
		Searcher: []string{"/bin/sh", "-c", `trap "" TERM; echo began >>` + base + `/log; while :; do sleep 0.05; done`},
	})
	if err := os.Mkdir(filepath.Join(folder, sweep.LaneFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(base, "outbox", token), sweep.File, map[string]any{"asks": sweep.Turn{Lane: lane, Turn: 1, Points: 1}})
	s := Start(Config{
		Sweep: folder, Jobs: filepath.Join(base, "jobs"), Outbox: filepath.Join(base, "outbox"), Lane: lane, Number: 7, Env: os.Environ(), Family: family,
		Now: time.Now, Complain: func(err error) { t.Log(err) }, Poll: 10 * time.Millisecond, Patience: 100 * time.Millisecond, Pause: time.Millisecond,
	})
	defer s.Stop(time.Minute)
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(folder, sweep.SearcherFolder, sweep.SearcherStatus))
		log, _ := os.ReadFile(filepath.Join(base, "log"))
		status, known := sweep.ParseStatus(data)
		if known && status.Failures >= 1 && strings.Count(string(log), "began") >= 2 {
			if !strings.HasPrefix(status.Why, "no answer for trial 1 within") {
				t.Errorf("%+v", status)
			}
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%+v, %s", status, log)
		}
	}
}
