package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/vault/client"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// mostLog bounds the bytes of a log that are taken at once, and longestLog those of all of it: [data] log is not larger.
const (
	mostLog    = 64 << 20
	longestLog = 1 << 30
)

// confinedLog is the log of a confined job, as far as it is released. Each byte counts against the budget when it is read first.
type confinedLog struct {
	vault *client.Client
	id    string // the job, for sluice-vaultd
	from  int64  // where to go on
	total int64  // bytes that came
	ended bool   // no more will be released
	over  bool   // because of the budget
}

// next returns what comes next; empty = nothing yet.
func (l *confinedLog) next(ctx context.Context) ([]byte, error) {
	var part bytes.Buffer
	a, err := l.vault.Do(ctx, wire.Request{Do: wire.Logs, Job: l.id, From: l.from}, nil, &bounded{to: &part, left: mostLog})
	if err != nil {
		return nil, err
	}
	n := int64(part.Len())
	if l.total += n; l.total > longestLog || n > 0 && a.Next <= l.from {
		return nil, errors.New("sluice-vaultd sent a log that does not end")
	}
	l.from, l.over = max(a.Next, l.from), a.Over
	l.ended = (a.Over || a.Ended) && part.Len() == 0
	return part.Bytes(), nil
}

// bounded fails once more was written than it takes.
type bounded struct {
	to   io.Writer
	left int
}

// Write passes on what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("the answer is longer than %d MiB, which no part of a log is", mostLog>>20)
	}
	return b.to.Write(p)
}

// printConfined prints the log of a confined job.
func (o logOptions) printConfined(cmd *cobra.Command, vault *client.Client, job elastic.JobID, id string) error {
	if o.errors {
		return fmt.Errorf("job %d: %w", job, errNoErrors)
	}
	ctx := cmd.Context()
	log := &confinedLog{vault: vault, id: id}
	p := &picker{out: &harmless{out: cmd.OutOrStdout()}, job: int64(job), want: int(o.segment)} // printable text is promised, and not believed
	if o.segment == newest || o.lines > 0 {
		if err := o.tail(ctx, p, log, int64(job)); err != nil {
			return err
		}
	}
	for !log.ended && !p.past {
		part, err := log.next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		if _, err := p.Write(part); err != nil {
			return err
		}
		if len(part) == 0 && (!o.follow || !log.ended && !pause(ctx, lookAtLog)) {
			break
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if log.over {
		terminal.Warn(cmd.ErrOrStderr(), fmt.Sprintf("job %d: more of the log does not leave: the budget of the data, or the site's limit of a log, is used up", job))
	}
	if p.want >= 0 && !p.found {
		return fmt.Errorf("job %d: nothing in its log is of run %d; 'sluice history %d' lists its runs", job, p.want, job)
	}
	return nil
}

// lookAtLog is how often a log that is followed is asked for: sluice-vaultd limits how fast it leaves.
const lookAtLog = 2 * time.Second

// tail reads all that there is, and prints the part that --lines or --segment last means.
func (o logOptions) tail(ctx context.Context, p *picker, log *confinedLog, job int64) error {
	var text []byte
	for full := trimmed; ; {
		part, err := log.next(ctx)
		if err != nil {
			return err
		}
		text = append(text, part...)
		if done := len(part) == 0; done || len(text) > full {
			text = bytes.Clone(o.end(text, job))
			full = trimmed + 2*len(text)
			if done {
				break
			}
		}
	}
	if o.segment == newest {
		last := &seeker{job: job, last: -1}
		_, _ = last.Write(text) // it takes everything
		if last.last < 0 {
			return fmt.Errorf("job %d: no run begins in its log; without --segment all of it is printed", job)
		}
		p.want, p.onwards = last.last, o.follow
	}
	_, err := p.Write(text)
	return err
}

// trimmed is how much of a log is kept, in bytes, before what is not wanted is dropped.
const trimmed = 4 << 20

// end is the part of a log's beginning that --lines or --segment last can still mean, whatever follows.
func (o logOptions) end(text []byte, job int64) []byte {
	if o.lines > 0 {
		return lastLines(text, o.lines)
	}
	from, at, last := 0, 0, -1
	for line := range bytes.Lines(text) {
		if b, ok := runner.ParseBanner(string(line)); ok && !b.End && b.Job == job && b.Segment > last && line[len(line)-1] == '\n' {
			from, last = at, b.Segment
		}
		at += len(line)
	}
	return text[from:]
}

// lastLines are the last n lines of a text.
func lastLines(text []byte, n int) []byte {
	end := len(bytes.TrimSuffix(text, []byte("\n")))
	for ; n > 0; n-- {
		if end = bytes.LastIndexByte(text[:end], '\n'); end < 0 {
			return text
		}
	}
	return text[end+1:]
}
