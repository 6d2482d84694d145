package sweep

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

const token = "0123456789abcdef0123456789abcdef"

func valid() Sweep {
	return Sweep{Version: 1, Token: token, Name: "s", Algorithm: "asha", Metric: Metric{"acc", true}, Trials: 5, Parallel: 2, MaxFailures: 3, KeepGB: 1, Params: []string{"x=int:1:2"}}
}

// TestSealed: what a lane is told is read with its ask only: not with another one, nor if it was changed.
func TestSealed(t *testing.T) {
	a, b := NewAsk(token, 7, 0, noon), NewAsk(token, 7, 0, noon)
	if a.ID == b.ID || a.Key == b.Key {
		t.Fatal("two asks are the same")
	}
	want := Tell{Trial: 3, Start: 2, Point: "lr=0.1,opt=sgd", Stop: true, Lost: Lost{4, 5, 6}, Drop: []int{1, 2}}
	data, err := a.Seal(want)
	if err != nil || strings.Contains(string(data), "sgd") {
		t.Fatalf("%s, %v", data, err)
	}
	got, ok, err := a.Open(data)
	if err != nil || !ok || got.Point != want.Point || got.Lost != want.Lost || len(got.Drop) != 2 {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if _, ok, err := b.Open(data); ok || err != nil {
		t.Errorf("another ask: %v, %v", ok, err)
	}
	forged := b
	forged.ID = a.ID
	if _, ok, err := forged.Open(data); ok || err == nil {
		t.Error("another key opens it")
	}
	changed := []byte(strings.Replace(string(data), a.ID, b.ID, 1))
	if _, ok, err := b.Open(changed); ok || err == nil {
		t.Error("moved to another ask it opens")
	}
}

// TestAskAsWritten: an ask is read as it was written, and one that no lane wrote is refused.
func TestAskAsWritten(t *testing.T) {
	a := NewAsk(token, 7, 2, noon)
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseAsk(data); err != nil || got != a {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{``, `{}`, `{"version":2}`, strings.Replace(string(data), token, "x", 1), strings.Replace(string(data), a.Key, "00", 1), string(data) + "x"} {
		if _, err := ParseAsk([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// TestValidate: each value out of range is named by its option.
func TestValidate(t *testing.T) {
	nan := math.NaN()
	for want, change := range map[string]func(*Sweep){
		"--trials": func(s *Sweep) { s.Trials = MaxTrials + 1 }, "--parallel": func(s *Sweep) { s.Parallel = 0 }, "--goal": func(s *Sweep) { s.Goal = &nan },
		"--epochs": func(s *Sweep) { s.Epochs = -1 }, "--max-failures": func(s *Sweep) { s.MaxFailures = 0 }, "--keep-gb": func(s *Sweep) { s.KeepGB = nan },
		"--sweep-time": func(s *Sweep) { s.Within = -1 }, "token": func(s *Sweep) { s.Token = "../x" }, "--metric": func(s *Sweep) { s.Metric.Name = "a b" },
		"--metric-regex": func(s *Sweep) { s.Regex = "(" }, "state": func(s *Sweep) { s.State = "gone" }, "newer": func(s *Sweep) { s.Version = 2 },
		"--try": func(s *Sweep) { s.Tries = make([]string, MaxTexts+1) },
	} {
		s := valid()
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestPointJSON: numbers and truth values are such, and all else is text.
func TestPointJSON(t *testing.T) {
	got := string(PointJSON(ParsePoint("lr=1e-05,depth=4,opt=sgd,amp=true,none=null,list=[1]")))
	if want := "{\"lr\": 1e-05, \"depth\": 4, \"opt\": \"sgd\", \"amp\": true, \"none\": \"null\", \"list\": \"[1]\"}\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzEvent: whatever a user writes into a lane's lines is an event in its bounds, or an error.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"event":"began","trial":1,"start":1,"ask":"A","point":"x=1"}`))
	f.Add([]byte(`{"event":"reported","trial":1,"start":1,"epoch":1e308,"value":-1}`))
	f.Add([]byte(`{"event":"ended","trial":1,"start":1,"how":"failed","words":"\u001b[31m\u202e"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseEvent(line)
		if err != nil {
			return
		}
		if e.Kind != Left && (e.Trial < 1 || e.Trial > MaxTrials) || len(e.Words) > maxWords || strings.ContainsAny(e.Words, "\n\x1b\u202e") {
			t.Errorf("%q: %+v", line, e)
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseEvent(again); err != nil {
			t.Errorf("%q: %v", again, err)
		}
	})
}

// FuzzSweep: whatever a user writes into sweep.json is a valid sweep, or an error.
func FuzzSweep(f *testing.F) {
	text, _ := json.Marshal(valid())
	f.Add(text)
	f.Add([]byte(`{"trials":1e99}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Parse(data); err == nil && s.Validate() != nil {
			t.Errorf("%q", data)
		}
	})
}

// FuzzTell: no file in the outbox makes a lane fail, or is taken for an answer.
func FuzzTell(f *testing.F) {
	a := NewAsk(token, 7, 0, noon)
	f.Add([]byte(`{"version":1,"ask":"` + a.ID + `","sealed":"AAAA"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, ok, _ := a.Open(data); ok {
			t.Errorf("%q is an answer", data)
		}
	})
}

// TestLinesAsWritten: a line of a lane is read as it was written, with all that it has.
func TestLinesAsWritten(t *testing.T) {
	for _, want := range []Event{
		{Kind: Began, At: noon, Trial: 9, Start: 1, Ask: "a1", Point: "x=1", Repeat: 2, Origin: Origin{3, 8, 5}},
		{Kind: Copied, At: noon, Trial: 9, Start: 1, Origin: Origin{From: 3}, Epoch: 7.5, Checkpoint: "/c/1"},
		{Kind: EndedAs, At: noon, Trial: 9, Start: 1, How: Yielded, Lost: Lost{8, 4, 4}},
	} {
		line, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseEvent(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
}

// TestTimesCanBeShown: a time that cannot be written as JSON again, in some time zone, is no time of a line.
func TestTimesCanBeShown(t *testing.T) {
	for at, good := range map[string]bool{
		"9999-12-31T23:59:59-23:59": false, "9999-06-01T00:00:00Z": false, "0000-01-01T00:00:00+23:59": false, "2026-11-28T12:00:00+01:00": true, "0001-01-01T00:00:00Z": true,
	} {
		line := `{"event":"reported","trial":1,"start":1,"at":"` + at + `","epoch":1,"value":99}`
		if _, err := ParseEvent([]byte(line)); (err == nil) != good {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestAdviceIsTaken: a search that an error names is one that there is.
func TestAdviceIsTaken(t *testing.T) {
	for _, method := range Searches() {
		for _, change := range []func(*Sweep){func(s *Sweep) { s.Rungs = []int{3, 9} }, func(s *Sweep) { s.Reduction = 3 }} {
			s := valid()
			s.Algorithm, s.Members = method, 8
			change(&s)
			err := s.Check(2)
			if err == nil {
				continue
			}
			for _, name := range regexp.MustCompile(`asha\+\w+`).FindAllString(err.Error(), -1) {
				if _, _, ok := (Sweep{Algorithm: name}).Search(); !ok {
					t.Errorf("--sweep=%s: %v: there is no %s", method, err, name)
				}
			}
		}
	}
}
