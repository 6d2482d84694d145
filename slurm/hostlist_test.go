package slurm_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/slurm"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		list string
		want string // space separated
	}{
		{"", ""},
		{"gpu1", "gpu1"},
		{"gpu[1-3,07],login1,rack[1-2]n[01-04]",
			"gpu1 gpu2 gpu3 gpu07 login1 rack1n01 rack1n02 rack1n03 rack1n04 rack2n01 rack2n02 rack2n03 rack2n04"},
		{"a[08-11]", "a08 a09 a10 a11"},
		{"a[98-101]", "a98 a99 a100 a101"},
		{"a[01-3]", "a01 a02 a03"},
		{"a[1-010]", "a1 a2 a3 a4 a5 a6 a7 a8 a9 a10"},
		{"a[1-2][3-4]", "a13 a14 a23 a24"},
		{"a[1-2]b[1-2]c[1-2]", "a1b1c1 a1b1c2 a2b1c1 a2b1c2 a1b2c1 a1b2c2 a2b2c1 a2b2c2"},
		{"gpu[1-2]-ib", "gpu1-ib gpu2-ib"},
		{"[1-2]", "1 2"},
		{"a,,b,", "a b"},
		{"a b\tc\nd", "a b c d"},
		{"a[1-2],a[1-2]", "a1 a2 a1 a2"},
	} {
		got, err := slurm.Expand(c.list)
		if err != nil {
			t.Errorf("Expand(%q): %v", c.list, err)
			continue
		}
		if want := strings.Fields(c.want); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("Expand(%q) = %q, want %q", c.list, got, want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, c := range []struct {
		list   string
		column int
		reason string
	}{
		{"a[5-1]", 3, "descending"},
		{"ok,a[1", 5, "without ']'"},
		{"a]1", 2, "without '['"},
		{"a[]", 3, "not a number"},
		{"a[1,]", 5, "not a number"},
		{"a[1,x]", 5, "not a number"},
		{"a[1-2-3]", 3, "not a number"},
		{"a[-2]", 3, "not a number"},
		{"a[1[2]]", 3, "not a number"},
		{"a[1-\u0663]", 3, "not a number"},
		{"a[9999999999999999999]", 3, "not a number"},
		{"b\x1b[31m", 2, "control character"},
		{"a[0-100000]", 3, "more than 100000"},
		{"a[1-50000],b[1-50001]", 14, "more than 100000"},
		{"a[1-400]b[1-400]", 1, "more than 100000"},
		{strings.Repeat("x", 250) + "[1-999999]", 252, "more than 100000"},
		{"y," + strings.Repeat("x", 300), 3, "longer than 255"},
		{strings.Repeat("[0-9]", 300), 1, "more than 100000"},
	} {
		names, err := slurm.Expand(c.list)
		var bad *slurm.HostlistError
		if !errors.As(err, &bad) {
			t.Errorf("Expand(%.40q) = %d names, %v; want a HostlistError", c.list, len(names), err)
			continue
		}
		if bad.Column != c.column || !strings.Contains(bad.Reason, c.reason) {
			t.Errorf("Expand(%.40q): %v; want column %d, %q", c.list, err, c.column, c.reason)
		}
	}
}

func TestExpandHoldsExactlyTheBound(t *testing.T) {
	names, err := slurm.Expand(fmt.Sprintf("n[1-%d]", slurm.MaxHosts))
	if err != nil || len(names) != slurm.MaxHosts {
		t.Fatalf("got %d names, %v", len(names), err)
	}
}

func TestCompress(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""},
		{"gpu1", "gpu1"},
		{"gpu1,gpu2,gpu3,gpu07", "gpu[1-3,07]"},
		{"gpu1,login,gpu2", "gpu1,login,gpu2"},
		{"gpu3,gpu2,gpu1", "gpu[3,2,1]"},
		{"gpu09,gpu10", "gpu[09-10]"},
		{"gpu99,gpu100", "gpu[99-100]"},
		{"gpu099,gpu100", "gpu[099-100]"},
		{"gpu1,gpu1", "gpu[1,1]"},
		{"gpu1,gpu01,gpu2", "gpu[1,01,2]"},
		{"gpu10,gpu011", "gpu[10,011]"},
		{"rack1n01,rack1n02,rack2n01,rack2n02", "rack1n[01-02],rack2n[01-02]"},
		{"1,2,3", "[1-3]"},
		{"a,a1,a2", "a,a[1-2]"},
		{"a1-ib,a2-ib", "a1-ib,a2-ib"},
		{"n1,n2,n5,m1,m2,x", "n[1-2,5],m[1-2],x"},
	} {
		var names []string
		if c.names != "" {
			names = strings.Split(c.names, ",")
		}
		if got := slurm.Compress(names); got != c.want {
			t.Errorf("Compress(%s) = %q, want %q", c.names, got, c.want)
		}
	}
}

// hostNames draws names as on a cluster: few prefixes, numbers of several widths,
// consecutive numbers, repeats, and names without a number.
func hostNames() *rapid.Generator[[]string] {
	name := rapid.Custom(func(t *rapid.T) string {
		prefix := rapid.SampledFrom([]string{"gpu", "n", "rack1n", "a-b", "", "x9y"}).Draw(t, "prefix")
		width := rapid.IntRange(1, 4).Draw(t, "width")
		number := fmt.Sprintf("%0*d", width, rapid.IntRange(0, 120).Draw(t, "number"))
		suffix := rapid.SampledFrom([]string{"", "", "", "-ib"}).Draw(t, "suffix")
		return prefix + number + suffix
	})
	return rapid.Custom(func(t *rapid.T) []string {
		names := rapid.SliceOfN(name, 1, 40).Draw(t, "names")
		if rapid.Bool().Draw(t, "run") {
			start := rapid.IntRange(0, 1100).Draw(t, "start")
			for i := range rapid.IntRange(1, 30).Draw(t, "length") {
				names = append(names, fmt.Sprintf("gpu%03d", start+i))
			}
		}
		return names
	})
}

func TestExpandUndoesCompress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := hostNames().Draw(t, "names")
		list := slurm.Compress(names)
		got, err := slurm.Expand(list)
		if err != nil {
			t.Fatalf("Expand(Compress(%q)) = Expand(%q): %v", names, list, err)
		}
		if !reflect.DeepEqual(got, names) {
			t.Fatalf("%q became %q, read back as %q", names, list, got)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"", "gpu[1-3,07],login1,rack[1-2]n[01-04]", "a[5-1]", "a[1", "a]", "a[0-99999999]",
		"[1-2][1-2]x[01-09]", ",,,", "a[1-2]b[3-4]c[5-6]d", "a[000000000000000000001]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := slurm.Expand(list)
		if err != nil {
			var bad *slurm.HostlistError
			if !errors.As(err, &bad) || bad.Column < 1 || bad.Column > len(list)+1 || names != nil {
				t.Fatalf("Expand(%q) = %v, %#v", list, names, err)
			}
			return
		}
		if len(names) > slurm.MaxHosts {
			t.Fatalf("%d names", len(names))
		}
		again, err := slurm.Expand(slurm.Compress(names))
		if err != nil || len(again) != len(names) {
			t.Fatalf("Compress of Expand(%q) is not readable: %v", list, err)
		}
		for i := range names {
			if names[i] == "" || names[i] != again[i] {
				t.Fatalf("name %d: %q became %q", i, names[i], again[i])
			}
		}
	})
}
