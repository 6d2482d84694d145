package track

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
)

// since formats a value with every time as its distance from now, so that what happened at two times
// can be compared. Maps are sorted by their formatted keys.
func since(now time.Time, v reflect.Value) string {
	switch {
	case !v.IsValid():
		return "nil"
	case v.Type() == reflect.TypeFor[time.Time]():
		if v.FieldByName("wall").Uint() == 0 && v.FieldByName("ext").Int() == 0 {
			return "never"
		}
		return v.Interface().(time.Time).Sub(now).String()
	}
	var parts []string
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return since(now, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				parts = append(parts, v.Type().Field(i).Name+":"+since(now, v.Field(i)))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			parts = append(parts, since(now, v.Index(i)))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			parts = append(parts, since(now, k)+"="+since(now, v.MapIndex(k)))
		}
		slices.Sort(parts)
	default:
		return fmt.Sprintf("%#v", v)
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// TestASnapshotDependsOnNoDate: if everything happened at another time, by whole seconds, the snapshot is
// the same but for its times.
func TestASnapshotDependsOnNoDate(t *testing.T) {
	snapshot := func(at time.Time) string {
		e, v, now := crowdedAt(at)
		s := e.Snapshot(v, now)
		for i := range s.Due { // the id of a request has the time, so that it is never given twice
			if in := &s.Due[i]; in.Request == elastic.RequestID(in.Job, in.To, now, "") {
				in.Request = "of now"
			}
		}
		return since(now, reflect.ValueOf(plain(s)))
	}
	want := snapshot(noon)
	if !strings.Contains(want, "-1h0m0s") || strings.Contains(want, "2026") {
		t.Fatalf("the times are not shown as distances: %s", want)
	}
	rapid.Check(t, func(t *rapid.T) {
		by := time.Duration(rapid.Int64Range(-50*365*86400, 50*365*86400).Draw(t, "seconds")) * time.Second
		if got := snapshot(noon.Add(by)); got != want {
			t.Fatalf("%s later:\n%s\nwant\n%s", by, got, want)
		}
	})
}

// TestSettled: the settled move is replaced or removed; the others stay, in their order.
func TestSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(1, 20), 0, 8, rapid.ID[int64]).Draw(t, "open")
		id, keep := rapid.Int64Range(1, 20).Draw(t, "settled"), rapid.Bool().Draw(t, "keep")
		var open Moves
		for _, i := range ids {
			open = append(open, elastic.Intent{ID: i, Job: elastic.JobID(i), Step: elastic.Asked})
		}
		was := slices.Clone(open)
		got := open.Settled(elastic.Intent{ID: id}, elastic.Intent{ID: id, Step: elastic.Verified}, keep)
		if !reflect.DeepEqual(open, was) {
			t.Fatal("the open moves were changed")
		}
		var want []string
		for _, i := range ids {
			switch {
			case i != id:
				want = append(want, fmt.Sprint(i, elastic.Asked))
			case keep:
				want = append(want, fmt.Sprint(i, elastic.Verified))
			}
		}
		var is []string
		for _, in := range got {
			is = append(is, fmt.Sprint(in.ID, in.Step))
		}
		if !slices.Equal(is, want) {
			t.Fatalf("%v, want %v", is, want)
		}
	})
}

// TestOrdered: jobs are served by first submit, then number, whatever the order in which they came.
func TestOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := New(Rules{}, nil, nil)
		for i, id := range rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<40), 0, 12, rapid.ID[int64]).Draw(t, "ids") {
			js := &Job{}
			js.Rec.ID, js.Rec.Token = elastic.JobID(id), fmt.Sprint(i)
			js.Rec.Submitted = noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "submitted")) * time.Nanosecond)
			st.Remember(js)
		}
		all := st.Ordered()
		for i := 1; i < len(all); i++ {
			a, b := all[i-1].Rec, all[i].Rec
			if a.Submitted.After(b.Submitted) || a.Submitted.Equal(b.Submitted) && a.ID >= b.ID {
				t.Fatalf("job %d of %v before job %d of %v", a.ID, a.Submitted, b.ID, b.Submitted)
			}
		}
		if len(all) != len(st.Jobs) {
			t.Fatalf("%d of %d jobs", len(all), len(st.Jobs))
		}
	})
}
