package nodes_test

import (
	"fmt"
	"testing"

	"github.com/sluice-hpc/sluice/nodes"
)

// motley is a node of two red and four blue GPUs, with the given numbers used.
func motley(name string, red, blue int) nodes.Node {
	return nodes.Node{Name: name, Type: "blue+red", GPUs: 6, Used: red + blue, Usable: true,
		Types: []nodes.OfType{{Type: "blue", GPUs: 4, Used: blue}, {Type: "red", GPUs: 2, Used: red}}}
}

func TestTypesAreCountedApart(t *testing.T) {
	n := motley("n1", 1, 2)
	before := n
	is := func(what, want string) {
		t.Helper()
		got := fmt.Sprintf("%d of %d, red %d of %d, blue %d of %d, green %d of %d", n.FreeOf(""), n.Has(""), n.FreeOf("red"), n.Has("red"), n.FreeOf("blue"), n.Has("blue"), n.FreeOf("green"), n.Has("green"))
		if got != want {
			t.Errorf("%s: %s; want %s", what, got, want)
		}
	}
	is("at first", "3 of 6, red 1 of 2, blue 2 of 4, green 0 of 0")
	n.Book("blue", 2)
	is("two blue more", "1 of 6, red 1 of 2, blue 0 of 4, green 0 of 0")
	n.Book("", 1)
	is("one of any more", "0 of 6, red 0 of 2, blue 0 of 4, green 0 of 0")
	n.Book("blue", -3)
	is("three blue less", "3 of 6, red 1 of 2, blue 3 of 4, green 0 of 0")
	n.Usable = false
	is("not usable", "0 of 6, red 0 of 2, blue 0 of 4, green 0 of 0")
	if n.Left("blue") != 3 {
		t.Errorf("%d blue left", n.Left("blue"))
	}
	if n = before; n.FreeOf("blue") != 2 {
		t.Errorf("another view has changed: %+v", n)
	}
	n = n.Empty()
	if is("empty", "6 of 6, red 2 of 2, blue 4 of 4, green 0 of 0"); before.FreeOf("red") != 1 {
		t.Errorf("another view has changed: %+v", before)
	}
	untyped := nodes.Node{GPUs: 3, Usable: true, Types: []nodes.OfType{{GPUs: 2}, {Type: "red", GPUs: 1}}}
	if untyped.Book("", 1); untyped.Used != 1 || untyped.Types[0].Used != 0 {
		t.Errorf("which of them Slurm takes is not known: %+v", untyped)
	}
	if bare := (nodes.Node{CPUs: 9, CPUsUsed: 1, MemoryMB: 9, MemUsedMB: 1, Used: 1, Spanning: 1}).Empty(); bare.CPUsUsed != 0 || bare.MemUsedMB != 0 || bare.Spanning != 0 || bare.Used != 0 || bare.CPUs != 9 {
		t.Errorf("empty: %+v", bare)
	}
	if plain := (nodes.Node{GPUs: 4, Used: 1, Type: "red", Usable: true}); plain.FreeOf("blue") != 3 || plain.Has("blue") != 4 {
		t.Error("a node of one type gives what its partition says")
	}
}

func TestRequestsForATypeGetIt(t *testing.T) {
	for _, tc := range []struct {
		what string
		ask  []nodes.Request
		want string
	}{
		{"one after the other", []nodes.Request{{GPUs: 2, Type: "red"}, {GPUs: 1, Type: "red"}, {GPUs: 4, Type: "blue"}}, "[n1:2 n2:1 n1:4]"},
		{"none is left of it", []nodes.Request{{GPUs: 2, Type: "red"}, {GPUs: 1, Type: "red"}}, "[n1:2 n2:1]"},
		{"too many of one node", []nodes.Request{{GPUs: 3, Type: "red"}, {GPUs: 6}}, "[- n1:6]"},
		{"over nodes", []nodes.Request{{GPUs: 4, Type: "red"}}, "[n1:2+n2:2]"},
		{"uneven", []nodes.Request{{GPUs: 7, Type: "blue", Uneven: true}}, "[n1:4+n2:3]"},
		{"more than there are", []nodes.Request{{GPUs: 5, Type: "red", Uneven: true}}, "[-]"},
		{"beside what any type takes", []nodes.Request{{GPUs: 5}, {GPUs: 5}, {GPUs: 2, Type: "red"}}, "[n1:5 n2:5 n1:1+n2:1]"},
	} {
		var got []nodes.Placement
		for _, r := range nodes.Place([]nodes.Node{motley("n1", 0, 0), motley("n2", 0, 0)}, tc.ask) {
			got = append(got, r.Placement)
		}
		if fmt.Sprint(got) != tc.want {
			t.Errorf("%s: %v, want %s", tc.what, got, tc.want)
		}
	}
}

func TestReserveOfAType(t *testing.T) {
	before := []nodes.Node{motley("n1", 1, 0), motley("n2", 0, 0)}
	after, met := nodes.Reserve(before, []nodes.Want{{GPUs: 2, Type: "red"}, {GPUs: 2, Type: "red"}, {GPUs: 3, Type: "red", Nodes: 1}, {GPUs: 3}})
	if fmt.Sprint(met) != "[true false false true]" {
		t.Errorf("met %v", met)
	}
	if got := fmt.Sprint(nodes.Taken(before, after)); got != "[{n2:2 0 0 red} {n2:3 0 0 }]" && got != "[{n1:3 0 0 } {n2:2 0 0 red}]" {
		t.Errorf("taken: %s", got)
	}
}
