package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// arrives is an answer as a client gets it.
func (l *lab) arrives(a wire.Answer) (got wire.Answer) {
	l.t.Helper()
	var sent bytes.Buffer
	l.must(send(&sent, a))
	line, err := wire.ReadLine(bufio.NewReader(&sent), wire.MaxAnswer)
	l.must(err)
	l.must(json.Unmarshal(line, &got))
	return got
}

// One user's names of files, however many and long, neither keep an owner from reviewing nor hide what others' jobs left;
// and whoever submitted many jobs can still list them, above all those that run.
func TestListsAreBounded(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,900KB/week")
	mine := l.submit(bob)
	l.put(mine, "out/plot.png", "plot")
	l.end(mine)
	l.get(bob, wire.Request{Do: wire.Results, Job: mine})
	apply := func(e vault.Entry) { // without the time that a record takes
		l.must(l.s.vault.state.Apply(e))
	}
	runs := l.submit(ada)
	for n := range 2 {
		id := fmt.Sprintf("%032x", n)
		apply(vault.Entry{Event: vault.Submitted, By: "ada", Job: id, Sets: []string{"mammo"}})
		apply(vault.Entry{Event: vault.Started, Job: id, JobID: int64(n) + 1000})
		apply(vault.Entry{Event: vault.Ended, Job: id})
		for k := range mostResults {
			apply(vault.Entry{Event: vault.Told, Job: id, File: fmt.Sprintf("%s%04d", strings.Repeat("<", 1020), k), Digest: "d", State: wire.FileKept})
		}
	}
	review, _ := l.get(hanna, wire.Request{Do: wire.Review, Name: "mammo"})
	got := l.arrives(review)
	of := map[string]int{}
	for _, k := range got.Kept {
		of[k.User]++
	}
	if of["bob"] != 1 || of["ada"] < 500 || of["ada"] >= 2*mostResults || !got.More {
		t.Errorf("%v files wait, more: %v, %v", of, got.More, got.Error)
	}
	last := got.Kept[slices.IndexFunc(got.Kept, func(k wire.Kept) bool { return k.User == "ada" })]
	if done, _ := l.get(hanna, wire.Request{Do: wire.Review, Name: "mammo", Job: last.Job, File: last.Name, Order: wire.Allow}); len(done.Kept) > 0 {
		t.Error("an order is answered with a list")
	}

	for n := range 20_000 {
		id := fmt.Sprintf("a%031x", n)
		apply(vault.Entry{Event: vault.Submitted, By: "ada", Job: id, Sets: []string{"mammo"}, Script: strings.Repeat("<", 255)})
		apply(vault.Entry{Event: vault.Refused, Job: id})
	}
	jobs, _ := l.get(ada, wire.Request{Do: wire.Jobs})
	got = l.arrives(jobs)
	has := func(id string) bool {
		return slices.ContainsFunc(got.Jobs, func(j wire.Job) bool { return j.ID == id })
	}
	if got.Error != nil || !got.More || !has(runs) || !has(fmt.Sprintf("a%031x", 19_999)) || has(fmt.Sprintf("a%031x", 0)) {
		t.Errorf("%d jobs, more: %v, %v", len(got.Jobs), got.More, got.Error)
	}
}
