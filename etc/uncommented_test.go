package etc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func TestUncommented(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"lines of comments", "# a\n\t #b\n[x]\n# c", "\n\n[x]\n"},
		{"after a value", "a = 1 # b\n", "a = 1 # b\n"},
		{"in an array", "a = [\n  # one\n  1]\n", "a = [\n\n  1]\n"},
		{"in a string of several lines", "a = \"\"\"\n# b\n\"\"\"\n", "a = \"\"\"\n# b\n\"\"\"\n"},
		{"in a literal of several lines", "a = '''\n# b\n'''\n", "a = '''\n# b\n'''\n"},
		{"what TOML refuses", "# \x00\n# \xff\n", "# \x00\n# \xff\n"},
	} {
		if got := uncommented(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if bare := uncommented(documented); strings.Contains(bare, "#") || strings.Count(bare, "\n") != strings.Count(documented, "\n") {
		t.Errorf("comments are left in the documented file, or lines lost:\n%s", bare)
	}
}

// A file has the same meaning without its comments.
func FuzzUncommented(f *testing.F) {
	f.Add(documented)
	f.Add("# a\n[x]\n\t# b\nc = [ # d\n# e\n1]\n")
	f.Add("a = \"\"\"\n# b\n\"\"\"\n#\r\n#\x7f\n")
	f.Add("# a\nb =\n# c\n[b\n")
	f.Fuzz(func(t *testing.T, text string) {
		var whole, bare map[string]any
		_, err := toml.Decode(text, &whole)
		_, errBare := toml.Decode(uncommented(text), &bare)
		// Compared as text because NaN is not equal to itself.
		if (err == nil) != (errBare == nil) || err == nil && fmt.Sprintf("%#v", whole) != fmt.Sprintf("%#v", bare) {
			t.Errorf("%q: %v %v, without comments %v %v", text, whole, err, bare, errBare)
		}
	})
}
