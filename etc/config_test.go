package etc

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

//go:embed sluice.toml
var documented string

// The documented file is the default.
func TestDefaultIsDocumented(t *testing.T) {
	said, err := parse(Config{}, "sluice.toml", documented)
	if err != nil {
		t.Fatal(err)
	}
	if got := Default(); !reflect.DeepEqual(got, said) {
		t.Errorf("Default differs from sluice.toml:\n%+v\n%+v", got, said)
	}
}

// Every key is in the documented file, in the order of the table, below a comment that
// names the allowed values.
func TestDocumentedFile(t *testing.T) {
	lines := strings.Split(documented, "\n")
	section, at, comment := "", 0, ""
	for n, line := range lines {
		switch {
		case strings.HasPrefix(line, "#"):
			comment += " " + strings.ToLower(strings.TrimPrefix(line, "# "))
			continue
		case line == "":
			comment = ""
			continue
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			continue
		}
		name, _, _ := strings.Cut(line, " = ")
		if at >= len(keys) || keys[at].section != section || keys[at].name != name {
			t.Fatalf("line %d: %s.%s is not key %d of the table", n+1, section, name, at)
		}
		if want := keys[at].want; !strings.Contains(strings.ReplaceAll(comment, "each a", "a"), want) {
			t.Errorf("line %d: the comment above %s does not say %q:\n%s", n+1, name, want, comment)
		}
		at++
	}
	if at != len(keys) {
		t.Errorf("sluice.toml ends before key %s.%s", keys[at].section, keys[at].name)
	}
}

func TestDefault(t *testing.T) {
	c := Default()
	if c.Cycle.Period != 30*time.Second || c.Cycle.Transition != 500*time.Millisecond {
		t.Errorf("cycle %+v", c.Cycle)
	}
	if c.Policy.Name != "lookahead" || c.Paths.Socket != "/run/sluice/sluiced.sock" {
		t.Errorf("%+v %+v", c.Policy, c.Paths)
	}
	again, err := Load(write(t, documented))
	if err != nil || again.String() != c.String() {
		t.Errorf("the documented file over the default: %v\n%s", err, again)
	}
}

func TestUserDefaults(t *testing.T) {
	c := UserDefaults("/home/ann")
	for _, path := range []string{c.Paths.State, c.Paths.Jobs, c.Paths.Outbox, c.Paths.Socket} {
		if !strings.HasPrefix(path, "/home/ann/.sluice/") {
			t.Errorf("%s lies outside of ~/.sluice", path)
		}
	}
	if _, err := parse(c, "user", c.String()); err != nil {
		t.Errorf("user defaults contradict themselves: %v", err)
	}
}

func TestLoadMergesOverDefaults(t *testing.T) {
	c, err := Load(write(t, "[cycle]\nperiod = \"10s\"\n\n[slurm]\npartitions = [\"a\", \"b\"]\n[resize]\npayback = 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Cycle.Period != 10*time.Second || len(c.Slurm.Partitions) != 2 || c.Resize.Payback != 3 {
		t.Errorf("%+v", c)
	}
	if c.Cycle.Backoff != Default().Cycle.Backoff {
		t.Errorf("a key left out changed: %v", c.Cycle.Backoff)
	}
	base := Default()
	base.Users.Operators = []string{"root2"}
	if c, err = LoadOver(base, ""); err != nil || c.Users.Operators[0] != "root2" {
		t.Errorf("no file: %v %+v", err, c.Users)
	}
}

// Settings of single partitions are read back as written, for any partition name.
func TestPartitions(t *testing.T) {
	c, err := Load(write(t, "[partition.lab]\npool = \"edge\"\n[partition.\"gpu.big\"]\npolicy = \"deadline\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if lab, big := c.Partition["lab"], c.Partition["gpu.big"]; !lab.Edge || lab.Policy != "" || big.Edge || big.Policy != "deadline" {
		t.Errorf("%+v", c.Partition)
	}
	again, err := Load(write(t, c.String()))
	if err != nil || again.String() != c.String() {
		t.Errorf("%v\n%s\nbecame\n%s", err, c, again)
	}
}

// Settings of single QOS are read back as written.
func TestQOS(t *testing.T) {
	c, err := Load(write(t, "[qos.low]\nscavenger = true\n[qos.urgent]\nguarantee = 8\nweight = 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.QOS["low"] != (QOS{Scavenger: true}) || c.QOS["urgent"] != (QOS{Guarantee: 8, Weight: 2}) {
		t.Errorf("%+v", c.QOS)
	}
	again, err := Load(write(t, c.String()))
	if err != nil || again.String() != c.String() {
		t.Errorf("%v\n%s\nbecame\n%s", err, c, again)
	}
}

// The site's own accounts are read back as written.
func TestShares(t *testing.T) {
	c, err := Load(write(t, `[shares.physics]
shares = 3
[shares.theory]
parent = "physics"
users = {ann = 2, "b.ob" = 0.5}
[shares.bio]
users = ["eve", "ann"]
default = ["ann"]
[shares."x.y".users]
zoe = 7
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Share{
		"physics": {Shares: 3},
		"theory":  {Parent: "physics", Users: map[string]float64{"ann": 2, "b.ob": .5}},
		"bio":     {Users: map[string]float64{"eve": 1, "ann": 1}, Default: []string{"ann"}},
		"x.y":     {Users: map[string]float64{"zoe": 7}},
	}
	if !reflect.DeepEqual(c.Shares, want) {
		t.Errorf("%+v\nwant %+v", c.Shares, want)
	}
	again, err := Load(write(t, c.String()))
	if err != nil || again.String() != c.String() {
		t.Errorf("%v\n%s\nbecame\n%s", err, c, again)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "[cycle]\nperiod = \n", "FILE:2:10: "},
		{"unclosed", "[cycle\n", "FILE:2:7: expected"},
		{"twice", "[cycle]\nperiod = \"1s\"\nperiod = \"2s\"\n", "FILE:3:15: Key 'cycle.period' has already"},
		{"unknown key", "[cycle]\n# why\n  perid = \"30s\"\n", "FILE:3:12: unknown key perid in [cycle]: there are period, transition, backoff, abandon"},
		{"unknown section", "\n[cycles]\nperiod = \"30s\"\n", "FILE:2:2: unknown section [cycles]: there are paths, remote, cycle,"},
		{"unknown top key", "period = \"30s\"\n", "FILE:1:11: key period stands outside"},
		{"not a section", "cycle = 3\n", "FILE:1:9: cycle is a section"},
		{"list of sections", "[[cycle]]\nperiod = \"1s\"\n", "FILE:1:1: cycle is a section"},
		{"sub section", "[cycle.period]\nx = 1\n", "FILE:1:1: period = map[x:1]: want a duration"},
		{"dotted", "cycle.period = 5\n", "FILE:1:16: period = 5: want a duration from 1s to 1h"},
		{"inline", "cycle = {period = 5}\n", "FILE:1:10: period = 5: want a duration"},
		{"bare number", "[cycle]\nperiod = 30\n", "FILE:2:10: period = 30: want a duration from 1s to 1h"},
		{"no unit", "[cycle]\nperiod = \"30\"\n", `FILE:2:11: period = "30": want a duration`},
		{"too short", "[cycle]\nperiod = \"1ms\"\n", `FILE:2:11: period = "1ms": want a duration from 1s to 1h`},
		{"choice", "[policy]\nname = \"drf\"\n", `FILE:2:9: name = "drf": want one of "lookahead", "knapsack", "annealing", "deadline", "welfare", "fcfs", "ef", "optimus", "afs", "tiresias", "srpt", "edf", "elasticflow" or "maxspeedup"`},
		{"cost", "[welfare]\ngpu = -1\n", "FILE:2:7: gpu = -1: want a number from 0 to 1e+06"},
		{"cost of a type", "[welfare]\ntypes = [\"a100\"]\n", `FILE:2:10: types = [a100]: want a list of "type=cost"`},
		{"type twice", "[welfare]\ntypes = [\"a100=1\", \"a100=2\"]\n", `want a list of "type=cost", each type once`},
		{"endless cost", "[welfare]\ntypes = [\"a100=inf\"]\n", `want a list of "type=cost"`},
		{"fraction", "[resize]\nmoves = 1.5\n", "FILE:2:9: moves = 1.5: want a whole number from 0 to 10000"},
		{"nan", "[resize]\npayback = nan\n", "FILE:2:11: payback = NaN: want a number from 1 to 100"},
		{"relative", "[paths]\nstate = \"var\"\n", `FILE:2:10: state = "var": want an absolute path`},
		{"dots", "[paths]\nstate = \"/a/../b\"\n", `FILE:2:10: state = "/a/../b": want an absolute path`},
		{"long socket", "[paths]\nsocket = \"/" + strings.Repeat("s", 120) + "\"\n", "want an absolute path of at most 100 bytes"},
		{"no such pool", "[partition.lab]\npool = \"side\"\n", `FILE:2:9: pool = "side": want one of "main" or "edge"`},
		{"no such partition key", "[partition.lab]\nnodes = 3\n", "FILE:2:9: unknown key nodes in [partition.lab]: there are pool, policy"},
		{"no such partition policy", "[partition.lab]\npolicy = \"drf\"\n", `FILE:2:11: policy = "drf": want one of "", "lookahead",`},
		{"partition without a name", "[partition]\npool = \"edge\"\n", "FILE:2:9: pool stands in no partition's section: write [partition.NAME] and pool below it"},
		{"partition of a strange name", "[partition.\"a,b\"]\npool = \"edge\"\n", "[partition.a,b]: want the name of one partition"},
		{"weight of nothing", "[qos.low]\nweight = 0\n", "FILE:2:10: weight = 0: want a number from 0.001 to 1000"},
		{"weight that is no number", "[qos.low]\nweight = nan\n", "FILE:2:10: weight = NaN: want a number from 0.001 to 1000"},
		{"scavenger", "[qos.low]\nscavenger = \"yes\"\n", `FILE:2:14: scavenger = "yes": want true or false`},
		{"guarantee", "[qos.low]\nguarantee = 1.5\n", "FILE:2:13: guarantee = 1.5: want a whole number from 0 to 1000000"},
		{"no such QOS key", "[qos.low]\nshares = 3\n", "FILE:2:10: unknown key shares in [qos.low]: there are weight, scavenger, guarantee"},
		{"QOS without a name", "[qos]\nweight = 2\n", "FILE:2:10: weight stands in no QOS's section: write [qos.NAME] and weight below it"},
		{"no shares", "[shares.a]\nshares = 0\n", "FILE:2:10: shares = 0: want a number from 0.001 to 2147483648"},
		{"negative shares", "[shares.a]\nshares = -1\n", "FILE:2:10: shares = -1: want a number from 0.001 to 2147483648"},
		{"shares that are no number", "[shares.a]\nshares = nan\n", "FILE:2:10: shares = NaN: want a number"},
		{"too many shares", "[shares.a]\nshares = 1e300\n", "FILE:2:10: shares = 1e+300: want a number"},
		{"no such parent", "[shares.a]\nshares = 1\nparent = \"b\"\n", `FILE:3:11: parent = "b": there is no [shares.b]`},
		{"a parent of a strange name", "[shares.a]\nparent = \"a b\"\n", `FILE:2:11: parent = "a b": want the name of an account`},
		{"an account in itself", "[shares.a]\nparent = \"a\"\n", `FILE:2:11: parent = "a": the accounts are parts of each other in a circle: a in a`},
		{"a circle", "[shares.c]\nparent = \"a\"\n[shares.a]\nparent = \"b\"\n[shares.b]\nparent = \"a\"\n", `FILE:4:11: parent = "b": the accounts are parts of each other in a circle: a in b in a`},
		{"a user in two accounts", "[shares.a]\nusers = [\"ann\"]\n[shares.b]\nusers = [\"bob\", \"ann\"]\n", `FILE:4:10: users: ann is a user of [shares.a], too: write default = ["ann"] in one of them`},
		{"a user in two accounts by default", "[shares.a]\nusers = [\"ann\"]\ndefault = [\"ann\"]\n[shares.b]\nusers = [\"ann\"]\ndefault = [\"ann\"]\n", "FILE:6:12: default: ann is a default user of [shares.a] already"},
		{"a user of another account by default", "[shares.a]\ndefault = [\"ann\"]\n", "FILE:2:12: default: ann is not one of the users of [shares.a]"},
		{"a user twice", "[shares.a]\nusers = [\"ann\", \"ann\"]\n", "FILE:2:10: users = [ann ann]: want a list of users, each once, or a table of USER = SHARES"},
		{"a user without shares", "[shares.a.users]\nann = 0\n", "FILE:1:1: users = map[ann:0]: want a list of users"},
		{"a user of a strange name", "[shares.a]\nusers = [\"a b\"]\n", "FILE:2:10: users = [a b]: want a list of users"},
		{"users that are a number", "[shares.a]\nusers = 3\n", "FILE:2:9: users = 3: want a list of users"},
		{"the same account", "[shares.Bio]\nshares = 1\n[shares.a]\n[shares.bio]\nshares = 1\n", "FILE:4:12: [shares.Bio] and [shares.bio] are the same account: Slurm has accounts in lower case"},
		{"no such key of an account", "[shares.a]\nweight = 3\n", "FILE:2:10: unknown key weight in [shares.a]: there are shares, parent, users, default"},
		{"an account without a name", "[shares]\nphys = 3\n", "FILE:2:8: phys stands in no account's section: write [shares.NAME] and phys below it"},
		{"two mistakes in a tree", "[shares.b]\nparent = \"x\"\n[shares.a]\nparent = \"y\"\n", "FILE:2:11: parent = \"x\": there is no [shares.x]\nFILE:4:11: parent = \"y\""},
		{"no partition", "partition = 3\n", "FILE:1:13: write [partition.NAME] and its keys below it"},
		{"no port", "[remote]\naddress = \"login1\"\n", `FILE:2:12: address = "login1": want a host:port, or ""`},
		{"port 0", "[remote]\naddress = \"login1:0\"\n", `want a host:port, or ""`},
		{"any host", "[remote]\naddress = \":6830\"\n", `want a host:port, or ""`},
		{"no account", "[remote]\nuser = \"\"\n", `want an account or its number`},
		{"option", "[remote]\nuser = \"-x\"\n", `want an account or its number`},
		{"names", "[users]\noperators = [\"a b\"]\n", "FILE:2:14: operators = [a b]: want a list of names"},
		{"not a list", "[users]\noperators = \"ann\"\n", `FILE:2:14: operators = "ann": want a list of names`},
		{"truth", "[users]\nprivate = \"yes\"\n", `FILE:2:12: private = "yes": want true or false`},
		{"control", "[log]\nlevel = \"\\u001b[31m\"\n", `FILE:2:10: level = "\x1b[31m": want one of`},
		{"metrics at a relative path", "[metrics]\nlisten = \"m.sock\"\n", `FILE:2:11: listen = "m.sock": want a host:port, an absolute path of at most 100 bytes, or ""`},
		{"metrics without a port", "[metrics]\nlisten = \"localhost\"\n", `want a host:port, an absolute path`},
		{"a program of no path", "[notify]\nexec = [\"mail\"]\n", "FILE:2:9: exec = [mail]: want a list of words, the first an absolute path; or []"},
		{"a program that is one string", "[notify]\nexec = \"/bin/x -a\"\n", "FILE:2:9: exec = "},
		{"plain http", "[notify]\nwebhook = \"http://a/b\"\nsecret = \"/s\"\n", `FILE:2:12: webhook = "http://a/b": want an https:// address, or ""`},
		{"a webhook with a password", "[notify]\nwebhook = \"https://u:p@a/b\"\nsecret = \"/s\"\n", `want an https:// address`},
		{"an unsigned webhook", "[notify]\nwebhook = \"https://a/b\"\n", "FILE: [notify] webhook without secret: its messages could not be told from forged ones"},
		{"no such event", "[notify]\nevents = [\"end\", \"resize\"]\n", `FILE:2:11: events = [end resize]: want a list of some of "start", "end"`},
		{"an event twice", "[notify]\nevents = [\"end\", \"end\"]\n", `want a list of some of`},
		{"nested folders", "[paths]\njobs = \"/s\"\noutbox = \"/s/out\"\n", "FILE: [paths] outbox /s/out and jobs /s: neither may lie in the other"},
		{"pace", "[cycle]\nperiod = \"1s\"\ntransition = \"2s\"\n", "FILE: [cycle] transition 2s is longer than period 1s"},
		{"all at once", "[cycle]\nperiod = 1\nbackoff = 2\n", "FILE:2:10: period = 1: want a duration from 1s to 1h\nFILE:3:11: backoff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.text)
			got, err := Load(path)
			if err == nil {
				t.Fatalf("no error; got\n%s", got)
			}
			text := strings.ReplaceAll(err.Error(), path, "FILE")
			if !strings.Contains(text, c.want) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			var m *Mistake
			if !errors.As(err, &m) {
				t.Errorf("%T is not a Mistake", err)
			}
		})
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "not a file",
		big:                        "at most",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("SLUICE_CONF", "")
	if got := Find(true); got != "" {
		t.Errorf("nothing there: %q", got)
	}
	own := filepath.Join(home, ".config/sluice/sluice.toml")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("[resize]\nmoves = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Find(true); got != own {
		t.Errorf("user: %q", got)
	}
	if got := Find(false); got == own {
		t.Errorf("system mode reads the user's file")
	}
	c, path, err := Current(true)
	if err != nil || path != own || c.Resize.Moves != 1 || c.Paths.State != filepath.Join(home, ".sluice/state") {
		t.Errorf("%v %q %+v", err, path, c)
	}
	t.Setenv("SLUICE_CONF", "/nowhere/sluice.toml")
	if got := Find(true); got != "/nowhere/sluice.toml" {
		t.Errorf("SLUICE_CONF: %q", got)
	}
	if _, _, err := Current(false); err == nil || !strings.Contains(err.Error(), "/nowhere/sluice.toml: no such file") {
		t.Errorf("a named file that is missing: %v", err)
	}
}

// A user's own running daemon is found without its address.
func TestCurrentFollowsTheSocket(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("SLUICE_CONF", "")
	own := UserDefaults(home).Paths.Socket
	if c, _, _ := Current(false); c.Paths.Socket == own {
		t.Fatal("user mode without a socket")
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _, err := Current(false); err != nil || c.Paths.Socket != own {
		t.Errorf("%v %s", err, c.Paths.Socket)
	}
}

// What String prints, Load reads back, whatever the values.
func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Default()
		c.Paths.State = "/" + rapid.StringMatching(`[a-z"\\ ä]{1,20}`).Draw(t, "state")
		c.Cycle.Period = time.Duration(rapid.Int64Range(int64(time.Second), int64(5*time.Minute)).Draw(t, "period"))
		c.Resize.Payback = rapid.Float64Range(1, 100).Draw(t, "payback")
		c.Resize.Moves = rapid.IntRange(0, 10000).Draw(t, "moves")
		c.Users.Operators = rapid.SliceOf(rapid.StringMatching(`[a-z"\\._-]{1,12}`)).Draw(t, "operators")
		c.Users.Private = rapid.Bool().Draw(t, "private")
		c.Users.ShareSpeeds = rapid.Bool().Draw(t, "share speeds")
		c.Metrics = Metrics{rapid.SampledFrom([]string{"", "[::1]:9", "/a b"}).Draw(t, "listen"), rapid.Bool().Draw(t, "by user"), rapid.Bool().Draw(t, "by job")}
		c.Notify.Exec = append([]string{"/bin/a"}, rapid.SliceOfN(rapid.StringMatching(`[a-z"\\ ,._-]{0,12}`), 0, 9).Draw(t, "exec")...)
		c.Notify.Events = rapid.SliceOfDistinct(rapid.SampledFrom(NotifyEvents), rapid.ID).Draw(t, "events")
		again, err := parse(Config{}, "f", c.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, c)
		}
		if again.String() != c.String() || again.Cycle != c.Cycle || again.Resize != c.Resize || again.Paths != c.Paths || again.Metrics != c.Metrics || !slices.Equal(again.Notify.Exec, c.Notify.Exec) || !slices.Equal(again.Notify.Events, c.Notify.Events) {
			t.Fatalf("got\n%s\nwant\n%s", again, c)
		}
	})
}

// Whatever the file says, the answer is a configuration in range or an error
// that names the file.
func FuzzParse(f *testing.F) {
	f.Add(documented)
	f.Add("[cycle]\nperiod = 30\n[x]\n")
	f.Add("a.b.c = {d = [[1,2],[\"\"]]}\n")
	f.Add("[[cycle]]\nperiod = 1979-05-27T07:32:00Z\n")
	f.Add("[shares.a]\nshares = 3\nparent = \"b\"\nusers = [\"ann\"]\ndefault = [\"ann\"]\n[shares.b]\nparent = \"\"\n[shares.c.users]\nann = 0.5\n\"b.ob\" = 2\n")
	f.Add("[shares.a]\nparent = \"b\"\n[shares.b]\nparent = \"a\"\nusers = {x = 1}\n[shares.A]\nusers = [\"x\"]\n")
	base := Default()
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(base, "file", text)
		if err == nil {
			if _, err := parse(Config{}, "again", c.String()); err != nil {
				t.Fatalf("accepted, but not when printed: %v\n%s", err, c)
			}
			return
		}
		for _, line := range strings.Split(err.Error(), "\n") {
			if !strings.HasPrefix(line, "file:") {
				t.Fatalf("%q does not name the file", line)
			}
		}
	})
}
