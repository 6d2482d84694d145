package present

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

var filtered = wire.Report{Jobs: []wire.Job{
	{JobID: 1, Name: "Llama-7b", User: "ann", UID: 1001, ST: "R", State: "RUNNING", Account: "phys", Partition: "gpu,long", GPUs: 2},
	{JobID: 2, Name: "bert", User: "bob", UID: 1002, ST: "PD", State: "PENDING", QOS: "high", Partition: "gpu", Reason: "waiting for 2 GPUs"},
	{JobID: 3, Name: "bert large", User: "ann", UID: 1001, ST: "CD", State: "COMPLETED", Ended: true},
	{JobID: 4, Name: "x", User: "ann", UID: 1001, ST: "PD", State: "PENDING", Array: &wire.Array{JobID: 4, Index: 0, Count: 2}},
	{JobID: 5, Name: "x", User: "ann", UID: 1001, ST: "PD", State: "PENDING", Array: &wire.Array{JobID: 4, Index: 1, Count: 2}},
}}

// TestParseFilter: a filter is what stands after 'sluice queue'.
func TestParseFilter(t *testing.T) {
	for text, want := range map[string]string{
		"": "1 2 4 5", "--me": "1 4 5", "-u bob": "2", "-u 1002": "2", "-u bob,": "2", "-u bob -u nobody,ann": "1 2 4 5", "-t R": "1", "-t R,": "1", "-t R -t PD": "1 2 4 5", "-t rq,SE,requeue_hold": "", "-t pending": "2 4 5", "-t all bert": "2 3", "-a": "1 2 3 4 5", "-A phys": "1",
		"--account=phys": "1", "-q high": "2", "-p long": "1", "-j 3,1": "1 3", "-j 4_*": "4 5", "-j 4_1": "5", "llama": "1", "'bert large' -a": "3", "WAITING gpus": "2",
		"-t PD --me x": "4 5", "nothing": "", "  -u\tann  7b": "1", `-u "bob"`: "2", "''": "1 2 4 5",
	} {
		f, err := ParseFilter(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		is, err := f.Matcher(filtered, 1001)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := ""
		for i := range filtered.Jobs {
			if is(&filtered.Jobs[i]) {
				got += fmt.Sprint(" ", filtered.Jobs[i].JobID)
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"-t SLEEPING": `invalid job state "SLEEPING"`, "-t R,SLEEPING": `invalid job state "SLEEPING"; valid states: BOOT_FAIL, CANCELLED,`, "-t ''": `invalid job state ""`,
		"-j 4_* -t SLEEPING": `invalid job state "SLEEPING"`, "-j 9_[1-3] -t SLEEPING": `invalid job state "SLEEPING"`, "-j 4_* -j x": `invalid job id "x"`, "-j 4_x": `invalid job id "4_x"`,
		"-u ''": "-u was given an empty name; want a user: -u ann. Without -u the jobs of all users are listed", "--users=": "-u was given", "-u ,": "-u was given", "-u ann,,bob": "-u was given",
		"-p ''": "want a partition: -p gpu", "-A ''": "want an account", "-q ''": "want a QOS", "-w ''": "want a node: -w gpu1. Without -w the jobs on all nodes",
		"-x": "unknown shorthand flag", "--colour": "unknown flag", "-u": "needs an argument", "'a": "not closed",
		"-j x": `invalid job id "x"`, "--help": "want options of 'sluice queue'", strings.Repeat("x", 5000): "longer than",
	} {
		if f, err := ParseFilter(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %s", text, f, err, want)
		}
	}
	if f, _ := ParseFilter("-j 9_*"); len(f.Jobs) != 1 {
		t.Error("an array that no report has yet is no mistake in a filter")
	}
}

// Every filter is refused or selects some of the jobs.
func FuzzParseFilter(f *testing.F) {
	for _, text := range []string{"--me -t R", "-j 4_[0-1] 'a b'", "-u ann,bob --", "-ame", "\x1b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := ParseFilter(text)
		if err != nil {
			return
		}
		if is, err := parsed.Matcher(filtered, 1001); err == nil {
			for i := range filtered.Jobs {
				if j := &filtered.Jobs[i]; is(j) && j.Ended && !parsed.Ended() {
					t.Fatalf("%q selects an ended job", text)
				}
			}
		}
	})
}
