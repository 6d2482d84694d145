package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
)

// completer returns the words that an argument or an option's value can be; args are the
// arguments before it. A shell asks for them while the user types, so none may print or
// take longer than completionTime: without an answer there is no word.
type completer func(cmd *cobra.Command, args []string) []cobra.Completion

// completionTime bounds how long completion waits for sluiced.
const completionTime = 2 * time.Second

// mostEnded bounds how many ended jobs are offered, the newest ones.
const mostEnded = 100

// addCompletion adds to each verb, except the separate programs, the completion of its
// arguments and options. The tree has all verbs whenever a shell asks.
func addCompletion(root *cobra.Command) {
	for _, c := range root.Commands() {
		if complete, has := argumentWords[c.Name()]; has {
			c.ValidArgsFunction = complete.only
		}
		if listed, has := listedOptions[c.Name()]; has {
			c.ValidArgsFunction = listed.complete
		}
		for name, complete := range optionWords[c.Name()] {
			_ = c.RegisterFlagCompletionFunc(name, complete.listed) // fails only without such an option, which a test finds
		}
	}
}

// only offers words and no files.
func (f completer) only(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return startingWith(f(cmd, args), typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// listed is only for an option that takes several values, separated by commas: the last
// one is completed.
func (f completer) listed(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	words := startingWith(f(cmd, args), typed[len(before):])
	for i := range words {
		words[i] = before + words[i]
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// startingWith returns the words that start with what is typed. Names are other users' text,
// and a shell reads one word a line: words with control characters are left out.
func startingWith(words []cobra.Completion, typed string) (out []cobra.Completion) {
	for _, w := range words {
		word, about, _ := strings.Cut(w, "\t")
		if strings.HasPrefix(word, typed) && strings.IndexFunc(word, terminal.Unprintable) < 0 && !strings.ContainsAny(word, " '\"\\`$;&|<>(){}*?!#~") {
			out = append(out, cobra.CompletionWithDesc(word, terminal.Escape(about)))
		}
	}
	return out
}

// fixed is a closed set of words, each with what it is after a tab.
func fixed(words ...cobra.Completion) completer {
	return func(*cobra.Command, []string) []cobra.Completion { return words }
}

// reports returns words that are made from sluiced's report, which contains ended jobs too if
// ended is set.
func reports(ended bool, words func(e etc.Config, r wire.Report, args []string) []cobra.Completion) completer {
	return func(cmd *cobra.Command, args []string) []cobra.Completion {
		site, daemon := quietly(cmd)
		if daemon == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		ask := daemon.Present
		if ended {
			ask = daemon.Report
		}
		report, err := ask(ctx)
		if err != nil {
			return nil
		}
		return words(site, report, args)
	}
}

// quietly is daemonFor without a message; nil = there is none to ask.
func quietly(cmd *cobra.Command) (etc.Config, *client.Client) {
	site, err := reach.Site(cmd)
	if err != nil || !reach.Askable(site) {
		return site, nil
	}
	daemon, err := reach.Dial(site)
	if err != nil {
		return site, nil
	}
	return site, daemon
}

// jobsOf offers jobs that args do not name yet, each with its name, size and user: those that
// have not ended first, as sluice queue lists them, and the newest of those that have.
func jobsOf(offer func(j *wire.Job) bool) func(etc.Config, wire.Report, []string) []cobra.Completion {
	return func(_ etc.Config, r wire.Report, args []string) (out []cobra.Completion) {
		var ended []cobra.Completion
		for i := range r.Jobs {
			j := &r.Jobs[i]
			id := strconv.FormatInt(j.JobID, 10)
			switch {
			case slices.Contains(args, id) || !offer(j):
			case j.Ended:
				ended = append(ended, cobra.CompletionWithDesc(id, fmt.Sprintf("%s  %s  %s", j.Name, strings.ToLower(j.State), j.User)))
			default:
				out = append(out, cobra.CompletionWithDesc(id, fmt.Sprintf("%s  %s GPUs  %s", j.Name, present.GPUs(j), j.User)))
			}
		}
		return append(out, ended[:min(len(ended), mostEnded)]...)
	}
}

// anyJob offers every job that sluiced shows to the caller.
var anyJob = reports(true, jobsOf(func(*wire.Job) bool { return true }))

// oneOf offers jobs for a verb that takes a single one.
func oneOf(jobs completer) completer {
	return func(cmd *cobra.Command, args []string) []cobra.Completion {
		if len(args) > 0 {
			return nil
		}
		return jobs(cmd, args)
	}
}

// myJobs offers the jobs that the caller may change and that offer accepts: the caller's own,
// or all for root and operators.
func myJobs(offer func(j *wire.Job) bool) completer {
	return reports(false, func(site etc.Config, r wire.Report, args []string) []cobra.Completion {
		uid := os.Getuid()
		all := uid == 0
		if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
			all = all || slices.Contains(site.Users.Operators, u.Username)
		}
		return jobsOf(func(j *wire.Job) bool { return !j.Ended && (all || int(j.UID) == uid) && offer(j) })(site, r, args)
	})
}
