package etc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/BurntSushi/toml"
)

// Mistake is one error in a configuration file.
type Mistake struct {
	File         string
	Line, Column int // from 1; 0 if the mistake has no single place
	Text         string
}

// Error returns "file:line:column: what is wrong and what is allowed".
func (m *Mistake) Error() string {
	if m.Line == 0 {
		return fmt.Sprintf("%s: %s", m.File, m.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

// parse reads text over base. The error contains all mistakes, in the order of the file.
//
// The documented file is mostly comments, with which the library takes ten times as long,
// and each call of sluice reads the site's file. So it is read without comments first. If
// that fails it is read with them, so that the library reports the right line and column.
func parse(base Config, file, text string) (Config, error) {
	if c, err := parseText(base, file, uncommented(text)); err == nil {
		return c, nil
	}
	return parseText(base, file, text)
}

// parseText reads text over base in one pass.
func parseText(base Config, file, text string) (Config, error) {
	var sections map[string]toml.Primitive
	meta, err := toml.Decode(text, &sections)
	if err != nil {
		return Config{}, syntax(file, err)
	}
	c := base.clone()
	var wrong []*Mistake
	for section, raw := range sections {
		wrong = append(wrong, readSection(&c, &meta, file, section, raw)...)
	}
	if len(wrong) == 0 {
		wrong = contradictions(c, file)
	}
	if len(wrong) == 0 {
		return c, nil
	}
	return Config{}, join(wrong)
}

// uncommented empties the lines of text that contain only a comment. It keeps a comment
// that TOML may refuse, and all comments of a text with multi-line strings.
func uncommented(text string) string {
	if strings.Contains(text, `"""`) || strings.Contains(text, "'''") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		if body := strings.TrimLeft(bare, " \t"); strings.HasPrefix(body, "#") && printable(body) {
			line = line[len(bare):]
		}
		b.WriteString(line)
	}
	return b.String()
}

func join(wrong []*Mistake) error {
	slices.SortFunc(wrong, func(a, b *Mistake) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	errs := make([]error, len(wrong))
	for i, m := range wrong {
		errs[i] = m
	}
	return errors.Join(errs...)
}

// readSection sets every key of one [section].
func readSection(c *Config, meta *toml.MetaData, file, section string, raw toml.Primitive) []*Mistake {
	switch section {
	case ofPartitions.kind:
		return ofPartitions.read(c, meta, file, raw)
	case ofQOS.kind:
		return ofQOS.read(c, meta, file, raw)
	case ofShares.kind:
		return readShares(c, meta, file, raw)
	}
	known := append(sectionNames(), ofPartitions.kind+".NAME", ofQOS.kind+".NAME", ofShares.kind+".NAME")
	var values map[string]toml.Primitive
	switch isTable := isTable(meta, raw); {
	case !slices.Contains(known, section) && !isTable:
		text := fmt.Sprintf("key %s stands outside of any section", clean(section))
		return []*Mistake{locate(meta, file, raw, text)}
	case !slices.Contains(known, section):
		text := fmt.Sprintf("unknown section [%s]: there are %s", clean(section), strings.Join(known, ", "))
		return []*Mistake{locate(meta, file, raw, text)}
	case !isTable || meta.PrimitiveDecode(raw, &values) != nil:
		text := fmt.Sprintf("%s is a section: write [%s] once and its keys below it", section, section)
		return []*Mistake{locate(meta, file, raw, text)}
	}
	var wrong []*Mistake
	for name, value := range values {
		if m := readKey(c, meta, file, section, name, value); m != nil {
			wrong = append(wrong, m)
		}
	}
	return wrong
}

// isTable is checked before decoding into a map, which accepts any type without an error.
func isTable(meta *toml.MetaData, value toml.Primitive) bool {
	var raw any
	if err := meta.PrimitiveDecode(value, &raw); err != nil {
		return false
	}
	_, ok := raw.(map[string]any)
	return ok
}

func readKey(c *Config, meta *toml.MetaData, file, section, name string, value toml.Primitive) *Mistake {
	k, ok := find(section, name)
	if !ok {
		text := fmt.Sprintf("unknown key %s in [%s]: there are %s", clean(name), section, strings.Join(keyNames(section), ", "))
		return locate(meta, file, value, text)
	}
	var raw any
	if err := meta.PrimitiveDecode(value, &raw); err != nil || !k.set(c, raw) {
		return locate(meta, file, value, fmt.Sprintf("%s = %s: want %s", name, show(raw), k.want))
	}
	return nil
}

// place is a decoder that fails with its text: the library adds the position of the key,
// which is available in no other way.
type place struct{ text string }

// UnmarshalTOML always fails.
func (p *place) UnmarshalTOML(any) error { return errors.New(p.text) }

func locate(meta *toml.MetaData, file string, value toml.Primitive, text string) *Mistake {
	m := &Mistake{File: file, Text: text}
	var at toml.ParseError
	if errors.As(meta.PrimitiveDecode(value, &place{text}), &at) {
		m.Line, m.Column = at.Position.Line, at.Position.Col
	}
	return m
}

// syntax converts the library's error to a Mistake.
func syntax(file string, err error) error {
	var at toml.ParseError
	if !errors.As(err, &at) {
		return &Mistake{File: file, Text: clean(err.Error())}
	}
	return &Mistake{File: file, Line: at.Position.Line, Column: max(at.Position.Col, 1), Text: clean(at.Message)}
}

// contradictions reports values that are valid individually and invalid together.
func contradictions(c Config, file string) []*Mistake {
	var wrong []*Mistake
	add := func(format string, args ...any) {
		wrong = append(wrong, &Mistake{File: file, Text: fmt.Sprintf(format, args...)})
	}
	if inside(c.Paths.Outbox, c.Paths.Jobs) || inside(c.Paths.Jobs, c.Paths.Outbox) {
		add("[paths] outbox %s and jobs %s: neither may lie in the other, since each side writes in its own only",
			c.Paths.Outbox, c.Paths.Jobs)
	}
	if c.Cycle.Transition > c.Cycle.Period {
		add("[cycle] transition %s is longer than period %s", short(c.Cycle.Transition), short(c.Cycle.Period))
	}
	if c.Cycle.Backoff < c.Cycle.Period {
		add("[cycle] backoff %s is shorter than period %s", short(c.Cycle.Backoff), short(c.Cycle.Period))
	}
	if longest := max(c.Cycle.Backoff, c.Cycle.Period); c.Cycle.Abandon < 2*longest {
		add("[cycle] abandon %s is shorter than two cycles (%s): begin times could pass before they are renewed", short(c.Cycle.Abandon), short(2*longest))
	}
	if c.Data.Account != "" && c.Data.Account == c.Web.User {
		add("[data] account %s is [web] user as well; give each an account of its own", c.Data.Account)
	}
	if c.Notify.Webhook != "" && c.Notify.Secret == "" {
		add("[notify] webhook without secret: its messages could not be told from forged ones; name a file with a key")
	}
	return wrong
}

// inside reports whether path is dir or is inside it; false for an unset path.
func inside(path, dir string) bool {
	if path == "" || dir == "" {
		return false
	}
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// String is the whole configuration as TOML, without comments; Load reads it back
// unchanged.
func (c Config) String() string {
	var b strings.Builder
	section := ""
	for _, k := range keys {
		if k.section != section {
			if section != "" {
				b.WriteByte('\n')
			}
			section = k.section
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s = %s\n", k.name, k.get(c))
	}
	ofPartitions.write(&b, &c)
	ofQOS.write(&b, &c)
	ofShares.write(&b, &c)
	return b.String()
}

// clone returns a copy that shares no list with c.
func (c Config) clone() Config {
	c.Slurm.Partitions = slices.Clone(c.Slurm.Partitions)
	c.Users.Operators = slices.Clone(c.Users.Operators)
	c.Partition, c.QOS, c.Shares = maps.Clone(c.Partition), maps.Clone(c.QOS), maps.Clone(c.Shares)
	c.Data.Owners, c.Data.System, c.Data.Software = slices.Clone(c.Data.Owners), slices.Clone(c.Data.System), slices.Clone(c.Data.Software)
	c.Welfare.Types = slices.Clone(c.Welfare.Types)
	c.Notify.Exec, c.Notify.Events, c.Notify.Hosts = slices.Clone(c.Notify.Exec), slices.Clone(c.Notify.Events), slices.Clone(c.Notify.Hosts)
	return c
}

func find(section, name string) (key, bool) {
	for _, k := range keys {
		if k.section == section && k.name == name {
			return k, true
		}
	}
	return key{}, false
}

func sectionNames() []string {
	var out []string
	for _, k := range keys {
		if !slices.Contains(out, k.section) {
			out = append(out, k.section)
		}
	}
	return out
}

func keyNames(section string) []string {
	var out []string
	for _, k := range keys {
		if k.section == section {
			out = append(out, k.name)
		}
	}
	return out
}

// short formats a duration without zero parts: 5m rather than 5m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// show formats a value as in the file, truncated to a line.
func show(raw any) string {
	text := fmt.Sprint(raw)
	if s, ok := raw.(string); ok {
		text = strconv.Quote(s)
	}
	text = clean(text)
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:57], "") + "..."
	}
	return text
}

// clean replaces control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

func printable(s string) bool { return clean(s) == s }

// quote writes a printable string as TOML.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// writeFloat keeps the point, so that TOML reads a float back.
func writeFloat(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
