package track

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

const ownToken = "0123456789abcdef0123456789abcdef"

// tagged is job id of user 5 as Slurm shows it, with the comment of a tag.
func tagged(id slurm.JobID, inc, min string) slurm.Job {
	return slurm.Job{ID: id, UID: 5, User: "ann", Name: "train", Partition: "gpu", State: slurm.Pending, Eligible: noon.Add(time.Hour), Submit: noon,
		Comment: "sluice/1 id=" + ownToken + " inc=" + inc + " min=" + min + " defer=1"}
}

// TestTakeUp: a job is adopted only if its user owns the folder of its token, and the token is of no
// other job.
func TestTakeUp(t *testing.T) {
	own := observe.Box{Token: ownToken, SlurmUID: 5}
	for _, c := range []struct {
		name    string
		sj      slurm.Job
		folders map[observe.Box]error
		taken   bool
	}{
		{"its own", tagged(7, "0", "1"), nil, true},
		{"its folder is another user's", tagged(7, "0", "1"), map[observe.Box]error{own: checkpoint.ErrOwner}, false},
		{"its folder is on a broken disk", tagged(7, "0", "1"), map[observe.Box]error{own: &fs.PathError{Op: "open", Path: "runner.json", Err: syscall.EIO}}, false},
		{"its runner's status cannot be parsed", tagged(7, "0", "1"), map[observe.Box]error{own: errors.New("runner.json:1:1: malformed")}, true},
		{"its folder does not answer", tagged(7, "0", "1"), map[observe.Box]error{own: &observe.Unanswered{Since: noon}}, false},
		{"its folder cannot be read", tagged(7, "0", "1"), map[observe.Box]error{own: checkpoint.ErrShortened}, true},
		{"it ended before it was seen", func() slurm.Job { sj := tagged(7, "0", "1"); sj.State = slurm.Completed; return sj }(), nil, false},
		{"its comment cannot be read", tagged(7, "0", "x"), nil, false},
		{"an array that is not split yet", func() slurm.Job { sj := tagged(7, "0", "1"); sj.Array = true; return sj }(), nil, false},
		{"without a tag", slurm.Job{ID: 7, UID: 5, State: slurm.Pending, Comment: "mine"}, nil, false},
	} {
		st := New(Rules{}, nil, func(event.Event) {})
		st.Match([]slurm.Job{c.sj}, c.folders, noon)
		js := st.ByID[7]
		if taken := js != nil; taken != c.taken || taken && (js.Rec.Token != ownToken || js.Rec.Owner.User != "ann" || !js.Rec.Submitted.Equal(noon) || js.Rec.Restarts != -1 || !js.Dirty) {
			t.Errorf("%s: taken up: %v", c.name, taken)
		}
	}
}

// TestASecondClaimant: a job with the token of another job is not managed, whatever its user, and the
// first job is not affected.
func TestASecondClaimant(t *testing.T) {
	for _, uid := range []uint32{5, 6} {
		st := New(Rules{}, nil, func(event.Event) {})
		second := tagged(8, "0", "2")
		second.UID = uid
		st.Match([]slurm.Job{tagged(7, "0", "1"), second}, nil, noon)
		if st.ByID[8] != nil || st.ByID[7] == nil || st.ByID[7].Rec.Tag.Spec.Min != 1 || !st.ByID[7].Shown.Seen {
			t.Errorf("of user %d: %v, %+v", uid, st.ByID[8], st.ByID[7])
		}
	}
}

// TestTheRecordKnowsBetter: if comment and record differ in directive or incarnation, the record wins and
// the comment is written again; the spec is taken from the comment.
func TestTheRecordKnowsBetter(t *testing.T) {
	for _, c := range []struct {
		name        string
		inc, min    string
		incarnation int
		pending     bool
	}{
		{"as written", "3", "1", 3, false},
		{"an older incarnation", "2", "1", 3, true},
		{"a newer incarnation", "4", "1", 4, false},
		{"another size", "3", "2", 3, false},
	} {
		st := New(Rules{}, nil, func(event.Event) {})
		st.Match([]slurm.Job{tagged(7, "3", "1")}, nil, noon)
		js := st.ByID[7]
		js.Dirty = false
		st.Match([]slurm.Job{tagged(7, c.inc, c.min)}, nil, noon)
		if js.Rec.Tag.Incarnation != c.incarnation || js.PendingTag != c.pending || (js.Rec.Tag.Spec.Min == 2) != (c.min == "2") {
			t.Errorf("%s: %+v, to be written: %v", c.name, js.Rec.Tag, js.PendingTag)
		}
		if changed := c.incarnation != 3 || c.min != "1"; js.Dirty != changed {
			t.Errorf("%s: to be saved: %v", c.name, js.Dirty)
		}
	}
	st := New(Rules{}, nil, func(event.Event) {})
	st.Match([]slurm.Job{tagged(7, "3", "1")}, nil, noon)
	js := st.ByID[7]
	js.Rec.Tag.Directive = elastic.Directive{Pin: 2}
	st.Match([]slurm.Job{tagged(7, "3", "1")}, nil, noon)
	if js.Rec.Tag.Directive.Pin != 2 || !js.PendingTag {
		t.Errorf("an order that the comment lacks: %+v", js.Rec.Tag)
	}
}

// TestTakenAway: a job whose tag is removed is not managed, and managed again when the tag is back. A job
// of another user with the same number, or one that ended, changes nothing.
func TestTakenAway(t *testing.T) {
	bare := slurm.Job{ID: 7, UID: 5, State: slurm.Running, Submit: noon}
	st := New(Rules{}, nil, func(event.Event) {})
	st.Match([]slurm.Job{tagged(7, "0", "1")}, nil, noon)
	js := st.ByID[7]
	for _, c := range []struct {
		name   string
		shown  slurm.Job
		ended  time.Time
		seen   bool
		disown bool
	}{
		{"removed", bare, time.Time{}, true, true},
		{"back", tagged(7, "0", "1"), time.Time{}, true, false},
		{"unreadable", tagged(7, "0", "x"), time.Time{}, true, false},
		{"another user's", slurm.Job{ID: 7, UID: 6, Submit: noon}, time.Time{}, false, false},
		{"of a job that ended", bare, noon, false, false},
	} {
		js.Rec.Ended = c.ended
		st.Match([]slurm.Job{c.shown}, nil, noon)
		if js.Shown.Seen != c.seen || js.Shown.Disown != c.disown {
			t.Errorf("%s: seen %v, let go of %v", c.name, js.Shown.Seen, js.Shown.Disown)
		}
		if told := js.Tells.Problem["comment"] != ""; c.seen && told != (c.shown.Comment != tagged(7, "0", "1").Comment) {
			t.Errorf("%s: shown to its user: %v", c.name, told)
		}
	}
}

// TestTakenAwayWhileWaiting: the user of a waiting job whose tag is removed is told when Slurm starts it,
// and the command that starts it at once: its begin time is sluice's.
func TestTakenAwayWhileWaiting(t *testing.T) {
	st := New(Rules{}, nil, func(event.Event) {})
	st.Match([]slurm.Job{tagged(7, "0", "1")}, nil, noon)
	bare := slurm.Job{ID: 7, UID: 5, State: slurm.Pending, Submit: noon, Eligible: noon.Add(2 * time.Hour)}
	st.Match([]slurm.Job{bare}, nil, noon)
	want := "after " + noon.Add(2*time.Hour).Format(time.RFC3339) + "; scontrol update JobId=7 StartTime=now"
	if got := st.ByID[7].Tells.Problem["comment"]; !strings.Contains(got, want) {
		t.Errorf("told %q, want it to say %q", got, want)
	}
	said := ""
	st = New(Rules{}, nil, func(e event.Event) { said += e.Text })
	torn := tagged(7, "0", "x")
	torn.Eligible = bare.Eligible
	st.Match([]slurm.Job{torn}, nil, noon)
	if !strings.Contains(said, want) {
		t.Errorf("of a job that is not known and whose comment cannot be read it is said %q, want %q", said, want)
	}
}

// TestItsAccount: the record has the account that Slurm last showed, also of a job that an older
// sluice adopted; an answer without one does not delete it.
func TestItsAccount(t *testing.T) {
	known := func(name string) journal.Account { return journal.Account{Name: name, Known: true} }
	for _, c := range []struct {
		name   string
		before journal.Account
		shown  string
		want   journal.Account
		dirty  bool
	}{
		{"unchanged", known("phys"), "phys", known("phys"), false},
		{"changed", known("phys"), "bio", known("bio"), true},
		{"an older sluice stored none", journal.Account{}, "bio", known("bio"), true},
		{"an older sluice, no slurmdbd", journal.Account{}, "", known(""), true},
		{"shown without", known("phys"), "", known("phys"), false},
	} {
		st := New(Rules{}, nil, func(event.Event) {})
		sj := tagged(7, "0", "1")
		st.Match([]slurm.Job{sj}, nil, noon)
		js := st.ByID[7]
		if js.Rec.Account != known("") {
			t.Errorf("%s: adopted with %+v", c.name, js.Rec.Account)
		}
		js.Rec.Account, js.Dirty, sj.Account = c.before, false, c.shown
		st.Match([]slurm.Job{sj}, nil, noon)
		if js.Rec.Account != c.want || js.Dirty != c.dirty {
			t.Errorf("%s: %+v, to be saved: %v", c.name, js.Rec.Account, js.Dirty)
		}
	}
}
