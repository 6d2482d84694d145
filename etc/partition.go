package etc

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// Partition is what a site says of one of Slurm's partitions.
type Partition struct {
	Edge   bool   // pool = "edge"
	Policy string // "" = the one of [policy]
}

// partitionSection opens the sections [partition.NAME], which name what they are about.
const partitionSection = "partition"

// partitionKeys are those of each of them. Their places are in a Partition.
var partitionKeys = []struct {
	name string
	want []string
	set  func(*Partition, string)
	get  func(Partition) string
}{
	{"pool", []string{"main", "edge"}, func(p *Partition, s string) { p.Edge = s == "edge" }, func(p Partition) string {
		if p.Edge {
			return "edge"
		}
		return "main"
	}},
	{"policy", append([]string{""}, policies...), func(p *Partition, s string) { p.Policy = s }, func(p Partition) string { return p.Policy }},
}

// partitionName is what Slurm takes for one, without what sluice gives a meaning.
var partitionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$`) })

// readPartitions sets what [partition.NAME] says of each partition named.
func readPartitions(c *Config, meta *toml.MetaData, file string, raw toml.Primitive) []*Mistake {
	var named map[string]toml.Primitive
	if !isTable(meta, raw) || meta.PrimitiveDecode(raw, &named) != nil {
		return []*Mistake{locate(meta, file, raw, "write [partition.NAME] and its keys below it")}
	}
	var wrong []*Mistake
	for name, about := range named {
		var values map[string]toml.Primitive
		switch {
		case !isTable(meta, about) || meta.PrimitiveDecode(about, &values) != nil:
			wrong = append(wrong, locate(meta, file, about, fmt.Sprintf("%s stands in no partition's section: write [partition.NAME] and %s below it", clean(name), clean(name))))
			continue
		case !partitionName().MatchString(name):
			wrong = append(wrong, locate(meta, file, about, fmt.Sprintf("[partition.%s]: want the name of one partition", clean(name))))
			continue
		}
		p := c.Partition[name]
		for key, value := range values {
			if m := p.read(meta, file, name, key, value); m != nil {
				wrong = append(wrong, m)
			}
		}
		if c.Partition == nil {
			c.Partition = map[string]Partition{}
		}
		c.Partition[name] = p
	}
	return wrong
}

// read sets one key.
func (p *Partition) read(meta *toml.MetaData, file, partition, name string, value toml.Primitive) *Mistake {
	var names []string
	for _, k := range partitionKeys {
		names = append(names, k.name)
		if k.name != name {
			continue
		}
		var raw any
		err := meta.PrimitiveDecode(value, &raw)
		if s, isText := raw.(string); err == nil && isText && slices.Contains(k.want, s) {
			k.set(p, s)
			return nil
		}
		return locate(meta, file, value, fmt.Sprintf("%s = %s: want %s", name, show(raw), oneOf(k.want)))
	}
	return locate(meta, file, value, fmt.Sprintf("unknown key %s in [partition.%s]: there are %s", clean(name), partition, strings.Join(names, ", ")))
}

// oneOf is "one of "a", "b" or "c"".
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	return "one of " + strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// writePartitions is what readPartitions reads.
func writePartitions(b *strings.Builder, all map[string]Partition) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "\n[partition.%s]\n", quoteName(name))
		for _, k := range partitionKeys {
			fmt.Fprintf(b, "%s = %s\n", k.name, quote(k.get(all[name])))
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
