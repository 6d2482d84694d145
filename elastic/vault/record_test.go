package vault

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"
)

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// written returns a record of these entries.
func written(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var all []byte
	prev := ""
	for i, e := range entries {
		e.N, e.Prev = int64(i)+1, prev
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		all, prev = append(all, line...), Sum(line)
	}
	return all
}

func anyEntry(Entry, []byte) error { return nil }

var story = []Entry{
	{Time: day0, Event: Added, By: "hanna", Set: "mammo", Path: "/vault/mammo", Readers: []string{"ada"}, Release: "100B/job,1KB/week"},
	{Time: day0, Event: Submitted, By: "ada", Job: "aa", Sets: []string{"mammo"}, Script: "train.sh", Cost: 10},
	{Time: day0, Event: Started, Job: "aa", JobID: 7},
	{Time: day0, Event: Logged, Job: "aa", Size: 12, Raw: 20, Cost: 20},
}

func TestVerify(t *testing.T) {
	text := written(t, story...)
	v, err := Verify(bytes.NewReader(text), anyEntry)
	if err != nil || v.Lines != len(story) || v.Bytes != int64(len(text)) || v.Torn != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	torn, err := Verify(bytes.NewReader(append(text[:len(text):len(text)], `{"n":5,"ti`...)), anyEntry)
	if err != nil || torn.Torn != 10 || torn.Lines != len(story) || torn.Last != v.Last {
		t.Fatalf("a torn line: %+v, %v", torn, err)
	}
}

// Whoever changes one byte of the record, removes a line or puts two in another order breaks the chain, at that line
// or the next. The last line is held by its own numbers only, so what is changed there must not read.
func TestVerifySeesEveryChange(t *testing.T) {
	text := written(t, story...)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for i := range text[:last] {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		_, err := Verify(bytes.NewReader(changed), anyEntry)
		var broken *BrokenError
		if !errors.As(err, &broken) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if line := bytes.Count(text[:i], []byte("\n")) + 1; broken.Line != line && broken.Line != line+1 {
			t.Errorf("byte %d in line %d changed: %v", i, line, err)
		}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i := range len(story) - 1 {
		without := bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)
		if _, err := Verify(bytes.NewReader(without), anyEntry); err == nil {
			t.Errorf("line %d removed: no error", i+1)
		}
	}
}

func TestVerifyBounds(t *testing.T) {
	long := append(bytes.Repeat([]byte("x"), MaxLine+1), '\n')
	_, err := Verify(bytes.NewReader(long), anyEntry)
	var broken *BrokenError
	if !errors.As(err, &broken) || broken.Line != 1 {
		t.Errorf("a long line: %v", err)
	}
	if _, err := (Entry{File: string(long)}).Line(); err == nil {
		t.Error("an entry longer than a line is written")
	}
}

// FuzzVerify: whatever lies on the disk, it is read without a panic; what holds holds again.
func FuzzVerify(f *testing.F) {
	f.Add(written(f, story...))
	f.Add([]byte(`{"n":1,"time":"2026-03-01T12:00:00Z","prev":"","event":"added","set":"x","cost":-1}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := NewState()
		v, err := Verify(bytes.NewReader(text), func(e Entry, _ []byte) error { return s.Apply(e) })
		if v.Bytes+v.Torn > int64(len(text)) {
			t.Errorf("%d bytes and %d torn of %d", v.Bytes, v.Torn, len(text))
		}
		again, err2 := Verify(bytes.NewReader(text[:v.Bytes]), anyEntry)
		if err2 != nil || again.Last != v.Last || again.Lines != v.Lines {
			t.Errorf("%+v, %v; then %+v, %v", v, err, again, err2)
		}
		for _, j := range s.Jobs() {
			s.Room(j.ID, j.User, j.Sets, day0)
			_ = fmt.Sprint(s.Uses(j.Sets[0], day0))
		}
	})
}
