package sbatch

import (
	"strings"
)

// word is one word and its position.
type word struct {
	text string
	at   Place
}

// setting is one option as given.
type setting struct {
	option // the row of the option; for unknown options the name as typed
	value  string
	given  bool // a value was given, even an empty one
	at     Place
	// valueAt is where the value begins: with an opening quote one column before its text.
	valueAt Place
	words   []string // the words to pass on exactly as typed, but separated: -Hn4 gives -H and -n4
	line    byte     // 'B' on an #SBATCH line, 'L' on a #SLUICE line, 0 elsewhere
}

// typed is the setting as text for messages.
func (s setting) typed() string { return strings.Join(s.words, " ") }

// where is the setting with its place, for a message about another setting.
func (s setting) where() string {
	switch {
	case s.at.Line > 0:
		return printable(s.typed()) + " (" + s.at.String() + ")"
	case s.at.Source != "":
		return printable(s.typed()) // the text begins with the variable's name
	}
	return printable(s.typed()) + " (the command line)"
}

// fail returns the error that refuses the setting.
func (s setting) fail(why, do string) *Error {
	return &Error{At: s.at, What: s.typed(), Why: why, Do: do}
}

// reader parses words as getopt_long does.
type reader struct {
	words    []word
	next     int
	inScript bool // words that are no options are errors, not the script's name
	found    []setting
	errs     []error
}

// read reads options up to the first word that is none.
func (r *reader) read() {
	for r.next < len(r.words) {
		w := r.words[r.next]
		switch {
		case w.text == ":" && !r.inScript:
			r.fail(w, hetWhy, hetDo)
			r.next++
		case w.text == "--" && !r.inScript:
			r.next++
			return
		case strings.HasPrefix(w.text, "--") && w.text != "--":
			r.next++
			r.long(w)
		case strings.HasPrefix(w.text, "-") && len(w.text) > 1 && w.text != "--":
			r.next++
			r.cluster(w)
		case r.inScript:
			r.next++
			r.fail(w, "not an option", "write options only, and quote values that contain spaces")
		default:
			return
		}
	}
}

func (r *reader) fail(w word, why, do string) {
	r.errs = append(r.errs, &Error{At: w.at, What: w.text, Why: why, Do: do})
}

// long reads --name, --name=value or --name value.
func (r *reader) long(w word) {
	name, value, given := strings.Cut(w.text[2:], "=")
	o, others := resolve(name)
	switch {
	case len(others) > 0:
		r.fail(w, "could be "+strings.Join(others, ", "), "write it in full")
		return
	case o == nil:
		r.unknown(w, name, value, given)
		return
	case o.takes == bare && given:
		r.fail(w, "takes no value", "write --"+o.name)
		return
	}
	if o.name == "profile" {
		r.profile(w, value, given)
		return
	}
	s := setting{option: *o, value: value, given: given, at: w.at, valueAt: w.at, words: []string{w.text}}
	if w.at.Line > 0 {
		s.valueAt.Column += len("--") + len(name) + len("=")
	}
	if o.takes == valued && !given && !r.valueFor(&s, w) {
		return
	}
	r.found = append(r.found, s)
}

// unknown passes on an option of a SPANK plugin. It is unknown whether it takes the next
// word as its value; in a script a word that is no option can only be a value.
func (r *reader) unknown(w word, name, value string, given bool) {
	s := setting{option: option{name: name}, value: value, given: given, at: w.at, words: []string{w.text}}
	if !given && r.inScript && r.next < len(r.words) && !strings.HasPrefix(r.words[r.next].text, "-") {
		s.words = append(s.words, r.words[r.next].text)
		r.next++
	}
	r.found = append(r.found, s)
}

// cluster reads -n4, -n 4 or -HQ.
func (r *reader) cluster(w word) {
	for i := 1; i < len(w.text); i++ {
		o := byShort(w.text[i])
		if o == nil {
			r.fail(w, "sbatch has no option -"+w.text[i:i+1], "see 'man sbatch'")
			return
		}
		at := w.at
		if at.Line > 0 && i > 1 {
			at.Column += i
		}
		s := setting{option: *o, at: at, words: []string{"-" + w.text[i:i+1]}}
		if rest := w.text[i+1:]; o.takes != bare && rest != "" {
			s.value, s.given = rest, true
			s.words[0] += rest
			i = len(w.text)
		} else if o.takes == valued && !r.valueFor(&s, w) {
			return
		}
		r.found = append(r.found, s)
	}
}

// valueFor takes the next word as the value.
func (r *reader) valueFor(s *setting, w word) bool {
	if r.next >= len(r.words) {
		r.fail(w, "needs a value", "")
		return false
	}
	if r.words[r.next].text == ":" && !r.inScript {
		r.fail(r.words[r.next], hetWhy, hetDo)
		r.next++
		return false
	}
	s.value, s.given, s.valueAt = r.words[r.next].text, true, r.words[r.next].at
	s.words = append(s.words, s.value)
	r.next++
	return true
}

// CommandLine is the parsed command line of 'sluice submit'.
type CommandLine struct {
	// Script is the job script's path as typed; "" when the script comes from
	// standard input or --wrap.
	Script string
	// Args are the script's own arguments.
	Args []string
	// Wrap is the command of --wrap; nil without.
	Wrap *string
	// Help and Version are set if the user asked for these instead.
	Help, Version bool
	// Config and User are sluice's --config FILE and --user: the sluiced that will manage
	// the job.
	Config string
	User   bool
	// Service: sluice-vaultd submits the job for another user; see Service.
	Service bool
	// Unknown lists options that neither sbatch nor sluice has; it is unknown whether the
	// word after them is their value.
	Unknown []string

	settings []setting
}

// ParseCommandLine reads the words after 'sluice submit'. All errors found are joined.
func ParseCommandLine(args []string) (CommandLine, error) {
	r := reader{words: make([]word, len(args))}
	for i, a := range args {
		r.words[i].text = a
	}
	r.read()
	c := CommandLine{settings: r.found}
	for _, s := range r.found {
		c.note(s)
	}
	if rest := args[r.next:]; len(rest) > 0 {
		c.Script, c.Args = rest[0], rest[1:]
	}
	if c.Help || c.Version {
		return c, nil
	}
	if c.Wrap != nil && c.Script != "" {
		r.errs = append(r.errs, &Error{What: c.Script, Why: "a script and --wrap exclude each other",
			Do: "leave one out; write the arguments of a wrapped command inside of it"})
	}
	return c, join(r.errs)
}

// note collects what must be known before the script is read.
func (c *CommandLine) note(s setting) {
	switch s.name {
	case "wrap":
		c.Wrap = &s.value
	case "help", "usage":
		c.Help = true
	case "version":
		c.Version = true
	case "user":
		c.User = true
	case "config":
		c.Config = s.value
	case "for":
		c.Service = true
	default:
		if byName(s.name) == nil && s.name != "" && !s.given {
			c.Unknown = append(c.Unknown, s.words[0])
		}
	}
}
