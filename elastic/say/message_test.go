package say

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/message"
)

// TestMessage: every message has a subject of one line, whatever its job is called, and a text; Slurm's mails have
// Slurm's form and no text.
func TestMessage(t *testing.T) {
	evil := "a\nBcc: x\x1b[31m\u202e" + strings.Repeat("n", 3000)
	for code, want := range map[message.Code]string{
		message.Start: "runs on 2 GPUs after waiting 1h0m0s", message.End: "completed", message.Failure: "completed", message.Deadline: "may not end by its deadline D",
		message.Digest: "was resized once; it has 2 GPUs", message.Unfit: "gets no new job", message.Blind: "has not answered sluiced for 1m0s",
		message.SlurmBegan: "Slurm Job_id=7 Name=a?Bcc: x?[31m?nnn", message.SlurmRequeued: "Requeued, Run time 1-00:00:01",
	} {
		m := Message(message.Message{Code: code, At: time.Unix(0, 0), GPUs: 2, Waited: 3600, Ran: 86401, Due: "D", Resizes: 1, Lasted: 60, Node: evil, Why: evil, Ending: "completed",
			Moves: []message.Move{{From: 1, To: 2}}, Job: &message.Job{ID: 7, Name: evil, User: "ann"}})
		if !strings.Contains(m.Subject, want) || strings.ContainsAny(m.Subject, "\n\x1b\u202e") || len(m.Subject) > 1000 {
			t.Errorf("%s: %q", code, m.Subject)
		}
		slurms := code == message.SlurmBegan || code == message.SlurmRequeued
		if slurms != (m.Text == "") || strings.ContainsAny(m.Text, "\x1b\u202e") || strings.Contains(m.Text, "\nBcc") {
			t.Errorf("%s: %q", code, m.Text)
		}
	}
}

func TestSlurmTime(t *testing.T) {
	for seconds, want := range map[float64]string{-1: "00:00:00", 0: "00:00:00", 3.9: "00:00:03", 86399: "23:59:59", 86400: "1-00:00:00", 172800 + 258: "2-00:04:18"} {
		if got := SlurmTime(seconds); got != want {
			t.Errorf("%v: %s, want %s", seconds, got, want)
		}
	}
}
