package say

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Reason returns a reason as one sentence, as of now; "" for nil.
func Reason(r reason.Reason, now time.Time) string { return speaker{now}.say(r) }

// Unusable returns why nothing new is placed on a node, as of now; "" if it is usable.
func Unusable(why nodes.Unusable, now time.Time) string {
	if why.State == "" {
		return ""
	}
	return speaker{now}.state(why.State, why.Note, why.Until)
}

// state returns a node's state, with what is known about it.
func (s speaker) state(state, note string, until time.Time) string {
	switch {
	case state == "":
		return "Slurm does not show it"
	case !until.IsZero():
		return fmt.Sprintf("%s (used again from %s)", state, s.clock(until))
	case note != "":
		return fmt.Sprintf("%s (%s)", state, note)
	}
	return state
}

// speaker writes reasons as of a time.
type speaker struct{ now time.Time }

// say tries the families of reasons in turn.
func (s speaker) say(r reason.Reason) string {
	switch r := r.(type) {
	case nil:
		return ""
	case reason.Plain:
		return plain[r]
	case reason.All:
		all := make([]string, len(r.Of))
		for i := range r.Of {
			all[i] = s.say(r.Of[i])
		}
		return strings.Join(all, "; ")
	case reason.Unknown:
		return r.JSON
	}
	for _, family := range []func(speaker, reason.Reason) string{
		speaker.starts, speaker.runs, speaker.waits, speaker.idle, speaker.gains, speaker.others,
		speaker.pins, speaker.obstacles, speaker.leaves, speaker.deadline, speaker.limit, speaker.slurm, speaker.blocked, speaker.moves, speaker.kept,
	} {
		if text := family(s, r); text != "" {
			return text
		}
	}
	return reason.String(r)
}

// because returns a sentence with its cause.
func (s speaker) because(head string, r reason.Reason) string {
	if r == nil {
		return head
	}
	return head + ": " + s.say(r)
}

func (s speaker) starts(r reason.Reason) string {
	switch r := r.(type) {
	case reason.Starts:
		return s.because("starts on "+gpus(r.GPUs), r.Because)
	case reason.StartsAtMinimum:
		return s.because("starts on its minimum of "+gpus(r.GPUs), r.Because)
	case reason.StartsOnReturned:
		return "starts on its minimum of " + gpus(r.GPUs) + ", which running jobs give back"
	case reason.StartsAbove:
		return s.because(fmt.Sprintf("starts on %s, %d above its minimum", gpus(r.GPUs), r.Above), r.Because)
	case reason.StartsAsAsked:
		return "starts on " + gpus(r.GPUs) + ", which it asks for"
	case reason.BeingStarted:
		return s.because("is being started on "+gpus(r.GPUs), r.Because)
	case reason.MovesToPool:
		return s.because("moves to another pool with "+gpus(r.GPUs), r.Because)
	}
	return ""
}

func (s speaker) runs(r reason.Reason) string {
	switch r := r.(type) {
	case reason.Keeps:
		return s.because("stays at "+gpus(r.GPUs), r.Because)
	case reason.StaysOn:
		return s.because(fmt.Sprintf("stays at %s, and %s", gpus(r.GPUs), s.say(r.Leaving)), r.Because)
	case reason.Resizes:
		return s.because(change(r.From, r.To), r.Because)
	case reason.Moves:
		return s.because(fmt.Sprintf("moves from %s to %s", r.From, r.To), r.Because)
	case reason.MovesTo:
		return s.because(fmt.Sprintf("moves to %s with %s", r.To, gpus(r.GPUs)), r.Because)
	case reason.Moving:
		return s.because(fmt.Sprintf("is moving from %d to %s", r.From, gpus(r.GPUs)), r.Because)
	case reason.Stops:
		return s.because("stops after a checkpoint and waits", r.Because)
	case reason.Leaves:
		return s.because("saves and waits for other GPUs", r.Because)
	case reason.LeavesEdge:
		return s.because("saves, leaves the edge pool and waits for other GPUs", r.Because)
	case reason.Quiet:
		return fmt.Sprintf("Slurm calls it running, but it has reported nothing since %s; if it is gone, `scontrol requeue %d` starts it from its newest checkpoint",
			s.moment(r.Since), r.Job)
	}
	return ""
}

func (s speaker) waits(r reason.Reason) string {
	switch r := r.(type) {
	case reason.Waits:
		return s.because("waits for "+gpus(r.GPUs), r.Because)
	case reason.WaitsPinned:
		return s.because("waits for "+gpus(r.GPUs)+", which its user set", r.Because)
	case reason.WaitsOn:
		return s.because("waits", r.Because)
	case reason.WaitsBehind:
		return fmt.Sprintf("waits behind job %d, which comes first and needs %s", r.Job, gpus(r.GPUs))
	case reason.WaitsForRoom:
		return room(r)
	case reason.CannotStart:
		return cannotStart(r)
	case reason.NeverStarts:
		return neverStarts(r)
	case reason.Throttled:
		return fmt.Sprintf("waits: %d of its array's tasks %s (%%%d)", r.Most, one(r.Most, "runs", "run"), r.Most)
	case reason.HeldByUser:
		return fmt.Sprintf("is held by its user; `sluice release %d` lets it start", r.Job)
	}
	return ""
}

func room(r reason.WaitsForRoom) string {
	head, free := fmt.Sprintf("waiting for %s: ", gpus(r.GPUs)), 0
	var split []string
	for _, n := range r.Free {
		free, split = free+n, append(split, fmt.Sprint(n))
	}
	switch where := strings.Join(split, "+"); {
	case free >= r.GPUs && r.Uneven:
		return head + fmt.Sprintf("%d are free, as %s on %d nodes, but a job gets the same number on each node; --allow-uneven at submit lifts that", free, where, len(split))
	case free >= r.GPUs:
		return head + fmt.Sprintf("%d are free, as %s, but not with the CPUs, memory or number of nodes it needs", free, where)
	case free > 0:
		head += fmt.Sprintf("%d of %d are free", free, r.All)
	default:
		head += fmt.Sprintf("all %d GPUs are in use", r.All)
	}
	var holds []string
	if r.Minimum > 0 {
		holds = append(holds, number(r.Minimum, "job runs", "jobs run")+one(r.Minimum, " at its minimum", " at their minimum"))
	}
	if r.Fixed > 0 {
		holds = append(holds, number(r.Fixed, "job", "jobs")+" cannot be resized now")
	}
	if len(holds) > 0 {
		head += "; " + strings.Join(holds, ", ")
	}
	return head
}

func cannotStart(r reason.CannotStart) string {
	if !r.Split {
		return fmt.Sprintf("cannot start: it needs %s, and the usable nodes of its partition have %d", gpus(r.GPUs), r.Have)
	}
	other := "another --min-gpus"
	if r.Fixed {
		other = "another number of GPUs"
	}
	if r.Uneven {
		other = "--allow-uneven, or " + other
	}
	return fmt.Sprintf("cannot start: %s cannot be split evenly over the usable nodes of its partition; submit with %s", gpus(r.GPUs), other)
}

func neverStarts(r reason.NeverStarts) string {
	asked := "asks for no time limit"
	if r.Asked > 0 {
		asked = "asks for " + limit(r.Asked)
	}
	minutes := max(1, int(r.MaxTime/60))
	return fmt.Sprintf("never starts: it %s, and the MaxTime of partition %s is %s; type: scontrol update JobId=%d TimeLimit=%d",
		asked, r.Partition, limit(r.MaxTime), r.Job, minutes)
}

func (s speaker) idle(r reason.Reason) string {
	switch r := r.(type) {
	case reason.IdleAndBack:
		return fmt.Sprintf("%s, and running jobs can give back %d", areIdle(r.Idle), r.Back)
	case reason.IdleElsewhere:
		return fmt.Sprintf("%s, running jobs can give back %d, but not on nodes as it needs them", areIdle(r.Idle), r.Back)
	case reason.NotAsNeeded:
		return areIdle(r.Idle) + ", but not on nodes as it needs them"
	case reason.TakesNoneBack:
		return fmt.Sprintf("%s, and the %s policy takes none back", areIdle(r.Idle), r.Policy)
	case reason.MoreIdle:
		return fmt.Sprintf("of the %d more %s", r.More, areIdle(r.Idle))
	case reason.NextSize:
		return fmt.Sprintf("its next size is %d, and %s", r.Next, areIdle(r.Idle))
	case reason.NotFaster:
		return fmt.Sprintf("more GPUs would not make it faster (%s)", areIdle(r.Idle))
	case reason.IdleUnfit:
		text := areIdle(r.Idle) + ", but not on nodes as it could use them"
		if r.Or {
			text += ", or others save more with them"
		}
		return text
	case reason.IdleKept:
		return fmt.Sprintf("the only idle GPUs are kept for ordinary job %d", r.Job)
	}
	return ""
}

func (s speaker) gains(r reason.Reason) string {
	switch r := r.(type) {
	case reason.SpareSaves:
		return fmt.Sprintf("spare GPUs save %s of %s", length(r.Saves, r.Assumed), length(r.Of, r.Assumed))
	case reason.Takes:
		return fmt.Sprintf("takes %s instead of %s", length(r.After, r.Assumed), length(r.Before, r.Assumed))
	case reason.RestTakes:
		text := fmt.Sprintf("its remaining work takes %s instead of %s", length(r.After, r.Assumed), length(r.Before, r.Assumed))
		if r.Unseen != "" {
			text += ", an assumption: its speed on " + r.Unseen + " is not known"
		}
		return text
	case reason.Rest:
		return "its remaining work takes " + length(r.Seconds, r.Assumed)
	case reason.FewerFaster:
		return fmt.Sprintf("measured to be faster on fewer GPUs; saves %s of %s, and a resize costs %s", length(r.Saves, r.Assumed), length(r.Of, r.Assumed), span(r.Cost))
	case reason.Saves:
		return fmt.Sprintf("saves %s of %s, and a resize costs %s; %s and no job waits", length(r.Saves, r.Assumed), length(r.Of, r.Assumed), span(r.Cost), wereIdle(r.WereIdle))
	case reason.WouldSave:
		saves := length(r.Saves, r.Assumed)
		if r.Payback > 1 {
			return fmt.Sprintf("%d GPUs would save %s; a resize costs %s, and has to save %g times that", r.GPUs, saves, span(r.Cost), r.Payback)
		}
		return fmt.Sprintf("%d GPUs would save %s, and a resize costs %s", r.GPUs, saves, span(r.Cost))
	case reason.ShortestRest:
		return fmt.Sprintf("shortest remaining work first, and its own takes %s on %s", length(r.Seconds, r.Assumed), gpus(r.GPUs))
	case reason.Measures:
		text := fmt.Sprintf("measures its speed there (%d of %d sizes)", r.Size, r.Sizes)
		if r.Idle {
			text += ", on idle GPUs"
		}
		return text
	case reason.UnseenFaster:
		return "its speed on " + r.Type + " is not known, and may be higher"
	}
	return ""
}

func (s speaker) others(r reason.Reason) string {
	switch r := r.(type) {
	case reason.JobWaits:
		return fmt.Sprintf("%sjob %d waits for %s", ordinary(r.Ordinary), r.Job, gpus(r.GPUs))
	case reason.Both:
		return s.say(r.First) + " and " + s.say(r.Second)
	case reason.AndMoreWait:
		return fmt.Sprintf("%s, and %d more wait", s.say(r.First), r.More)
	case reason.ComesFirst:
		return fmt.Sprintf("job %d waits for %s and comes first", r.Job, gpus(r.GPUs))
	case reason.StartsFirst:
		return fmt.Sprintf("job %d waits to start and comes first", r.Job)
	case reason.JobStarts:
		if r.More > 0 {
			return fmt.Sprintf("job %d and %d more start", r.Job, r.More)
		}
		return fmt.Sprintf("job %d starts", r.Job)
	case reason.RoomFor:
		return fmt.Sprintf("ordinary job %d waits for room", r.Job)
	case reason.Yields:
		return fmt.Sprintf("jobs of %s get only GPUs that no other job wants, and job %d waits for %s", qos(r.QOS), r.Job, gpus(r.GPUs))
	case reason.LaneYields:
		return fmt.Sprintf("job %d waits for %s, before all lanes of a sweep but its first", r.Job, gpus(r.GPUs))
	case reason.SweepLevel:
		if r.Trials == 0 || r.Metric == "" {
			return fmt.Sprintf("sweep %d is to have %s now", r.Sweep, number(r.Lanes, "lane", "lanes"))
		}
		return fmt.Sprintf("sweep %d is to have %s now: lanes are divided between its user's sweeps by what one more trial of each promises for its time; it has done %s (level %d: the best are %s apart in %s)",
			r.Sweep, number(r.Lanes, "lane", "lanes"), number(r.Trials, "trial", "trials"), r.Level, strconv.FormatFloat(r.Gap, 'g', 3, 64), r.Metric)
	case reason.SweepPaused:
		return fmt.Sprintf("sweep %d is paused (sluice sweep resume %d)", r.Sweep, r.Sweep)
	case reason.SweepEnded:
		return fmt.Sprintf("sweep %d is over: this lane is cancelled (sluice sweep show %d)", r.Sweep, r.Sweep)
	case reason.OrdinaryWaits:
		return fmt.Sprintf("ordinary job %d waits for %s", r.Job, r.Node)
	case reason.WouldDelay:
		return fmt.Sprintf("after a resize its time limit starts anew, which could delay job %d, which comes first", r.Job)
	case reason.Backfilled:
		if r.Beside {
			return fmt.Sprintf("backfilled: job %d, which comes first, does not need these GPUs to start", r.Job)
		}
		return fmt.Sprintf("backfilled: its time limit ends it before job %d can start at %s", r.Job, s.hour(r.At))
	case reason.CanStartAt:
		return "by the time limits of running jobs it can start at " + s.hour(r.At)
	case reason.NextDeadline:
		if r.Deadline.IsZero() {
			return "the next deadline first, and it has none"
		}
		return "the next deadline first, and its own is " + s.moment(r.Deadline)
	case reason.Attained:
		return fmt.Sprintf("jobs that had less than 16 GPU-hours come first, by arrival; it had %.1f", r.GPUHours)
	case reason.NeverResizes:
		return "the " + r.Policy + " policy never resizes"
	}
	return ""
}

func (s speaker) pins(r reason.Reason) string {
	switch r := r.(type) {
	case reason.PinnedTo:
		return fmt.Sprintf("its user set it to %d", r.GPUs)
	case reason.PinnedBut:
		return fmt.Sprintf("its user set %d, but %s", r.GPUs, s.say(r.Because))
	case reason.PinnedUnavailable:
		return fmt.Sprintf("its user set %d, which is not available now", r.GPUs)
	case reason.NoSplit:
		return fmt.Sprintf("no split of %d on nodes exists now", r.GPUs)
	case reason.Rests:
		return fmt.Sprintf("it was resized at %s, and is not resized again before %s", s.hms(r.Moved), s.hms(r.Until))
	case reason.Deaf:
		return fmt.Sprintf("it left the last %d checkpoint requests without a valid checkpoint", r.Requests)
	case reason.Unusable:
		return fmt.Sprintf("its last %d requested checkpoints were valid, and invalid at the next start (once its program is repaired: sluice resize %d auto)", r.Checkpoints, r.Job)
	case reason.FolderSilent:
		return "its folder has not answered since " + s.moment(r.Since)
	case reason.Retry:
		return "its script failed and is started again at " + s.clock(r.At)
	}
	return ""
}

func (s speaker) obstacles(r reason.Reason) string {
	switch r := r.(type) {
	case reason.NoRoomBeside:
		return fmt.Sprintf("was to move to %s, but there is no room for it beside the others", r.To)
	case reason.Circle:
		return fmt.Sprintf("was to move to %s, but jobs there wait for its own GPUs: a circle; it stays this time", r.To)
	case reason.NoPlace:
		return fmt.Sprintf("wants %d GPUs, but no nodes of its partition have them free in a split Slurm can give", r.GPUs)
	case reason.CannotGiveBack:
		return fmt.Sprintf("was to give back %d GPUs, but no split of the rest on its own nodes is possible", r.GPUs)
	}
	return ""
}

func (s speaker) leaves(r reason.Reason) string {
	switch r := r.(type) {
	case reason.Draining:
		if r.Why != "" {
			return fmt.Sprintf("%s is draining (%s)", r.Node, r.Why)
		}
		return r.Node + " is draining"
	case reason.Maintenance:
		return fmt.Sprintf("%s is in maintenance from %s on (reservation %s)", r.Node, s.clock(r.At), r.Reservation)
	case reason.TakesNothingNew:
		return r.Node + " accepts no new jobs: " + s.state(r.State, r.Note, r.Until)
	case reason.NothingNew:
		return fmt.Sprintf("nothing new is started on %s: %s", r.Node, s.state(r.State, r.Note, r.Until))
	case reason.OnEdge:
		return fmt.Sprintf("on %s of the edge pool %s", r.Node, r.Pool)
	}
	return ""
}

func (s speaker) deadline(r reason.Reason) string {
	switch r := r.(type) {
	case reason.EndsBy:
		return fmt.Sprintf("it ends by %s, %s before its deadline", s.moment(r.Ends), span(r.Spare))
	case reason.DeadlinePassed:
		return fmt.Sprintf("its deadline %s has passed: it is treated as a job without one", s.moment(r.Deadline))
	case reason.DeadlineUnknown:
		return fmt.Sprintf("its deadline %s cannot be guaranteed yet: its speed is not known", s.moment(r.Deadline))
	case reason.DeadlineUnjudged:
		return fmt.Sprintf("its deadline %s is judged when it can be resized", s.moment(r.Deadline))
	case reason.DeadlineUnmet:
		if r.Ends.IsZero() {
			return fmt.Sprintf("its deadline %s cannot be met, and no possible end is known", s.moment(r.Deadline))
		}
		return fmt.Sprintf("its deadline %s cannot be met; earliest possible end: %s", s.moment(r.Deadline), s.moment(r.Ends))
	}
	return ""
}
