package etc

import (
	"os"
	"strings"
	"testing"
)

func TestEdited(t *testing.T) {
	private := Setting{"users", "private", "true"}
	for _, c := range []struct{ name, text, want string }{
		{"no file", "", "[users]\nprivate = true\n"},
		{"another section", "[log]\nlevel = \"debug\"", "[log]\nlevel = \"debug\"\n\n[users]\nprivate = true\n"},
		{"its section", "[users] # who\noperators = [\"eve\"]\n[log]\n", "[users] # who\nprivate = true\noperators = [\"eve\"]\n[log]\n"},
		{"its line", "[users]\n  private = false   # for now\n", "[users]\n  private = true   # for now\n"},
		{"a comment that names it", "[users]\n# private = false\n", "[users]\nprivate = true\n# private = false\n"},
		{"the key of another section", "[resize]\ngrace = \"1m\"\n", "[resize]\ngrace = \"1m\"\n\n[users]\nprivate = true\n"},
	} {
		if got, err := Edited(Default(), "f", c.text, []Setting{private}); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	for name, text := range map[string]string{"no configuration": "[users\n", "a dotted key": "users.private = false\n", "a table in a line": "users = { private = false }\n"} {
		if got, err := Edited(Default(), "f", text, []Setting{private}); err == nil {
			t.Errorf("%s: edited to %q", name, got)
		}
	}
}

// TestEveryKeyCanBeEdited: in the documented file each key gets its value and no other changes.
func TestEveryKeyCanBeEdited(t *testing.T) {
	raw, err := os.ReadFile("sluice.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		value := k.get(Default())
		got, err := Edited(Default(), "sluice.toml", string(raw), []Setting{{k.section, k.name, value}})
		if err != nil {
			if !strings.HasPrefix(value, "[") { // a list may go over several lines
				t.Errorf("[%s] %s: %v", k.section, k.name, err)
			}
			continue
		}
		if c, err := parse(Default(), "f", got); err != nil || c.String() != Default().String() {
			t.Errorf("[%s] %s = %s: %v", k.section, k.name, value, err)
		}
	}
}

// FuzzEdited: whatever is in a file, it is edited into one with the value, or refused.
func FuzzEdited(f *testing.F) {
	for _, seed := range []string{"", "[users]\nprivate = false", "[users]\noperators = [\n\"a\",\n]\nprivate = false # x\n", "users.private = true", "[qos.a]\nweight = 2\n[users]\n", "x = \"\"\"\n[users]\nprivate = false\n\"\"\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Edited(Default(), "f", text, []Setting{{"users", "private", "true"}, {"cycle", "period", `"10s"`}})
		if err != nil {
			return
		}
		before, _ := parse(Default(), "f", text)
		c, err := parse(Default(), "f", got)
		if err != nil || !c.Users.Private || c.Cycle.Period.Seconds() != 10 {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		c.Users.Private, c.Cycle.Period = before.Users.Private, before.Cycle.Period
		if c.String() != before.String() {
			t.Fatalf("%q became %q, with other changes", text, got)
		}
	})
}
