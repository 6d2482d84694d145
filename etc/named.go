package etc

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// named are the sections [KIND.NAME] of one kind: settings of single partitions, QOS or accounts.
type named[T any] struct {
	kind string // the first part of the section's name
	what string // that of which it has the name
	in   func(*Config) *map[string]T
	keys []namedKey[T]
}

// namedKey is one of their keys.
type namedKey[T any] struct {
	name, want string
	set        func(*T, any) bool // false: not what is wanted
	get        func(T) string     // as TOML
}

// slurmName matches Slurm's names of partitions, QOS and accounts, except those with a meaning for sluice.
var slurmName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$`) })

// read reads the sections.
func (n named[T]) read(c *Config, meta *toml.MetaData, file string, raw toml.Primitive) []*Mistake {
	var sections map[string]toml.Primitive
	if !isTable(meta, raw) || meta.PrimitiveDecode(raw, &sections) != nil {
		return []*Mistake{locate(meta, file, raw, fmt.Sprintf("write [%s.NAME] and its keys below it", n.kind))}
	}
	var wrong []*Mistake
	for name, about := range sections {
		var values map[string]toml.Primitive
		switch {
		case !isTable(meta, about) || meta.PrimitiveDecode(about, &values) != nil:
			wrong = append(wrong, locate(meta, file, about, fmt.Sprintf("%s stands in no %s's section: write [%s.NAME] and %s below it", clean(name), n.what, n.kind, clean(name))))
			continue
		case !slurmName().MatchString(name):
			wrong = append(wrong, locate(meta, file, about, fmt.Sprintf("[%s.%s]: want the name of one %s", n.kind, clean(name), n.what)))
			continue
		}
		all := n.in(c)
		one := (*all)[name]
		for key, value := range values {
			if m := n.set(&one, meta, file, name, key, value); m != nil {
				wrong = append(wrong, m)
			}
		}
		if *all == nil {
			*all = map[string]T{}
		}
		(*all)[name] = one
	}
	return wrong
}

// set sets one key.
func (n named[T]) set(one *T, meta *toml.MetaData, file, section, name string, value toml.Primitive) *Mistake {
	var names []string
	for _, k := range n.keys {
		if names = append(names, k.name); k.name != name {
			continue
		}
		var raw any
		if err := meta.PrimitiveDecode(value, &raw); err == nil && k.set(one, raw) {
			return nil
		}
		return locate(meta, file, value, fmt.Sprintf("%s = %s: want %s", name, show(raw), k.want))
	}
	return locate(meta, file, value, fmt.Sprintf("unknown key %s in [%s.%s]: there are %s", clean(name), n.kind, section, strings.Join(names, ", ")))
}

// write writes what read reads.
func (n named[T]) write(b *strings.Builder, c *Config) {
	all := *n.in(c)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "\n[%s.%s]\n", n.kind, quoteName(name))
		for _, k := range n.keys {
			fmt.Fprintf(b, "%s = %s\n", k.name, k.get(all[name]))
		}
	}
}

// quoteName is a name as a part of a key.
func quoteName(name string) string {
	if strings.ContainsAny(name, ".+") {
		return quote(name)
	}
	return name
}
