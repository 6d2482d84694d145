package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// write prints the summary for people.
func (w *whatif) write(out io.Writer) error {
	var b strings.Builder
	for _, p := range []string{w.replayed() + w.leftOut() + w.requeued(), w.assumed(), w.compare()} {
		b.WriteString(fold(p))
	}
	b.WriteByte('\n')
	if err := w.figures().Write(&b); err != nil {
		return err
	}
	b.WriteByte('\n')
	accounts, err := w.byAccount()
	if err != nil {
		return err
	}
	if accounts != "" {
		b.WriteString(accounts + "\n")
	}
	for _, p := range []string{w.changed(), w.whoGains(), w.sensitive(), w.faithful(), w.silent()} {
		if p != "" {
			b.WriteString(fold(p))
		}
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// fold breaks a paragraph into lines of at most 88 characters; further lines are
// indented.
func fold(text string) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(terminal.Escape(text)) {
		n := len([]rune(word))
		switch {
		case at == 0:
		case at+1+n > 88:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteByte('\n')
	return b.String()
}

func (w *whatif) replayed() string {
	f := w.history.Figures()
	first := w.history.First
	text := fmt.Sprintf("Replayed: %s on GPUs from %s to %s, %s GPU-hours, on %s", terminal.Plural(len(w.history.Runs), "job"),
		first.Format("2006-01-02"), first.Add(f.Span).Format("2006-01-02"), thousands(f.GPUHours), w.cluster())
	if len(w.history.Types) > 1 {
		text += fmt.Sprintf(" They had %d types of GPU (%s), which the replay treats as one.", len(w.history.Types), counts(w.history.Types))
	}
	return text
}

func (w *whatif) cluster() string {
	s := w.site
	text := fmt.Sprintf("a cluster of %s (%s).", s.text, terminal.Plural(s.gpus, "GPU"))
	if s.inferred {
		return text + " That is the smallest cluster on which the peak of the history fits; give the true one with --cluster NODESxGPUS."
	}
	return text
}

func (w *whatif) leftOut() string {
	if len(w.history.Skipped) == 0 {
		return ""
	}
	text := " Left out: " + counts(w.history.Skipped) + "."
	if bad := w.history.Unreadable; len(bad) > 0 {
		text += " The first that cannot be read is " + bad[0] + "."
	}
	return text
}

// requeued states the assumption about jobs that ran more than once.
func (w *whatif) requeued() string {
	h := w.history
	if h.Joined == 0 {
		return " No job has two runs. If sacct ran without -D, a job that was requeued counts as its last run only."
	}
	return fmt.Sprintf(" %s requeued and ran %d times. Each counts as one job with the GPU time of all its runs, as if each run had continued the one before; what a run did again counts as work.",
		wasOrWere(h.Requeued), h.Joined)
}

func wasOrWere(jobs int) string {
	if jobs == 1 {
		return "1 job was"
	}
	return terminal.Plural(jobs, "job") + " were"
}

// counts formats "without GPUs (5), never started (2)".
func counts(list []workload.Count) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%s (%d)", c.What, c.N)
	}
	return strings.Join(parts, ", ")
}

func (w *whatif) assumed() string {
	o, a := w.options, w.after[0]
	return fmt.Sprintf("Assumed: %s, which is %s; every start and resize of these costs %s. Policy %s decides every %s, from its measurements of a job and the length its user declared.",
		a.assume, terminal.Plural(a.elastic, "job"), terminal.Clock(o.restart), o.policy, terminal.Clock(o.interval))
}

func (w *whatif) compare() string {
	return "Compared with: every job at the size it had, first come, first served, with backfill that knows how long each will run. With sluice, jobs that are not elastic are started in the same way, and sluice makes room for them."
}

// figures is the table of the history and the replays.
func (w *whatif) figures() *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{terminal.Left(""), terminal.Right("MEAN"), terminal.Right("MEDIAN"), terminal.Right("P99"), terminal.Right("LONGEST"),
		terminal.Right("WAIT"), terminal.Right("MAXWAIT"), terminal.Right("IDLE"), terminal.Right("RESIZES")}}
	row := func(name string, f workload.Figures, idle float64, resizes string) {
		t.Add(name, terminal.Clock(f.MeanJCT), terminal.Clock(f.MedianJCT), terminal.Clock(f.P99JCT), terminal.Clock(f.LongestJCT), terminal.Clock(f.MeanWait), terminal.Clock(f.MaxWait),
			fmt.Sprintf("%.0f%%", 100*idle), resizes)
	}
	f := w.history.Figures()
	row("recorded", f, w.recordedIdle(f), "-")
	row("replayed, sizes as they were", w.before.Figures, w.before.idle, "-")
	for i, name := range []string{"with sluice", "  if jobs scale worse", "  if jobs scale better"} {
		o := w.after[i]
		row(name, o.Figures, o.idle, fmt.Sprintf("%.1f", float64(o.result.Restarts)/float64(len(o.result.Jobs))))
	}
	return t
}

func (w *whatif) changed() string {
	b, a := w.before, w.after[0]
	sooner, later, most := w.compared(a, w.all())
	text := fmt.Sprintf("What changes: from submit to end a job takes %s in the mean (%s rather than %s), and waits %s for its first GPU rather than %s. Of %s, %d end sooner and %d later by a tenth of their time and a minute at least",
		became(b.MeanJCT, a.MeanJCT), terminal.Clock(a.MeanJCT), terminal.Clock(b.MeanJCT), terminal.Clock(a.MeanWait), terminal.Clock(b.MeanWait), terminal.Plural(len(a.result.Jobs), "job"), sooner, later)
	if later > 0 {
		text += fmt.Sprintf("; the largest loss is %s", terminal.Clock(most))
	}
	return text + fmt.Sprintf(". %s of the GPU time is idle rather than %s.", percent(a.idle), percent(b.idle))
}

func (w *whatif) sensitive() string {
	b, likely, worse, better := w.before, w.after[0], w.after[1], w.after[2]
	return fmt.Sprintf("How sure: if 4 GPUs that become 8 make a job %.1f times as fast, as assumed, the mean is %s; if %.1f times, %s; if %.1f times, %s.",
		likely.assume.Gain(4, 8), became(b.MeanJCT, likely.MeanJCT), worse.assume.Gain(4, 8), became(b.MeanJCT, worse.MeanJCT),
		better.assume.Gain(4, 8), became(b.MeanJCT, better.MeanJCT))
}

// faithfulWithin is how far a replay may differ from the record before the user is
// warned.
const faithfulWithin = .15

// faithful reports whether the replay is close to the history.
func (w *whatif) faithful() string {
	real, replayed := w.history.Figures().MeanJCT, w.before.MeanJCT
	off := math.Abs(replayed.Seconds()/real.Seconds() - 1)
	text := fmt.Sprintf("How faithful: replayed with the sizes they had, jobs take %s in the mean; recorded were %s", terminal.Clock(replayed), terminal.Clock(real))
	if off <= faithfulWithin {
		return text + ": the replay is close to what happened."
	}
	text += fmt.Sprintf(", %s off. ", percent(off))
	if replayed < real {
		text += "Jobs waited for something that the replay does not include, such as limits, priorities, reservations, nodes that were down, or jobs of other partitions; a --cluster that is too large has the same effect. The first two rows differ by that; compare only the other rows."
	} else {
		text += "The replay has fewer free GPUs than the cluster had: it may have had more GPUs than were ever in use at once; give its true size with --cluster."
	}
	return text
}

// silent lists what the replay does not show.
func (w *whatif) silent() string {
	return "What this does not show: whether your programs can save and resume at another size, fit on fewer GPUs and keep their accuracy; what users would submit if they waited less; the effect of limits, fair share, reservations and time limits. A first test with real jobs: sluice submit --min-gpus=1 --max-gpus=8 job.sh."
}

// became formats the change of a duration: "38% less", "4% more", "the same".
func became(from, to time.Duration) string {
	if from <= 0 {
		return "the same"
	}
	p := 100 * (to.Seconds()/from.Seconds() - 1)
	switch {
	case p <= -.5:
		return fmt.Sprintf("%.0f%% less", -p)
	case p >= .5:
		return fmt.Sprintf("%.0f%% more", p)
	}
	return "the same"
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// thousands formats a number without decimals, with spaces between thousands.
func thousands(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
