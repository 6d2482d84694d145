package say

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

func (s speaker) limit(r reason.Reason) string {
	switch r := r.(type) {
	case reason.Limit:
		return site(r)
	case reason.Within:
		return "within " + s.say(r.Limit)
	case reason.NoMoreWithin:
		return "no more within " + s.say(r.Limit)
	case reason.AnotherWaitsWithin:
		return "another job waits within " + s.say(r.Limit)
	case reason.Reclaimed:
		return "others want their share; the job is beyond " + s.say(r.Limit)
	case reason.Deserved:
		return deserved(r)
	case reason.RestartBeyond:
		return "started again, it would not be within " + s.say(r.Limit)
	case reason.FewerThan:
		return fmt.Sprintf("%d GPUs are fewer than %s asks for", r.GPUs, s.say(r.Limit))
	case reason.Beyond:
		return fmt.Sprintf("%s is beyond %s", r.To, s.say(r.Limit))
	case reason.BeyondShared:
		limit, users := r.Limit, ""
		if l, ok := limit.(reason.Limit); ok {
			limit, users = reason.Limit{Name: l.Name}, ": "+using(l)
		}
		return fmt.Sprintf("%s would be beyond %s%s", r.To, s.say(limit), users)
	case reason.SlurmTakes:
		return "what Slurm accepts: " + s.say(r.Refusal)
	}
	return ""
}

// deserved returns what shares give.
func deserved(r reason.Deserved) string {
	switch {
	case r.Scavenger:
		return fmt.Sprintf("the %s that others leave to jobs of QOS %s of %s", gpus(r.GPUs), r.QOS, member(r))
	case r.QOS != "":
		return fmt.Sprintf("the %s that %s deserves now for jobs of QOS %s", gpus(r.GPUs), member(r), r.QOS)
	}
	return fmt.Sprintf("the %s that %s deserves now", gpus(r.GPUs), member(r))
}

// member names the user of an account; without a user it is the account.
func member(r reason.Deserved) string {
	switch {
	case r.User == "":
		return "account " + r.Account
	case r.Account == "":
		return "user " + r.User + " of no account with shares"
	}
	return fmt.Sprintf("user %s of account %s", r.User, r.Account)
}

// site returns a limit and its usage.
func site(r reason.Limit) string {
	if u := using(r); u != "" {
		return fmt.Sprintf("%s (%s)", r.Name, u)
	}
	return r.Name
}

// using returns the usage of a limit by user; "" if it is not shared.
func using(r reason.Limit) string {
	who := make([]string, len(r.Users))
	for i, u := range r.Users {
		who[i] = fmt.Sprintf("job %d of %s has %s", u.Job, u.User, u.Has)
	}
	switch text := strings.Join(who, ", "); {
	case r.None:
		return "not in use"
	case r.More > 0:
		return fmt.Sprintf("%s, and %d more jobs", text, r.More)
	default:
		return text
	}
}

func (s speaker) slurm(r reason.Reason) string {
	switch r := r.(type) {
	case reason.InSlurm:
		return "released; waits in Slurm: " + r.Reason
	case reason.Contends:
		return fmt.Sprintf("waits in Slurm's own order at its minimum, since ordinary job %d of lower priority waits too", r.Job)
	case reason.NotNow:
		return "not now: " + s.say(r.Because)
	case reason.WaitsReturn:
		return fmt.Sprintf("waits for GPUs on %s to be given back", r.To)
	case reason.StartsAfter:
		return fmt.Sprintf("starts at %s; until then Slurm may still carry out an earlier stop or hold", s.clock(r.At))
	case reason.LicenseBusy:
		return fmt.Sprintf("waits until job %d, which asks for the same licenses, has been resized", r.Job)
	case reason.Refusal:
		since := ""
		if r.Times > 1 {
			since = fmt.Sprintf(", for the %s time since %s", ordinal(r.Times), s.clock(r.First))
		}
		return fmt.Sprintf("%s was refused at %s (%s)%s", r.At, s.clock(r.Last), s.say(r.Because), since)
	case reason.Again:
		return fmt.Sprintf("%s; next try at %s, or now with sluice release %d", s.say(r.Refusal), s.clock(r.At), r.Job)
	case reason.NotStarted:
		sooner := ""
		if !r.Idle.IsZero() {
			sooner = fmt.Sprintf(" (from %s where GPUs are idle)", s.clock(r.Idle))
		}
		return fmt.Sprintf("Slurm does not start it: %s%s; scontrol show job %d tells what it asks for", s.say(r.Again), sooner, r.Job)
	case reason.NotMoved:
		return "would move, but " + s.say(r.Again)
	}
	return ""
}

func (s speaker) blocked(r reason.Reason) string {
	switch r := r.(type) {
	case reason.Begins:
		return fmt.Sprintf("waiting: begins %s (--begin)", s.moment(r.At))
	case reason.ReservationBegins:
		return fmt.Sprintf("waiting: its reservation %s begins %s", r.Reservation, s.moment(r.At))
	case reason.Obstructed:
		return s.obstructed(r)
	case reason.FolderUnreadable:
		return fmt.Sprintf("waiting: its folder has not answered since %s; perhaps its file system hangs", s.moment(r.Since))
	case reason.ArrayArriving:
		return fmt.Sprintf("waiting: its array is being submitted, %d of %d tasks so far", r.Have, r.Want)
	case reason.ArrayIncomplete:
		return fmt.Sprintf("not started: only %d of the %d tasks of its array were submitted, the last at %s; cancel them with sluice cancel '%d_*' and submit the array again",
			r.Have, r.Want, s.clock(r.Last), r.Array)
	case reason.NeverDepends:
		return fmt.Sprintf("never starts: its dependency on %s cannot be satisfied; cancel it with scancel %d, or take the dependency away with scontrol update JobId=%d Dependency=", r.On, r.Job, r.Job)
	case reason.Depends:
		return "waiting: depends on " + r.On
	}
	return ""
}

func (s speaker) obstructed(r reason.Obstructed) string {
	times := ""
	if r.Times > 1 {
		times = fmt.Sprintf(" for the %s time", ordinal(r.Times))
	}
	next := "once that may have changed"
	if !r.Until.IsZero() {
		next = "at " + s.clock(r.Until) + " at the latest"
	}
	return fmt.Sprintf("waiting: Slurm did not start it at %s%s (%s): %s; next try %s, or now with sluice release %d; see %s",
		s.clock(r.Since), times, r.Reason, r.Means, next, r.Job, r.Advice)
}
