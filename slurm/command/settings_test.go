package command

import (
	"context"
	"testing"
	"time"
)

// TestSettings: the settings of each release are read in the same way.
func TestSettings(t *testing.T) {
	for _, release := range releases {
		s := newStubs(t)
		s.write("config.out", fixture(t, release, "limits", "config.txt"))
		s.set("scontrol", "cat $here/config.out")
		got, err := s.client(Config{}).Settings(context.Background())
		if err != nil || got.Get("ClusterName") == "" || !got.Database() || got.Get("SLURM_VERSION") == "" {
			t.Errorf("%s: %v, %v", release, err, got)
		}
	}
}

func TestSettingsSkipsWhatIsNone(t *testing.T) {
	s, asOf := ParseSettings("Configuration data as of 2026-11-23T04:00:00\nno setting\n = x\nA = 30 sec\nA = 2\nB = (null)\nC = None\n" +
		"SchedulerParameters = defer,max_array_tasks=50\nSlurmUser = slurm(64030)\nAccountingStorageType = accounting_storage/none\n")
	if want := time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC); !asOf.Equal(want) {
		t.Errorf("as of %s", asOf)
	}
	n, is := s.Number("A")
	_, none := s.Number("B")
	value, there := s.Scheduling("Max_Array_Tasks")
	_, deferred := s.Scheduling("defer")
	_, absent := s.Scheduling("bf_interval")
	if n != 30 || !is || none || value != "50" || !there || !deferred || absent || s.Get("B")+s.Get("C") != "" || s.SlurmUser() != "slurm" || s.Database() || len(s) != 6 {
		t.Errorf("%v", s)
	}
}
