package sbatch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// maxCount bounds counts of GPUs and CPUs: the largest that fit into a job's comment.
const maxCount = 1_000_000

// parseCount reads a whole number, at least least.
func parseCount(value string, least int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > maxCount || value[0] == '+' {
		return 0, fmt.Errorf("want a whole number from %d to %d", least, maxCount)
	}
	return n, nil
}

// maxRetries bounds how often a failed script is started again.
const maxRetries = 1000

// parseRetries reads a number of retries.
func parseRetries(value string) (string, error) {
	if value == "auto" {
		return value, nil
	}
	n, err := parseCount(value, 0)
	if err != nil || n > maxRetries {
		return "", fmt.Errorf("want auto, or a whole number from 0 to %d", maxRetries)
	}
	return strconv.Itoa(n), nil
}

// The shortest and the longest time between two checkpoints that a user may name.
const (
	minEvery = 10 * time.Second
	maxEvery = 30 * 24 * time.Hour
)

// parseEvery reads how often a job is asked for a checkpoint.
func parseEvery(value string) (string, error) {
	switch value {
	case "auto":
		return value, nil
	case "off", "0":
		return "off", nil
	}
	d, ok := slurmTime(value)
	if !ok {
		var err error
		d, err = time.ParseDuration(value)
		ok = err == nil
	}
	if !ok || d < minEvery || d > maxEvery {
		return "", fmt.Errorf("want auto, off, or 10 seconds to 30 days, such as 10m or 5:00")
	}
	return d.String(), nil
}

func parseOnTimeout(value string) (string, error) {
	if value != "requeue" && value != "end" {
		return "", fmt.Errorf("want requeue or end")
	}
	return value, nil
}

// parseTotal reads an amount of work, such as 90, 2.5 or 1e6.
func parseTotal(value string) (float64, error) {
	total, err := strconv.ParseFloat(value, 64)
	if err != nil || strings.ContainsAny(value, "xXpP_iInN+") || !(total > 0 && total <= 1e15) {
		return 0, fmt.Errorf("want a number above 0, up to 1e15")
	}
	return total, nil
}

// parseTypes reads types of GPU, such as a100,h100.
func parseTypes(value string) (types []string, err error) {
	for _, t := range strings.Split(value, ",") {
		if !elastic.ValidType(t) || slurm.Slice(t) {
			return nil, errors.New("want types of GPU as sinfo -o %G shows them, such as a100,h100")
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(types) > elastic.MaxTypes {
		return nil, fmt.Errorf("want at most %d types", elastic.MaxTypes)
	}
	return types, nil
}

// largestPower bounds the list for the value pow2.
const largestPower = 4096

// parseSizes reads 1,2,4,8 or the word pow2. The result is ascending; nil with words set
// stands for pow2, whose bounds are known later.
func parseSizes(value string) (sizes []int, pow2 bool, err error) {
	if strings.EqualFold(value, "pow2") {
		return nil, true, nil
	}
	for _, part := range strings.Split(value, ",") {
		n, err := parseCount(part, 1)
		if err != nil {
			return nil, false, fmt.Errorf("want pow2, or sizes such as 1,2,4,8, each a whole number from 1 to %d", maxCount)
		}
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), false, nil
}

// powersOfTwo returns the powers of two from least to most; most 0 means no bound.
func powersOfTwo(least, most int) (sizes []int) {
	if most == 0 || most > largestPower {
		most = max(largestPower, least)
	}
	for n := 1; n <= most; n *= 2 {
		if n >= least {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// ParseDuration reads a grace period: Go's 90s and 1m30s, or Slurm's format: 5:00 is 5
// minutes, 1:30:00 is 90 minutes, 1-0 is one day and 1-12:30 is one day, 12 hours and 30
// minutes. A bare number is seconds, as in KillWait and --signal=USR1@90. The result is 1
// s to 24 h.
func ParseDuration(value string) (time.Duration, error) {
	d, ok := slurmTime(value)
	if !ok {
		var err error
		d, err = time.ParseDuration(value)
		ok = err == nil
	}
	if !ok || d < time.Second || d > 24*time.Hour {
		return 0, fmt.Errorf("want 1 second to 24 hours, such as 90, 90s, 5:00 or 2m30s")
	}
	return d, nil
}

// slurmTime reads S, M:S, H:M:S, D-H, D-H:M and D-H:M:S.
func slurmTime(value string) (time.Duration, bool) {
	days, rest, hasDays := strings.Cut(value, "-")
	if !hasDays {
		days, rest = "0", value
	}
	total, ok := digits(days, 3)
	total *= 24 * time.Hour
	parts := strings.Split(rest, ":")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	if len(parts) > len(units) {
		return 0, false
	}
	if !hasDays {
		units = units[len(units)-len(parts):] // without days the last part is seconds
	}
	for i, part := range parts {
		n, good := digits(part, 6)
		ok = ok && good
		total += n * units[i]
	}
	return total, ok
}

// digits reads a number with a maximum number of digits.
func digits(s string, most int) (time.Duration, bool) {
	if s == "" || len(s) > most || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return time.Duration(n), err == nil
}

// parseMemory reads a size as sbatch does: megabytes, or with K, M, G or T.
func parseMemory(value string) (megabytes int64, err error) {
	number := strings.TrimRight(value, "kKmMgGtTbB")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1e12 || number[0] == '+' {
		return 0, errMemory
	}
	switch strings.ToLower(value[len(number):]) {
	case "", "m", "mb":
	case "k", "kb":
		n = (n + 1023) / 1024
	case "g", "gb":
		n *= 1 << 10
	case "t", "tb":
		n *= 1 << 20
	default:
		return 0, errMemory
	}
	if n < 1 || n > 1_000_000_000 {
		return 0, errMemory
	}
	return n, nil
}

var errMemory = errors.New("want a size such as 16G or 4000M")

// parseSignal reads a signal's name, with or without SIG. Numbers differ between
// machines, so only names are accepted.
func parseSignal(value string) (string, error) {
	name := strings.TrimPrefix(strings.ToUpper(value), "SIG")
	if !elastic.ValidSignal(name) {
		return "", fmt.Errorf("want one of %s", strings.Join(elastic.Signals, ", "))
	}
	return name, nil
}

// parseYes reads the value of a switch; no value means yes.
func parseYes(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "", "yes", "true", "1", "on":
		return true, nil
	case "no", "false", "0", "off":
		return false, nil
	}
	return false, fmt.Errorf("want yes or no")
}

// flagSet reports whether sbatch treats a variable for an option without a value as set.
func flagSet(value string) bool {
	n, err := strconv.Atoi(value)
	return value == "" || strings.EqualFold(value, "yes") || err == nil && n != 0
}
