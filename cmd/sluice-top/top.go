package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/sluice-top/screen"
)

// longestInterval bounds --iterate, in seconds: an hour.
const longestInterval = 3600

func newTopCommand() *cobra.Command {
	var filter present.Filter
	var sort, format string
	var every int
	c := &cobra.Command{
		Use:   "top [OPTION]... [WORD]...",
		Short: "Jobs, nodes and lanes of time on a terminal, with orders",
		Long: `Shows jobs, nodes and, over time, the sizes that each job had, has and is expected to
have, until q is typed. A job's own screen has its explanation, its runs and its log,
which is followed. Options and words select jobs as in 'sluice queue'; / changes them.
? lists the keys; the mouse chooses, opens and sorts.

Orders are shown as the sluice command that they are, and run once y is typed.

Without colours if NO_COLOR is set. It needs a terminal; for a pipe or a file there is
'sluice queue'.`,
		Example: "  sluice top --me\n  sluice top -t R -S -gpus llama",
		RunE: func(cmd *cobra.Command, args []string) error {
			filter.Words = args
			if every < 1 || every > longestInterval {
				return fmt.Errorf("invalid --iterate %d: want 1 to %d seconds", every, longestInterval)
			}
			if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
				return errors.New("sluice top needs a terminal for its input and output; for a pipe or a file use 'sluice queue'")
			}
			same, err := reach.Options(cmd)
			if err != nil {
				return err
			}
			m, err := screen.New(screen.Options{Filter: filter.String(), Sort: sort, Format: format, Every: time.Duration(every) * time.Second,
				Me: uint32(os.Getuid()), Prefix: same, Colour: colour(os.Getenv), Unicode: unicodeTerminal(os.Getenv)})
			if err != nil {
				return err
			}
			return show(cmd, m)
		},
	}
	f := c.Flags()
	filter.Flags(f)
	f.StringVarP(&sort, "sort", "S", "", "sort by these fields, as 'sluice queue --sort'")
	f.StringVarP(&format, "format", "o", "", "columns of the jobs, as 'sluice queue --format'")
	f.IntVarP(&every, "iterate", "i", 2, "ask sluiced every so many seconds; changes are shown at once")
	return c
}

// show runs the screen until it is quit.
func show(cmd *cobra.Command, m screen.Model) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	site, err := reach.Site(cmd)
	if err != nil {
		return err
	}
	daemon, err := reach.Dial(site)
	if err != nil {
		return err
	}
	a := &app{model: m, ctx: ctx, daemon: daemon}
	p := tea.NewProgram(a, tea.WithContext(ctx))
	a.send = p.Send
	go a.listen()
	_, err = p.Run()
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// colour reports whether colours are wanted (no-color.org) and possible.
func colour(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb"
}

// unicodeTerminal reports whether the locale's characters are those of Unicode.
func unicodeTerminal(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
