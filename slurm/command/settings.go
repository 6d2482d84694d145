package command

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Settings are what "scontrol show config" says, by Slurm's own keys.
type Settings map[string]string

// ParseSettings reads the "Key = value" lines (the first of equal keys) and the
// controller's own time in the first line, zero if there is none; other lines are
// skipped. The time has no zone, so scontrol must have been run with TZ=UTC: a local time
// may occur twice in a night.
func ParseSettings(text string) (Settings, time.Time) {
	s := Settings{}
	var asOf time.Time
	for line := range strings.Lines(text) {
		if stamp, found := strings.CutPrefix(line, "Configuration data as of "); found {
			asOf, _ = time.ParseInLocation("2006-01-02T15:04:05", strings.TrimSpace(stamp), time.UTC)
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			continue
		}
		if _, twice := s[key]; !twice {
			s[key] = strings.TrimSpace(value)
		}
	}
	return s, asOf
}

// Settings asks slurmctld for them.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	out, err := c.read(ctx, opConfig, 0, "scontrol", showConfig)
	if err != nil {
		return nil, err
	}
	s, _ := ParseSettings(out.stdout)
	return s, nil
}

const opConfig = "scontrol show config"

var showConfig = []string{"show", "config"}

// Get returns a setting, "" when it is not set.
func (s Settings) Get(key string) string {
	value := s[key]
	if value == "(null)" || strings.EqualFold(value, "none") {
		return ""
	}
	return value
}

// Number returns the leading number of a setting such as "30 sec".
func (s Settings) Number(key string) (int, bool) {
	word, _, _ := strings.Cut(s.Get(key), " ")
	n, err := strconv.Atoi(word)
	return n, err == nil
}

// Scheduling returns the value of one parameter of SchedulerParameters, and whether it is
// there.
func (s Settings) Scheduling(name string) (string, bool) {
	for word := range strings.SplitSeq(s.Get("SchedulerParameters"), ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		if strings.EqualFold(key, name) {
			return value, true
		}
	}
	return "", false
}

// SlurmUser is the account that slurmctld runs as: "slurm" of "slurm(64030)".
func (s Settings) SlurmUser() string {
	name, _, _ := strings.Cut(s.Get("SlurmUser"), "(")
	return name
}

// Database reports whether there is slurmdbd.
func (s Settings) Database() bool {
	return s.Get("AccountingStorageType") == "accounting_storage/slurmdbd"
}
