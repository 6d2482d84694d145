package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// columns are where the fields stand in a line; -1 = the file does not have it.
type columns struct {
	count                                 int
	id, user, account, partition, name    int
	submit, eligible, start, end, elapsed int
	raw                                   int // elapsed seconds
	state, nodes, alloc, req              int
}

// header finds the columns in the first line.
func (d *sacctReader) header() error {
	line, err := d.in.next()
	if err != nil {
		return d.in.fail(1, "the file is empty; fill it with\n%s", SacctCommand)
	}
	names := strings.Split(strings.ToLower(strings.TrimSpace(string(line))), "|")
	find := func(any ...string) int {
		for _, name := range any {
			if at := slices.Index(names, name); at >= 0 {
				return at
			}
		}
		return -1
	}
	c := columns{
		count: len(names), id: find("jobid", "jobidraw"), user: find("user"), account: find("account"), partition: find("partition"), name: find("jobname"),
		submit: find("submit"), eligible: find("eligible"), start: find("start"), end: find("end"), elapsed: find("elapsed"), raw: find("elapsedraw"),
		state: find("state"), nodes: find("nnodes", "allocnodes"), alloc: find("alloctres"), req: find("reqtres"),
	}
	for _, need := range []struct {
		what string
		at   int
	}{
		{"JobID", c.id},
		{"Submit", c.submit},
		{"Start", c.start},
		{"End, or Elapsed,", max(c.end, c.elapsed, c.raw)},
		{"State", c.state},
		{"AllocTRES, or ReqTRES,", max(c.alloc, c.req)},
	} {
		if need.at < 0 {
			return d.in.fail(1, "the first line names no column %s; print the accounts, with their header, by\n%s", need.what, SacctCommand)
		}
	}
	if len(d.partitions) > 0 && c.partition < 0 {
		return d.in.fail(1, "partitions are asked for and the first line names no column Partition; add it to --format")
	}
	d.columns = c
	return nil
}

// fields splits a line. Only a job's name can hold the separator itself: what is
// too much belongs to it.
func (d *sacctReader) fields(line string) ([]string, error) {
	f := strings.Split(line, "|")
	c := d.columns
	if extra := len(f) - c.count; extra > 0 && c.name >= 0 {
		joined := strings.Join(f[c.name:c.name+extra+1], "|")
		f = append(append(f[:c.name:c.name], joined), f[c.name+extra+1:]...)
	}
	if len(f) != c.count {
		return nil, d.in.fail(1, "%d fields, and the first line names %d; want the output of sacct -P as it is", len(f), c.count)
	}
	return f, nil
}

// line takes one line in. What cannot be read is skipped and counted: a user's words can
// hold the separator, and one such line says nothing against the others.
func (d *sacctReader) line(line string) error {
	f, err := d.fields(line)
	if err != nil {
		d.unreadable(err)
		return nil
	}
	p := &sacctLine{d: d, fields: f}
	run, skip := p.read()
	if p.err != nil {
		d.unreadable(p.err)
		return nil
	}
	run.line, run.kind = d.in.n, p.kind
	run.state = d.pools.text(p.state())
	switch skip {
	case "":
		return d.keep(run)
	case SkipRunning:
		d.open[run.record()] = run
	}
	d.skipped[skip]++
	return nil
}

// unreadable counts a line that cannot be read, and keeps the words of the first ones.
func (d *sacctReader) unreadable(err error) {
	d.skipped[SkipBad]++
	if len(d.bad) < badShown {
		d.bad = append(d.bad, err.Error())
	}
}

// sacctLine is one line; the first thing wrong with it stays in err.
type sacctLine struct {
	d      *sacctReader
	fields []string
	err    error
	kind   string // of GPU, when one is named
}

// at returns the field, "" when the file does not have it.
func (p *sacctLine) at(column int) string {
	if column < 0 {
		return ""
	}
	return p.fields[column]
}

// bad notes that the field cannot be read.
func (p *sacctLine) bad(column int, want string) {
	if p.err != nil {
		return
	}
	at := column + 1
	for _, f := range p.fields[:column] {
		at += len([]rune(f))
	}
	p.err = p.d.in.fail(at, "%q: want %s", cutName(p.fields[column]), want)
}

// read returns the run, or why it is skipped.
func (p *sacctLine) read() (run dated, skip string) {
	c := p.d.columns
	id := p.at(c.id)
	if strings.Contains(id, ".") {
		return run, SkipStep
	}
	if id == "" || len(id) > maxName || id[0] < '0' || id[0] > '9' {
		p.bad(c.id, "a job id such as 4711 or 4711_3")
		return run, ""
	}
	run.ID, run.User, run.Partition = strings.Clone(id), p.d.pools.text(p.at(c.user)), p.d.pools.text(p.at(c.partition))
	run.Account = p.d.pools.text(p.at(c.account))
	if len(p.d.partitions) > 0 && !slices.Contains(p.d.partitions, run.Partition) {
		return run, SkipPartition
	}
	run.GPUs, run.Nodes = p.resources()
	if run.GPUs == 0 && (p.at(c.alloc) != "" || p.at(c.req) != "") {
		return run, SkipNoGPU
	}
	run.submit, run.start = p.moment(c.submit), p.moment(c.start)
	run.said = run.submit
	if run.start.IsZero() || run.GPUs == 0 {
		return run, SkipUnstarted
	}
	if run.submit.IsZero() {
		p.bad(c.submit, "a time such as 2026-01-02T03:04:05")
	}
	if eligible := p.moment(c.eligible); eligible.After(run.submit) {
		run.submit = eligible
	}
	if run.submit.After(run.start) { // the clock of a requeue
		run.submit = run.start
	}
	return run, p.finish(&run)
}

// finish fills in how the run ended, or says why it is skipped.
func (p *sacctLine) finish(run *dated) (skip string) {
	c := p.d.columns
	run.end = p.moment(c.end)
	run.Took = p.elapsed()
	switch p.state() {
	case "RUNNING", "PENDING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED":
		return SkipRunning
	}
	if run.end.IsZero() {
		if c.end >= 0 {
			return SkipRunning
		}
		run.end = run.start.Add(run.Took)
	}
	if c.elapsed < 0 && c.raw < 0 {
		run.Took = run.end.Sub(run.start)
	}
	if p.err == nil && run.end.Before(run.start) {
		p.bad(c.end, "an end after the start")
	}
	if run.Took < time.Second {
		return SkipInstant
	}
	return ""
}

// state is Slurm's word without who did it: CANCELLED of "CANCELLED by 1000".
func (p *sacctLine) state() string {
	word, _, _ := strings.Cut(p.at(p.d.columns.state), " ")
	return cutName(strings.TrimSuffix(word, "+"))
}

// moment reads a time; zero for none. SLURM_TIME_FORMAT=%s makes it a number of
// seconds, which is read too.
func (p *sacctLine) moment(column int) time.Time {
	text := p.at(column)
	switch text {
	case "", "Unknown", "None", "N/A":
		return time.Time{}
	}
	if t, err := time.Parse("2006-01-02T15:04:05", text); err == nil && t.Year() >= 1970 && t.Year() < 2200 {
		return t
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n < 7_258_118_400 {
		return time.Unix(n, 0).UTC()
	}
	p.bad(column, "a time such as 2026-01-02T03:04:05, or Unknown")
	return time.Time{}
}

// elapsed reads the time run: seconds, or [days-]hours:minutes:seconds.
func (p *sacctLine) elapsed() time.Duration {
	c := p.d.columns
	if text := p.at(c.raw); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > maxSeconds {
			p.bad(c.raw, "elapsed seconds")
			return 0
		}
		return time.Duration(n) * time.Second
	}
	text := p.at(c.elapsed)
	if text == "" {
		return 0
	}
	d, err := parseElapsed(text)
	if err != nil {
		p.bad(c.elapsed, "a time run such as 1-02:03:04")
	}
	return d
}

func parseElapsed(text string) (time.Duration, error) {
	text, _, _ = strings.Cut(text, ".") // microseconds
	days, clock, dashed := strings.Cut(text, "-")
	if !dashed {
		days, clock = "0", text
	}
	parts := append([]string{days}, strings.Split(clock, ":")...)
	if len(parts) == 3 { // minutes and seconds
		parts = slices.Insert(parts, 1, "0")
	}
	if len(parts) != 4 {
		return 0, fmt.Errorf("%d parts", len(parts))
	}
	total := int64(0)
	for i, size := range []int64{86400, 3600, 60, 1} {
		n, err := strconv.ParseUint(parts[i], 10, 20)
		if err != nil {
			return 0, err
		}
		total += int64(n) * size
	}
	if total > maxSeconds {
		return 0, fmt.Errorf("%d seconds", total)
	}
	return time.Duration(total) * time.Second, nil
}
