package command

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// wordsOf lists the texts that a value holds, by where they are in it.
func wordsOf(at string, v reflect.Value, out map[string]string) map[string]string {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 {
			out[at] = v.String()
		}
	case reflect.Slice:
		for i := range v.Len() {
			wordsOf(fmt.Sprintf("%s[%d]", at, i), v.Index(i), out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				wordsOf(at+"."+f.Name, v.Field(i), out)
			}
		}
	}
	return out
}

// within reports whether the text lies in the answer, and so keeps all of it in memory.
func within(answer, text string) bool {
	begin, at := uintptr(unsafe.Pointer(unsafe.StringData(answer))), uintptr(unsafe.Pointer(unsafe.StringData(text)))
	return at >= begin && at < begin+uintptr(len(answer))
}

// TestWordsAreCopies: F17, a job or a node that is kept keeps nothing else of the answer it
// was in, which may have 60 MB; and what is said of many of them is in memory once.
func TestWordsAreCopies(t *testing.T) {
	d := fixtureDelimiter
	job := make([]string, jobFieldCount)
	for i := range job {
		job[i] = "0"
	}
	for i, text := range map[int]string{fJobID: "7", fName: "train", fUser: "alice", fAccount: "phys", fPartition: "gpu", fQOS: "fast", fState: "RUNNING", fReason: "None at all", fDependency: "afterok:3",
		fNodes: "gpu1,gpu2", fReqNodes: "gpu3", fExcNodes: "gpu4", fFeature: "ib", fLicenses: "lic:2", fTresPerNode: "gres:gpu:a100:2", fWorkDir: "/home/alice", fComment: "sluice/1",
		fStdOut: "/home/alice/out", fTimeLimit: "1:00:00", fTimeLeft: "1:00", fTimeUsed: "1:00", fTresAlloc: "cpu=1"} {
		job[i] = text
	}
	node := []string{"gpu1", "gpu*", "MIXED+drain", "mixed", "gpu:a100:2", "gpu:a100:1(IDX:0)", "3/5/0/8", "1000", "10", "ib,nvme", "fan"}
	other := append([]string{"gpu2"}, node[1:]...)
	mixed := append([]string{"gpu3"}, node[1:]...)
	mixed[nGres] = "gpu:a100:2,gpu:h100:2"
	answer := func(records ...[]string) (out string) {
		for _, r := range records {
			out += strings.Join(r, d.field) + d.record
		}
		return out
	}
	jobs, nodes := answer(job, job), answer(node, other, mixed)
	details, err := parseJobs(jobs, d)
	list, err2 := parseNodes(nodes, d)
	if err != nil || err2 != nil || len(details) != 2 || len(list) != 3 {
		t.Fatalf("%d jobs, %v, %d nodes, %v", len(details), err, len(list), err2)
	}
	var all []map[string]string
	for _, v := range []any{details[0], details[1], list[0], list[1], list[2]} {
		all = append(all, wordsOf("", reflect.ValueOf(v), map[string]string{}))
		for at, text := range all[len(all)-1] {
			if within(jobs, text) || within(nodes, text) {
				t.Errorf("%s, %q, lies in the answer", at, text)
			}
		}
	}
	if len(all[0]) < 18 || len(all[2]) < 8 || len(all[4]) < 9 {
		t.Errorf("%d, %d and %d texts: %v", len(all[0]), len(all[2]), len(all[4]), all)
	}
	for _, pair := range [][2]map[string]string{{all[0], all[1]}, {all[2], all[3]}} {
		for at, text := range pair[0] {
			if again := pair[1][at]; again == text && unsafe.StringData(text) != unsafe.StringData(again) {
				t.Errorf("%s, %q, is in memory twice", at, text)
			}
		}
	}
}

// TestWhatIsNoRecord: a part of an answer, and what is none, are told apart, and a record
// with other fields than were asked for is named.
func TestWhatIsNoRecord(t *testing.T) {
	d := fixtureDelimiter
	good := "a" + d.field + "b" + d.record
	for out, want := range map[string]string{
		good + "a" + d.field: errTruncated.Error(),
		"Keine Aufträge\n":   errNoRecord.Error(),
		d.record:             "record 1 has 1 fields, not 2",
		good + "a" + d.field + d.field + d.record:           "record 2 has 3 fields, not 2",
		good + good + strings.Repeat(d.field, 5) + d.record: "record 3 has 6 fields, not 2",
	} {
		records, err := d.split(out, 2, func([]string) {})
		if err == nil || err.Error() != want || records != strings.Count(out, good) {
			t.Errorf("%q: %d records, %v; want %s", out, records, err, want)
		}
	}
}
