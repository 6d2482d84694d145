package say

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-hpc/sluice/elastic/message"
)

// Message returns a message with its subject, of one line, and its text. The text of mails in Slurm's own form
// is empty, as Slurm's is.
func Message(m message.Message) message.Message {
	m.Subject, m.Text = subject(m), ""
	if m.Code == message.SlurmBegan || m.Code == message.SlurmRequeued {
		return m
	}
	m.Text = m.Subject + ".\n"
	for _, line := range lines(m) {
		m.Text += line + "\n"
	}
	return m
}

func subject(m message.Message) string {
	job := ""
	if m.Job != nil {
		job = fmt.Sprintf("job %d (%s)", m.Job.ID, line(m.Job.Name))
	}
	switch m.Code {
	case message.Start:
		return fmt.Sprintf("%s runs on %s after waiting %s", job, count(m.GPUs, "GPU"), timeOf(m.Waited))
	case message.End, message.Failure:
		return fmt.Sprintf("%s %s", job, line(m.Ending))
	case message.Deadline:
		if m.State == message.Broken {
			return fmt.Sprintf("%s has not ended by its deadline %s", job, m.Due)
		}
		return fmt.Sprintf("%s may not end by its deadline %s", job, m.Due)
	case message.Digest:
		return fmt.Sprintf("%s was resized %s; it has %s", job, times(m.Resizes), count(m.GPUs, "GPU"))
	case message.Unfit:
		if m.State == message.Ends {
			return fmt.Sprintf("node %s is used again", line(m.Node))
		}
		return fmt.Sprintf("node %s gets no new job: %s", line(m.Node), line(m.Why))
	case message.Blind:
		if m.State == message.Ends {
			return "Slurm answers sluiced again after " + timeOf(m.Lasted)
		}
		return fmt.Sprintf("Slurm has not answered sluiced for %s; nothing is resized meanwhile", timeOf(m.Lasted))
	case message.SlurmBegan:
		return fmt.Sprintf("Slurm Job_id=%d Name=%s Began, Queued time %s", m.Job.ID, line(m.Job.Name), SlurmTime(m.Waited))
	case message.SlurmRequeued:
		return fmt.Sprintf("Slurm Job_id=%d Name=%s Requeued, Run time %s", m.Job.ID, line(m.Job.Name), SlurmTime(m.Ran))
	}
	return string(m.Code)
}

// lines are what follows the subject.
func lines(m message.Message) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if m.On != "" {
		add("Its GPUs: %s", m.On)
	}
	if m.Ran > 0 {
		add("Time since its first run: %s", timeOf(m.Ran))
	}
	if m.Ends != "" {
		add("Expected end: %s", m.Ends)
	}
	if m.Code == message.Blind && m.Why != "" {
		add("The last answer: %s", line(m.Why))
	}
	if n := m.Resizes - len(m.Moves); n > 0 {
		add("%d earlier resizes are not listed", n)
	}
	for _, v := range m.Moves {
		add("%s  %s -> %s", v.At.UTC().Format("2006-01-02 15:04:05 MST"), count(v.From, "GPU"), count(v.To, "GPU"))
	}
	if m.Job != nil && m.Code != message.End {
		add("More: sluice explain %d, sluice history %d", m.Job.ID, m.Job.ID)
	}
	return out
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// timeOf returns seconds as a duration, rounded to seconds.
func timeOf(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// SlurmTime returns seconds as Slurm writes them: D-HH:MM:SS, without the days if there are none.
func SlurmTime(seconds float64) string {
	n := int64(max(0, seconds))
	text := fmt.Sprintf("%02d:%02d:%02d", n/3600%24, n/60%60, n%60)
	if days := n / 86400; days > 0 {
		text = fmt.Sprintf("%d-%s", days, text)
	}
	return text
}

// mostOfLine bounds the runes of a user's text in a line.
const mostOfLine = 200

// line returns a user's text as a part of one line.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > mostOfLine {
		s = string(runes[:mostOfLine]) + "..."
	}
	return s
}
