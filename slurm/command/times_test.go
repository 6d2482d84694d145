package command

import "testing"

// LiftsTime: a site's submit plugin, or a QOS with PartitionTimeLimit, may have a job start
// whatever its partition says; without slurmdbd there is no QOS, and none is asked for.
func TestLiftsTime(t *testing.T) {
	const flagged, plain = "long||||||||||DenyOnLimit,PartitionTimeLimit|||||||", "normal|||||||||||||||||"
	for _, tc := range []struct {
		name, plugin, storage, orders string
		want, fails                   bool
		calls                         int
	}{
		{"no accounting", "(null)", "(null)", "", false, false, 1},
		{"a submit plugin", "lua", "(null)", "", true, false, 1},
		{"a QOS that lifts", "(null)", "accounting_storage/slurmdbd", flagged, true, false, 2},
		{"one that does not", "(null)", "accounting_storage/slurmdbd", plain, false, false, 2},
		{"slurmdbd is away", "(null)", "accounting_storage/slurmdbd", "", false, true, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStubs(t)
			s.set("scontrol", "printf 'AccountingStorageType = "+tc.storage+"\nJobSubmitPlugins = "+tc.plugin+"\n'")
			s.set("sacctmgr", "echo '"+tc.orders+"'")
			if tc.fails {
				s.set("sacctmgr", "exit 1")
			}
			got, err := s.client(Config{}).LiftsTime(t.Context())
			if got != tc.want || (err != nil) != tc.fails || len(s.calls()) != tc.calls {
				t.Errorf("%t, %v, after %v", got, err, s.calls())
			}
		})
	}
}

// Without the site's settings nothing is known of its plugins.
func TestLiftsTimeWithoutSettings(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", "exit 1")
	if got, err := s.client(Config{}).LiftsTime(t.Context()); err == nil || len(s.calls()) != 1 {
		t.Errorf("%t, %v", got, err)
	}
}

func TestPartitions(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", "echo 'PartitionName=gpu Default=YES State=UP MaxNodes=2 MinNodes=0 MaxTime=1-00:00:00 PriorityTier=3'")
	got, err := s.client(Config{}).Partitions(t.Context())
	if err != nil || len(got) != 1 || !got[0].Default || got[0].MaxTime.Hours() != 24 || got[0].Tier != 3 || len(s.calls()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, body := range []string{"exit 1", "echo PartitionName=gpu"} {
		s.set("scontrol", body)
		if got, err := s.client(Config{}).Partitions(t.Context()); err == nil {
			t.Errorf("%s: %+v", body, got)
		}
	}
}
