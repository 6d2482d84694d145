package feed_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/feed"
)

func add(f *feed.Feed, n int) {
	for range n {
		f.Add("step", feed.Everyone, 0, func(id string) []byte { return []byte(id) })
	}
}

// A reader that comes back with its last id gets what came after it, in order and once; what is missing
// is said.
func TestResume(t *testing.T) {
	f := feed.New("b")
	add(f, 3)
	for id, want := range map[string]struct {
		position uint64
		missing  feed.Missing
	}{
		"":     {3, feed.Nothing},
		"b-3":  {3, feed.Nothing},
		"b-1":  {1, feed.Nothing},
		"b-0":  {0, feed.Nothing},
		"b-4":  {3, feed.Unknown},
		"a-99": {0, feed.Restart},
	} {
		if at, missing, err := f.From(id); at != want.position || missing != want.missing || err != nil {
			t.Errorf("from %q: %d, %q, %v; want %+v", id, at, missing, err, want)
		}
	}
	add(f, feed.MostEvents)
	if at, missing, err := f.From("b-2"); at != 3 || missing != feed.Old || err != nil {
		t.Errorf("what is no longer kept: %d, %q, %v", at, missing, err)
	}
	for _, id := range []string{"b", "-1", "b--1", "b-1x", "b-" + strings.Repeat("1", 30), strings.Repeat("b", 100) + "-1", "b-1\n"} {
		if _, _, err := f.From(id); !errors.Is(err, feed.ErrID) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// FuzzFrom: any id gives a position that can be read from, or an error.
func FuzzFrom(f *testing.F) {
	for _, id := range []string{"", "b-3", "b-18446744073709551615", "a-0", "-"} {
		f.Add(id)
	}
	ring := feed.New("b")
	add(ring, 10)
	f.Fuzz(func(t *testing.T, id string) {
		at, _, err := ring.From(id)
		if err != nil {
			return
		}
		if events, next, missed, _ := ring.Read(at, 100); missed || next != 10 || uint64(len(events)) != 10-at {
			t.Errorf("%q: from %d: %d events, next %d, missed %v", id, at, len(events), next, missed)
		}
	})
}

// TestRead: whatever is added and read in turns, a reader gets every number once and in order, or is
// told that some are missing; what is kept is bounded.
func TestRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := feed.New("e")
		var at, last uint64
		added := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			n := rapid.SampledFrom([]int{0, 1, 7, 500, feed.MostEvents + 5}).Draw(t, "added")
			add(f, n)
			added += n
			events, next, missed, _ := f.Read(at, rapid.SampledFrom([]int{1, 50, 10_000}).Draw(t, "most"))
			for i, e := range events {
				if string(e.Data) != f.ID(e.Number) {
					t.Fatalf("event %d has the data %q", e.Number, e.Data)
				}
				if e.Number != last+1 && !(missed && i == 0) {
					t.Fatalf("%d after %d", e.Number, last)
				}
				last = e.Number
			}
			if next > uint64(added) || len(events) > 0 && next != last {
				t.Fatalf("next %d of %d", next, added)
			}
			if missed && added-int(at) <= feed.MostEvents {
				t.Fatalf("%d of %d are said to be missing", at, added)
			}
			at = next
		}
	})
}

// The memory is bounded by bytes too, and one event that alone is larger is not kept.
func TestBytes(t *testing.T) {
	f := feed.New("e")
	for range 40 {
		f.Add("x", feed.Everyone, 0, func(string) []byte { return make([]byte, 1<<20) })
	}
	f.Add("y", feed.Everyone, 0, func(string) []byte { return make([]byte, feed.MostBytes+1) })
	if events, _, missed, _ := f.Read(0, 1000); len(events) != 8 || !missed || events[7].Number != 40 {
		t.Errorf("%d events, missed %v", len(events), missed)
	}
	if e, ok := f.Last("x"); !ok || e.Number != 40 {
		t.Errorf("the last x: %d, %v", e.Number, ok)
	}
	if _, ok := f.Last("y"); ok {
		t.Error("an event of more than 8 MiB is kept")
	}
}

// Readers in other goroutines wait for what is added, and see all of it.
func TestReadersWait(t *testing.T) {
	f := feed.New("e")
	const many = 2000
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var at uint64
			for at < many {
				events, next, missed, grew := f.Read(at, 64)
				if missed {
					t.Error("events are missing")
					return
				}
				if len(events) == 0 {
					<-grew
				}
				at = next
			}
		})
	}
	for i := range many {
		f.Add("x", feed.OfUser, 7, func(string) []byte { return fmt.Append(nil, i) })
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
	all.Wait()
}
