package sbatch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// maxCount bounds GPU and CPU counts: what a job's comment can carry.
const maxCount = 1_000_000

// parseCount reads a whole number from least on.
func parseCount(value string, least int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > maxCount || value[0] == '+' {
		return 0, fmt.Errorf("want a whole number from %d to %d", least, maxCount)
	}
	return n, nil
}

// parseTotal reads an amount of work, such as 90, 2.5 or 1e6.
func parseTotal(value string) (float64, error) {
	total, err := strconv.ParseFloat(value, 64)
	if err != nil || strings.ContainsAny(value, "xXpP_iInN+") || !(total > 0 && total <= 1e15) {
		return 0, fmt.Errorf("want a number above 0, up to 1e15")
	}
	return total, nil
}

// largestPower bounds the list that the word pow2 stands for.
const largestPower = 4096

// parseSizes reads 1,2,4,8 or the word pow2. The result ascends; nil with words
// set stands for pow2, whose bounds are known later.
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

// powersOfTwo returns the powers of two from least to most; most 0 is no bound.
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

var slurmTime = regexp.MustCompile(`^(?:(\d{1,3})-)?(?:(\d{1,6}):)?(?:(\d{1,6}):)?(\d{1,6})$`)

// ParseDuration reads a grace period: Go's 90s and 1m30s, or as Slurm writes
// times: 5:00 is five minutes, 1:30:00 ninety, 1-0 a day and 1-12:30 a day and a
// half hour past noon. A bare number is seconds, as in KillWait and
// --signal=USR1@90. The result is from one second to a day.
func ParseDuration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if m := slurmTime.FindStringSubmatch(value); m != nil {
		d, err = fromSlurmTime(m[1], m[2], m[3], m[4]), nil
	}
	if err != nil || d < time.Second || d > 24*time.Hour {
		return 0, fmt.Errorf("want 1 second to 24 hours, such as 90, 90s, 5:00 or 2m30s")
	}
	return d, nil
}

// fromSlurmTime adds up days-first:second:last, where the parts present decide
// what last means: with days it is hours or minutes, else seconds.
func fromSlurmTime(days, first, second, last string) time.Duration {
	n := func(s string) time.Duration {
		i, _ := strconv.Atoi(s) // digits only; "" is 0
		return time.Duration(i)
	}
	total := n(days) * 24 * time.Hour
	switch {
	case days != "" && first == "": // D-H
		return total + n(last)*time.Hour
	case days != "" && second == "": // D-H:M
		return total + n(first)*time.Hour + n(last)*time.Minute
	case second == "": // S or M:S
		return total + n(first)*time.Minute + n(last)*time.Second
	}
	return total + n(first)*time.Hour + n(second)*time.Minute + n(last)*time.Second
}

var memory = regexp.MustCompile(`(?i)^(\d{1,12})(?:([kmgt])b?)?$`)

// parseMemory reads a size as sbatch does: megabytes, or with K, M, G or T.
func parseMemory(value string) (megabytes int64, err error) {
	m := memory.FindStringSubmatch(value)
	if m == nil {
		return 0, errMemory
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // at most 12 digits
	switch strings.ToLower(m[2]) {
	case "k":
		n = (n + 1023) / 1024
	case "g":
		n *= 1 << 10
	case "t":
		n *= 1 << 20
	}
	if n < 1 || n > 1_000_000_000 {
		return 0, errMemory
	}
	return n, nil
}

var errMemory = fmt.Errorf("want a size such as 16G or 4000M")

// parseSignal reads a signal's name, with or without SIG. Numbers differ between
// machines, so only names are taken.
func parseSignal(value string) (string, error) {
	name := strings.TrimPrefix(strings.ToUpper(value), "SIG")
	if !elastic.ValidSignal(name) {
		return "", fmt.Errorf("want one of %s", strings.Join(elastic.Signals, ", "))
	}
	return name, nil
}

// parseYes reads the value of a switch; none at all is yes.
func parseYes(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "", "yes", "true", "1", "on":
		return true, nil
	case "no", "false", "0", "off":
		return false, nil
	}
	return false, fmt.Errorf("want yes or no")
}

// flagSet reports what sbatch makes of a variable that stands for an option
// without a value.
func flagSet(value string) bool {
	n, err := strconv.Atoi(value)
	return value == "" || strings.EqualFold(value, "yes") || err == nil && n != 0
}
