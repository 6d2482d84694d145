package sbatch

import (
	"testing"
	"time"
)

// TestTimeLimit: limits are read in sbatch's formats and from sbatch's sources;
// --time-min is the limit that must be allowed.
func TestTimeLimit(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		args, env, line string
		most            time.Duration
		at              string // "" = none is known
	}{
		{"job", "", "", 0, ""},
		{"-t 90 job", "", "", 90 * time.Minute, "-t 90 (the command line)"},
		{"--time=5-0 job", "", "#SBATCH -t 10", 5 * day, "--time=5-0 (the command line)"},
		{"job", "SBATCH_TIMELIMIT=1-12:30", "#SBATCH -t 10", day + 750*time.Minute, "SBATCH_TIMELIMIT=1-12:30"},
		{"job", "", "#SBATCH --time=1:30:01", 91 * time.Minute, "--time=1:30:01 (job.sh:2:9)"},
		{"-t 0:30 job", "", "", time.Minute, "-t 0:30 (the command line)"},
		{"-t UNLIMITED job", "", "", 0, "-t UNLIMITED (the command line)"},
		{"-t 0 job", "", "", 0, "-t 0 (the command line)"},
		{"-t 600 --time-min=10 job", "", "", 10 * time.Minute, "--time-min=10 (the command line)"},
		{"-t soon job", "", "", 0, ""},
	} {
		var env []string
		if tc.env != "" {
			env = []string{tc.env}
		}
		got, ok := merge(t, tc.args, env, tc.line).TimeLimit()
		if got.Most != tc.most || got.At != tc.at || ok != (tc.at != "") {
			t.Errorf("%+v: got %+v, %t", tc, got, ok)
		}
	}
}
