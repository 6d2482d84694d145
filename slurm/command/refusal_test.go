package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// meanings is the kind of error for each recorded answer, on every release. nil: the call
// succeeded.
var meanings = map[string]error{
	"notfound-uhold": slurm.ErrNotFound, "notfound-release": slurm.ErrNotFound, "notfound-requeuehold": slurm.ErrNotFound,
	"notfound-fence": slurm.ErrNotFound, "notfound-comment": slurm.ErrNotFound, "notfound-signal": slurm.ErrNotFound,
	"notfound-show": slurm.ErrNotFound, "notfound-squeue": slurm.ErrNotFound,
	"notfound-cancel": nil, // scancel prints nothing

	"permission-uhold": slurm.ErrPermission, "permission-release": slurm.ErrPermission, "permission-requeuehold": slurm.ErrPermission,
	"permission-fence": slurm.ErrPermission, "permission-comment": slurm.ErrPermission, "permission-signal": slurm.ErrPermission,
	"permission-show": nil, "permission-cancel": slurm.ErrPermission,
	"permission-requeuehold-running": slurm.ErrPermission, "permission-signal-running": slurm.ErrPermission,
	"permission-cancel-running": slurm.ErrPermission, "permission-release-adminheld": slurm.ErrPermission,
	"permission-uhold-adminheld": nil, // already held: nothing changes

	"ended-uhold": slurm.ErrWrongState, "ended-release": slurm.ErrWrongState, "ended-fence": slurm.ErrWrongState,
	"ended-comment": slurm.ErrWrongState, "ended-signal": slurm.ErrNotFound,
	"ended-requeuehold": nil, "ended-show": nil, "ended-cancel": nil,
	"cancelled-uhold": slurm.ErrWrongState, "cancelled-release": slurm.ErrWrongState, "cancelled-fence": slurm.ErrWrongState,
	"cancelled-comment": slurm.ErrWrongState, "cancelled-signal": slurm.ErrNotFound,
	"cancelled-requeuehold": nil, "cancelled-show": nil, "cancelled-cancel": nil,

	"pending-uhold": nil, "pending-release": nil, "pending-requeuehold": nil, "pending-fence": nil, "pending-comment": nil,
	"pending-show": nil, "pending-signal": slurm.ErrWrongState,
	"running-fence": slurm.ErrWrongState, "running-gpus": slurm.ErrWrongState, "running-signal": nil, "running-release": nil,
	"norequeue-requeuehold": slurm.ErrRefused,

	"invalid-nodes": slurm.ErrRefused, "invalid-minmax": slurm.ErrRefused, "invalid-node": slurm.ErrRefused,
	"invalid-type": slurm.ErrRefused,
	"invalid-key":  slurm.ErrRefused, "invalid-signal": slurm.ErrRefused,

	"submit": nil, "submit-parsable": nil, "submit-testonly": nil,
	"submit-cluster": slurm.ErrRefused, "submit-partition": slurm.ErrRefused, "submit-toobig": slurm.ErrRefused,
	"submit-option": slurm.ErrRefused, "submit-noscript": slurm.ErrRefused, "submit-notscript": slurm.ErrRefused,
}

// unchecked are impossible requests that some releases accept without a message if the
// job is held.
var unchecked = map[string]bool{"invalid-count": true, "invalid-spelling": true}

// silences is the kind of error if there was no answer: the controller is down, does not
// answer, or cannot be reached. A change that may have been carried out has an unknown
// outcome.
var silences = map[string]error{
	"nomunge": slurm.ErrControllerDown, "down": slurm.ErrControllerDown, "hung": slurm.ErrUnknownOutcome,
	// scontrol says no more than "Unexpected message received", as it does for
	// an answer that was lost.
	"down-update": slurm.ErrUnknownOutcome, "down-requeuehold": slurm.ErrUnknownOutcome, "down-uhold": slurm.ErrUnknownOutcome,
}

// queries are the recorded commands that change nothing.
func isQuery(command string) bool {
	return strings.Contains(command, " show ") || strings.Contains(command, "squeue ") || strings.Contains(command, "sinfo ")
}

// means is the client's error for a recorded command.
func (r recorded) means() error {
	k := call{op: r.command, job: 1, mutates: !isQuery(r.command)}
	if r.exit != 0 {
		return k.refused(r.answer, "exit status")
	}
	return k.accepted(r.answer)
}

func TestAnswersOfEachRelease(t *testing.T) {
	for _, release := range releases {
		seen := map[string]bool{}
		for _, r := range recordedAnswers(t, release, "answers.txt") {
			if unchecked[r.name] {
				if got := r.means(); got != nil && !errors.Is(got, slurm.ErrRefused) {
					t.Errorf("%s %s: %v", release, r.name, got)
				}
				continue
			}
			want, known := meanings[r.name]
			if !known {
				t.Errorf("%s %s: add what it means to the table", release, r.name)
			}
			seen[r.name] = true
			if got := r.means(); !errors.Is(got, want) || (want == nil) != (got == nil) {
				t.Errorf("%s %s: %v; want %v", release, r.name, got, want)
			}
		}
		for name := range meanings {
			if !seen[name] {
				t.Errorf("%s: no answer recorded for %s", release, name)
			}
		}
	}
}

func TestSilenceOfEachRelease(t *testing.T) {
	for _, release := range releases {
		for _, r := range recordedAnswers(t, release, "silence.txt") {
			cause, _, _ := strings.Cut(r.name, "-")
			want, special := silences[r.name]
			if !special {
				want = silences[cause]
			}
			if isQuery(r.command) {
				want = slurm.ErrControllerDown
			}
			if got := r.means(); !errors.Is(got, want) {
				t.Errorf("%s %s: %v; want %v", release, r.name, got, want)
			}
		}
	}
}

// TestErrorsForPeople checks the messages that users read, on one release.
func TestErrorsForPeople(t *testing.T) {
	var b strings.Builder
	for _, file := range []string{"answers.txt", "silence.txt"} {
		for _, r := range recordedAnswers(t, "22.05", file) {
			if err := r.means(); err != nil {
				b.WriteString(r.name + ": " + err.Error() + "\n")
			}
		}
	}
	golden(t, "22.05/errors.golden", b.String())
}

func TestClean(t *testing.T) {
	for _, c := range []struct{ printed, want string }{
		{"", ""},
		{"scontrol: error: one\nsbatch: fatal: two\n", "one; two"},
		{"same\nsame\n", "same"},
		{"red \x1b[31malert\x07\x00 \u202etxet\u202c \xff", "red [31malert txet ?"},
		{"a\tb\r\n", "a b"},
		{strings.Repeat("é", 400), strings.Repeat("é", 250) + "..."},
	} {
		if got := clean(c.printed); got != c.want {
			t.Errorf("clean(%q) = %q, want %q", c.printed, got, c.want)
		}
	}
}

// TestCutOff: a connection that was closed may have carried the request, whatever the
// later attempts report, which reached no controller. The texts are 22.05's, of a
// slurmctld that was killed.
func TestCutOff(t *testing.T) {
	said := answer{stderr: "scontrol: error: slurm_receive_msgs: [localhost]:6817 address:port=127.0.0.1:6817 msg_type=2049: Unexpected missing socket error\n" +
		"Could not load state information for job 2: Unable to contact slurm controller (connect failure)\n"}
	if err := (call{op: "scontrol requeuehold", mutates: true}).refused(said, ""); !errors.Is(err, slurm.ErrUnknownOutcome) {
		t.Errorf("a change: %v", err)
	}
	if err := (call{op: "squeue"}).refused(said, ""); !errors.Is(err, slurm.ErrControllerDown) {
		t.Errorf("a query: %v", err)
	}
}
