package sbatch

import (
	"bytes"
	"fmt"
	"strings"
)

// MaxScript is the size in bytes above which a script is refused: slurm.conf's
// own default for max_script_size.
const MaxScript = 4 << 20

// Script is a job script and the options in its header.
type Script struct {
	// Name is the path as typed, or "" for standard input.
	Name string
	// Body is the script as the user wrote it.
	Body []byte
	// Warnings are about lines that are not read.
	Warnings []string

	source   string // its name in messages
	settings []setting
	header   []headerLine // the lines up to the first command, without the shebang
	foreign  []*Error     // #PBS and #BSUB lines, which sbatch translates unless --ignore-pbs is set
}

// headerLine is one line of the header.
type headerLine struct {
	text      string // without the newline
	number    int
	directive bool // an #SBATCH line: may be rewritten
}

// WrapScript is the script made for --wrap.
func WrapScript(command string) []byte {
	return []byte("#!/bin/sh\n# This script was created by sluice submit --wrap.\n\n" + command + "\n")
}

// ParseScript reads a job script's header: the lines up to the first one that is neither
// empty nor a comment. All errors found are joined, each with line and column.
func ParseScript(name string, body []byte) (Script, error) {
	s := Script{Name: name, Body: body, source: name}
	if name == "" {
		s.source = "stdin"
	}
	if err := s.sane(); err != nil {
		return s, err
	}
	var errs []error
	var sbatch, sluice []word
	s.eachLine(func(number int, line string) bool {
		if isCommand(line) {
			s.late(number, body)
			return false
		}
		words, kind, err := s.directive(number, line)
		if err != nil {
			errs = append(errs, err)
		}
		switch kind {
		case 'B':
			sbatch = append(sbatch, words...)
		case 'L':
			sluice = append(sluice, words...)
		}
		if number > 1 {
			s.header = append(s.header, headerLine{line, number, kind == 'B'})
		}
		return true
	})
	errs = append(errs, s.take(sbatch, 'B')...)
	errs = append(errs, s.take(sluice, 'L')...)
	return s, join(errs)
}

// take reads the words of all lines of one kind as one command line, as sbatch does: a
// value may be on the next line.
func (s *Script) take(words []word, kind byte) []error {
	r := reader{words: words, inScript: true}
	r.read()
	for _, found := range r.found {
		found = found.slurms(kind)
		if err := misplaced(found); err != nil {
			r.errs = append(r.errs, err)
			continue
		}
		s.settings = append(s.settings, found)
	}
	return r.errs
}

// slurmsDeadline is the internal name of sbatch's --deadline, to distinguish it from
// sluice's. It cannot be typed.
const slurmsDeadline = "deadline of Slurm"

// slurms gives a setting its line, and its Slurm meaning if sluice has an option of the
// same name: --deadline on an #SBATCH line is the time at which Slurm removes a job.
func (s setting) slurms(kind byte) setting {
	if s.line = kind; kind == 'B' && s.name == "deadline" {
		s.option = option{name: slurmsDeadline, takes: valued, is: watched}
	}
	return s
}

// misplaced refuses sluice's options on an #SBATCH line, where sbatch would not know
// them, and sbatch's on a #SLUICE line, where sbatch would not see them.
func misplaced(s setting) error {
	switch {
	case s.line == 'B' && s.is == own:
		return s.fail("this is sluice's option, which sbatch does not know", "write it on a #SLUICE line")
	case s.line == 'L' && (s.name == "user" || s.name == "config"):
		return s.fail("this says where to look for sluiced, not what the job is", "write it on the command line")
	case s.line == 'L' && byName(s.name) == nil && s.name != "" && suggestion(s.name, true) != "":
		return s.fail("this is not one of sluice's options", "did you mean "+suggestion(s.name, true)+"?")
	case s.line == 'L' && s.is != own && s.is != shared:
		return s.fail("this is not one of sluice's options, and sbatch does not read #SLUICE lines", "write it on an #SBATCH line")
	}
	return nil
}

// directive reads the words of an #SBATCH line (kind B) or #SLUICE line (kind L).
func (s *Script) directive(number int, line string) (words []word, kind byte, err error) {
	for _, d := range []struct {
		magic string
		kind  byte
	}{{"#SBATCH", 'B'}, {"#SLURM", 'B'}, {"#SLUICE", 'L'}} {
		if !strings.HasPrefix(line, d.magic) {
			continue
		}
		words, wrong := splitWords(line, len(d.magic), s.source, number)
		if wrong != nil {
			return nil, d.kind, wrong
		}
		return words, d.kind, nil
	}
	for _, magic := range []string{"#PBS", "#BSUB"} {
		if strings.HasPrefix(line, magic) {
			s.foreign = append(s.foreign, &Error{At: Place{s.source, number, 1}, What: magic,
				Why: "sbatch would translate this line, and what it asks for cannot be checked",
				Do:  "write it as #SBATCH, or give --ignore-pbs"})
		}
	}
	return nil, 0, nil
}

// eachLine calls f with the lines until it returns false.
func (s *Script) eachLine(f func(number int, line string) bool) {
	rest := s.Body
	for number := 1; len(rest) > 0; number++ {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if !f(number, string(line)) {
			return
		}
		rest = after
	}
}

// isCommand reports whether the line ends the header.
func isCommand(line string) bool {
	text := strings.TrimLeftFunc(line, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
	return text != "" && text[0] != '#'
}

// late warns of directives after the first command, which is at line first.
func (s *Script) late(first int, body []byte) {
	if !bytes.Contains(body, []byte("\n#SLUICE")) {
		return
	}
	s.eachLine(func(number int, line string) bool {
		if number > first && strings.HasPrefix(line, "#SLUICE") {
			s.Warnings = append(s.Warnings, fmt.Sprintf(
				"%s:%d:1: this #SLUICE line is not read, because line %d is a command; move it up", printable(s.source), number, first))
			return false
		}
		return true
	})
}

// sane refuses scripts that sbatch or the kernel would refuse later, or misread, in the
// order in which sbatch checks.
func (s *Script) sane() error {
	wrong := func(offset int, why, do string) error {
		before := s.Body[:offset]
		line := bytes.Count(before, []byte("\n")) + 1
		column := offset - (bytes.LastIndexByte(before, '\n') + 1) + 1
		return &Error{At: Place{s.source, line, column}, Why: why, Do: do}
	}
	switch {
	case len(s.Body) > MaxScript:
		return wrong(0, fmt.Sprintf("the script has %d bytes, Slurm takes at most %d", len(s.Body), MaxScript),
			"move most of it into a separate file")
	case len(bytes.TrimSpace(s.Body)) == 0:
		return wrong(0, "the script is empty", "")
	case !bytes.HasPrefix(s.Body, []byte("#!")):
		return wrong(0, "this does not look like a job script: the first line has to name its interpreter", "begin it with #!/bin/sh or #!/bin/bash")
	}
	if at := bytes.IndexByte(s.Body, 0); at >= 0 {
		return wrong(at, "the script contains a NUL character", "is it a program? then use --wrap")
	}
	if at := bytes.Index(s.Body, []byte("\r\n")); at >= 0 {
		return wrong(at, "the script has DOS line ends", "convert it with 'dos2unix'")
	}
	return nil
}
