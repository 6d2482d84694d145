package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/sbatch"
)

// profileOptions are the options of 'sluice profile' itself.
type profileOptions struct {
	sizes      []int // empty = chosen from the script's bounds
	measure    runner.Profile
	wait       time.Duration // until a run can start
	sequential bool
	output     string // file of the plot; "" = none
	form       string // "", json or csv
}

// profileArgs removes profile's own options from the words of the command line; the rest
// is read as by 'sluice submit'. They are recognised before the script and right after
// it.
func profileArgs(args []string) (o profileOptions, rest []string, err error) {
	o = profileOptions{measure: usualProfile, wait: 10 * time.Minute}
	o.measure.Limit = 10 * time.Minute
	script := false
	for i := 0; i < len(args); {
		if args[i] == "--" {
			if !script {
				return o, append(rest, args[i:]...), nil
			}
			return o, append(rest, args[i+1:]...), nil
		}
		taken, err := o.take(args[i:])
		if err != nil {
			return o, nil, err
		}
		i += taken
		if taken > 0 {
			continue
		}
		if script {
			return o, append(rest, args[i:]...), nil
		}
		rest = append(rest, args[i])
		i++
		line, _ := sbatch.ParseCommandLine(rest) // an option may still need its value
		script = line.Script != ""
	}
	return o, rest, nil
}

// take reads one of profile's options at the front and returns its number of words; 0 if
// the first word is none.
func (o *profileOptions) take(args []string) (int, error) {
	name, value, given := strings.Cut(args[0], "=")
	if short := strings.TrimPrefix(args[0], "-o"); short != args[0] {
		name, value, given = "-o", strings.TrimPrefix(short, "="), short != ""
	}
	switch name {
	case "--sequential":
		o.sequential = true
	case "--json", "--csv":
		o.form = name[2:]
	case "--sizes", "--steps", "--warmup", "--limit", "--wait", "-o", "--output":
		words := 1
		if !given {
			if len(args) < 2 {
				return 0, fmt.Errorf("%s: needs a value", name)
			}
			value, words = args[1], 2
		}
		if err := o.set(name, value); err != nil {
			return 0, fmt.Errorf("%s: %w", strings.Join(args[:words], " "), err)
		}
		return words, nil
	default:
		return 0, nil
	}
	if given {
		return 0, fmt.Errorf("%s: takes no value", args[0])
	}
	return 1, nil
}

func (o *profileOptions) set(name, value string) (err error) {
	switch name {
	case "--sizes":
		o.sizes, err = sbatch.ParseProfileSizes(value)
	case "--steps":
		o.measure.Steps, err = wholeNumber(value, 1, 1_000_000)
	case "--warmup":
		o.measure.Warmup, err = wholeNumber(value, 0, 1_000_000)
	case "--limit":
		o.measure.Limit, err = sbatch.ParseDuration(value)
	case "--wait":
		o.wait, err = sbatch.ParseDuration(value)
	default:
		switch strings.ToLower(filepath.Ext(value)) {
		case ".png", ".svg":
		default:
			return fmt.Errorf("want a file that ends in .png or .svg")
		}
		o.output = value
	}
	return err
}

func wholeNumber(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("want a whole number from %d to %d", least, most)
	}
	return n, nil
}
