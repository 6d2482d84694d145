package track

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
)

// TakenUp describes an open move from the journal, for the log: the daemon that opened it may have
// crashed before it logged the last step.
func TakenUp(in elastic.Intent) string {
	text := fmt.Sprintf("%s %s -> %s, incarnation %d, at R%d", in.Kind, in.From, in.Target, in.To, in.Step)
	if in.Checkpoint != "" {
		text += ", checkpoint " + in.Checkpoint
	}
	return text
}

// tellRun logs once a run which checkpoint it resumed from, as its runner reports it. A run is known
// by the time of its first line: restart counts may repeat where slurmctld lost its state.
func (st *State) tellRun(js *Job, now time.Time) {
	word := js.Mail.runner.word
	if !js.Mail.runner.ok || word.FirstLine.IsZero() || word.FirstLine.Equal(js.Mail.begun) {
		return
	}
	js.Mail.begun = word.FirstLine
	from := "nothing"
	if word.Resumed != "" {
		from = "checkpoint " + word.Resumed
	}
	began := word.FirstLine.UTC().Format("2006-01-02T15:04:05.000Z")
	text := fmt.Sprintf("run %d of incarnation %d began at %s from %s", word.Restarts, word.Incarnation, began, from)
	fields := event.Fields{Incarnation: word.Incarnation, Checkpoint: word.Resumed, RunFields: event.RunFields{Run: &word.Restarts, Began: began}}
	for i, skipped := range word.Skipped {
		text += []string{"; passed over ", ", "}[min(i, 1)] + strconv.Quote(skipped)
		name, _, _ := strings.Cut(skipped, ": ") // "NAME: WHY", as PROTOCOL.md has it
		fields.Passed = append(fields.Passed, name)
	}
	st.Tell(now, js.Rec.ID, "run", text, fields)
}
