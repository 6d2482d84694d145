package etc

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/message"
)

// key is one key of sluice.toml: its section, its values and how it is written.
type key struct {
	section, name string
	want          string // the allowed values, as in sluice.toml
	set           func(*Config, any) bool
	get           func(Config) string // as TOML
}

// keys is the table of keys, in the order of sluice.toml.
var keys = []key{
	path("paths", "state", func(c *Config) *string { return &c.Paths.State }),
	path("paths", "jobs", func(c *Config) *string { return &c.Paths.Jobs }),
	path("paths", "outbox", func(c *Config) *string { return &c.Paths.Outbox }),
	socket("paths", "socket", func(c *Config) *string { return &c.Paths.Socket }),
	pathOrNone("paths", "sluice", func(c *Config) *string { return &c.Paths.Sluice }),

	text("remote", "address", `a host:port, or ""`, isAddress, func(c *Config) *string { return &c.Remote.Address }),
	text("remote", "user", "an account or its number", isAccount, func(c *Config) *string { return &c.Remote.User }),
	pathOrNone("remote", "munge", func(c *Config) *string { return &c.Remote.Munge }),

	duration("cycle", "period", time.Second, time.Hour, func(c *Config) *time.Duration { return &c.Cycle.Period }),
	duration("cycle", "transition", 100*time.Millisecond, time.Minute, func(c *Config) *time.Duration { return &c.Cycle.Transition }),
	duration("cycle", "backoff", time.Second, time.Hour, func(c *Config) *time.Duration { return &c.Cycle.Backoff }),
	duration("cycle", "abandon", time.Minute, 7*day, func(c *Config) *time.Duration { return &c.Cycle.Abandon }),

	pathOrNone("slurm", "bin", func(c *Config) *string { return &c.Slurm.Bin }),
	pathOrNone("slurm", "conf", func(c *Config) *string { return &c.Slurm.Conf }),
	duration("slurm", "timeout", time.Second, 10*time.Minute, func(c *Config) *time.Duration { return &c.Slurm.Timeout }),
	names("slurm", "partitions", func(c *Config) *[]string { return &c.Slurm.Partitions }),

	choice("policy", "name", policies, func(c *Config) *string { return &c.Policy.Name }),
	truth("policy", "preempt", func(c *Config) *bool { return &c.Policy.Preempt }),
	number("policy", "overload", 0, 100, func(c *Config) *float64 { return &c.Policy.Overload }),
	duration("policy", "wait", 0, 30*day, func(c *Config) *time.Duration { return &c.Policy.Wait }),
	truth("policy", "share_nodes", func(c *Config) *bool { return &c.Policy.ShareNodes }),

	number("welfare", "value", 0, dearest, func(c *Config) *float64 { return &c.Welfare.Value }),
	number("welfare", "gpu", 0, dearest, func(c *Config) *float64 { return &c.Welfare.GPU }),
	typeCosts("welfare", "types", func(c *Config) *[]TypeCost { return &c.Welfare.Types }),
	number("welfare", "cpu", 0, dearest, func(c *Config) *float64 { return &c.Welfare.CPU }),
	number("welfare", "memory", 0, dearest, func(c *Config) *float64 { return &c.Welfare.Memory }),
	number("welfare", "peak", 0, 1, func(c *Config) *float64 { return &c.Welfare.Peak }),
	number("welfare", "surcharge", 1, 1000, func(c *Config) *float64 { return &c.Welfare.Surcharge }),

	duration("resize", "grace", time.Second, day, func(c *Config) *time.Duration { return &c.Resize.Grace }),
	duration("resize", "max_grace", time.Second, day, func(c *Config) *time.Duration { return &c.Resize.MaxGrace }),
	duration("resize", "cooldown", 0, day, func(c *Config) *time.Duration { return &c.Resize.Cooldown }),
	number("resize", "payback", 1, 100, func(c *Config) *float64 { return &c.Resize.Payback }),
	duration("resize", "confirm", 5*time.Second, day, func(c *Config) *time.Duration { return &c.Resize.Confirm }),
	whole("resize", "moves", 0, 10000, func(c *Config) *int { return &c.Resize.Moves }),
	whole("resize", "deaf_after", 1, 1000, func(c *Config) *int { return &c.Resize.DeafAfter }),
	duration("resize", "save", 0, day, func(c *Config) *time.Duration { return &c.Resize.Save }),
	duration("resize", "drain", 0, day, func(c *Config) *time.Duration { return &c.Resize.Drain }),
	duration("resize", "start", 0, day, func(c *Config) *time.Duration { return &c.Resize.Start }),
	duration("resize", "load", 0, day, func(c *Config) *time.Duration { return &c.Resize.Load }),

	whole("checkpoint", "keep", 1, 1000, func(c *Config) *int { return &c.Checkpoint.Keep }),
	text("checkpoint", "every", `"auto", "off" or a duration from 10s to 720h`, isEvery, func(c *Config) *string { return &c.Checkpoint.Every }),
	duration("checkpoint", "node_mtbf", time.Hour, 36500*day, func(c *Config) *time.Duration { return &c.Checkpoint.NodeMTBF }),
	text("checkpoint", "retries", `"auto" or a number from "0" to "1000"`, isRetries, func(c *Config) *string { return &c.Checkpoint.Retries }),
	choice("checkpoint", "on_timeout", []string{"requeue", "end"}, func(c *Config) *string { return &c.Checkpoint.OnTimeout }),

	names("users", "operators", func(c *Config) *[]string { return &c.Users.Operators }),
	truth("users", "private", func(c *Config) *bool { return &c.Users.Private }),
	truth("users", "share_speeds", func(c *Config) *bool { return &c.Users.ShareSpeeds }),

	text("web", "user", `an account, or ""`, func(s string) bool { return s == "" || isAccount(s) }, func(c *Config) *string { return &c.Web.User }),
	truth("web", "act", func(c *Config) *bool { return &c.Web.Act }),
	truth("web", "operators", func(c *Config) *bool { return &c.Web.Operators }),

	text("data", "account", `an account, or ""`, func(s string) bool { return s == "" || isAccount(s) }, func(c *Config) *string { return &c.Data.Account }),
	path("data", "root", func(c *Config) *string { return &c.Data.Root }),
	socket("data", "socket", func(c *Config) *string { return &c.Data.Socket }),
	dataOwners("data", "owners", func(c *Config) *[]DataOwner { return &c.Data.Owners }),
	paths("data", "system", func(c *Config) *[]string { return &c.Data.System }),
	paths("data", "software", func(c *Config) *[]string { return &c.Data.Software }),
	choice("data", "network", DataNetworks, func(c *Config) *string { return &c.Data.Network }),
	whole("data", "numbers", 0, 1<<30, func(c *Config) *int { return &c.Data.Numbers }),
	whole("data", "bundle", 0, 1<<30, func(c *Config) *int { return &c.Data.Bundle }),
	whole("data", "log", 0, 1<<30, func(c *Config) *int { return &c.Data.Log }),

	duration("health", "exclude", 0, 30*day, func(c *Config) *time.Duration { return &c.Health.Exclude }),
	whole("health", "per_user", 0, 10000, func(c *Config) *int { return &c.Health.PerUser }),

	text("metrics", "listen", `a host:port, an absolute path of at most 100 bytes, or ""`, isListen, func(c *Config) *string { return &c.Metrics.Listen }),
	truth("metrics", "users", func(c *Config) *bool { return &c.Metrics.Users }),
	truth("metrics", "jobs", func(c *Config) *bool { return &c.Metrics.Jobs }),

	words("notify", "exec", func(c *Config) *[]string { return &c.Notify.Exec }),
	text("notify", "webhook", `an https:// address, or ""`, func(s string) bool { return s == "" || message.CheckURL(s) == nil }, func(c *Config) *string { return &c.Notify.Webhook }),
	pathOrNone("notify", "secret", func(c *Config) *string { return &c.Notify.Secret }),
	choices("notify", "events", NotifyEvents, func(c *Config) *[]string { return &c.Notify.Events }),
	truth("notify", "mail", func(c *Config) *bool { return &c.Notify.Mail }),
	names("notify", "hosts", func(c *Config) *[]string { return &c.Notify.Hosts }),
	duration("notify", "digest", time.Minute, 30*day, func(c *Config) *time.Duration { return &c.Notify.Digest }),

	choice("log", "level", []string{"debug", "info", "warn", "error"}, func(c *Config) *string { return &c.Log.Level }),
	choice("log", "format", []string{"text", "json"}, func(c *Config) *string { return &c.Log.Format }),
}

// policies are the allowed values of [policy] name.
var policies = []string{"lookahead", "knapsack", "annealing", "deadline", "welfare", "fcfs", "ef", "optimus", "afs", "tiresias", "srpt", "edf", "elasticflow", "maxspeedup"}

const day = 24 * time.Hour

// entry makes a key of type T: read checks and converts the TOML value.
func entry[T any](section, name, want string, at func(*Config) *T, read func(any) (T, bool), write func(T) string) key {
	return key{section, name, want,
		func(c *Config, raw any) bool {
			v, ok := read(raw)
			if ok {
				*at(c) = v
			}
			return ok
		},
		func(c Config) string { return write(*at(&c)) },
	}
}

// text makes a key whose values are strings for which fits is true.
func text(section, name, want string, fits func(string) bool, at func(*Config) *string) key {
	return entry(section, name, want, at, func(raw any) (string, bool) {
		s, ok := raw.(string)
		return s, ok && printable(s) && fits(s)
	}, quote)
}

func path(section, name string, at func(*Config) *string) key {
	return text(section, name, "an absolute path", absolute, at)
}

func pathOrNone(section, name string, at func(*Config) *string) key {
	fits := func(s string) bool { return s == "" || absolute(s) }
	return text(section, name, `an absolute path, or ""`, fits, at)
}

// socket is a path that fits into a sockaddr_un, which has 108 bytes.
func socket(section, name string, at func(*Config) *string) key {
	fits := func(s string) bool { return absolute(s) && len(s) <= 100 }
	return text(section, name, "an absolute path of at most 100 bytes", fits, at)
}

func choice(section, name string, words []string, at func(*Config) *string) key {
	want := oneOf(words)
	return text(section, name, want, func(s string) bool { return slices.Contains(words, s) }, at)
}

func duration(section, name string, min, max time.Duration, at func(*Config) *time.Duration) key {
	want := fmt.Sprintf("a duration from %s to %s", short(min), short(max))
	return entry(section, name, want, at, func(raw any) (time.Duration, bool) {
		s, ok := raw.(string)
		d, err := time.ParseDuration(s)
		return d, ok && err == nil && d >= min && d <= max
	}, func(d time.Duration) string { return quote(short(d)) })
}

func whole(section, name string, min, max int, at func(*Config) *int) key {
	want := fmt.Sprintf("a whole number from %d to %d", min, max)
	return entry(section, name, want, at, func(raw any) (int, bool) {
		n, ok := raw.(int64)
		return int(n), ok && n >= int64(min) && n <= int64(max)
	}, strconv.Itoa)
}

func number(section, name string, min, max float64, at func(*Config) *float64) key {
	want := fmt.Sprintf("a number from %v to %v", min, max)
	return entry(section, name, want, at, func(raw any) (float64, bool) {
		f, ok := raw.(float64)
		if n, isWhole := raw.(int64); isWhole {
			f, ok = float64(n), true
		}
		return f, ok && f >= min && f <= max // false for NaN too
	}, writeFloat)
}

func truth(section, name string, at func(*Config) *bool) key {
	return entry(section, name, "true or false", at, func(raw any) (bool, bool) {
		b, ok := raw.(bool)
		return b, ok
	}, strconv.FormatBool)
}

// names makes a key whose value is a list of names of accounts or partitions.
func names(section, name string, at func(*Config) *[]string) key {
	return entry(section, name, "a list of names", at, func(raw any) ([]string, bool) {
		list, ok := raw.([]any)
		if !ok || len(list) > 10000 {
			return nil, false
		}
		out := make([]string, len(list))
		for i, item := range list {
			s, isText := item.(string)
			if !isText || s == "" || len(s) > 255 || !printable(s) || strings.ContainsAny(s, " ,") {
				return nil, false
			}
			out[i] = s
		}
		return out, true
	}, quoteAll)
}

// isAddress accepts "", "login1:6830", "10.0.0.1:6830" and "[::1]:6830".
func isAddress(s string) bool {
	if s == "" {
		return true
	}
	host, port, err := net.SplitHostPort(s)
	n, notPort := strconv.ParseUint(port, 10, 16)
	return err == nil && notPort == nil && n > 0 && host != "" && len(host) <= 253 && !strings.ContainsAny(host, " /%")
}

// isEvery accepts auto, off and durations such as 10m.
func isEvery(s string) bool {
	d, err := time.ParseDuration(s)
	return s == "auto" || s == "off" || err == nil && d >= 10*time.Second && d <= 30*day
}

func isRetries(s string) bool {
	n, err := strconv.Atoi(s)
	return s == "auto" || err == nil && n >= 0 && n <= 1000
}

func isAccount(s string) bool {
	return s != "" && len(s) <= 255 && !strings.ContainsAny(s, " ,:/") && !strings.HasPrefix(s, "-")
}

func absolute(s string) bool { return filepath.IsAbs(s) && filepath.Clean(s) == s }
